"""Sieve bias (Pande et al. 2021, section 3): equal to a literal loop, 1 for uniform attention,
exact on planted heads, and clear about the roles it leaves out.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from headscope.corpus import Corpus, Example, Word, from_examples, from_texts, read
from headscope.encode import Batch, Encoded, collate
from headscope.errors import UserError
from headscope.measures import Context, Role, bias_weights
from headscope.measures.work import CAUSAL
from headscope.models import Shape
from headscope.results import Atlas
from headscope.runs.survey import survey
from measures.sieves.test_builtin import Made, Pairs, dependency, items, pairs_of
from measures.test_twins import HEADS, maps_of, view_of
from planted import HEADS as PLANTED
from planted import expected_map, place, planted_bert, planted_gpt2
from refusals import refusal
from tiny import tiny_model

SETTINGS = settings(deadline=None, max_examples=30)
CASES = st.tuples(
    st.lists(items(), min_size=1, max_size=3), st.integers(0, 2**32 - 1), st.booleans()
)
PAIR = (
    "the dog sat.",
    "a cat",
)  # [CLS] the dog sat . [SEP] a cat [SEP]: nine tokens, four words and two


def bias(map: twins.Map, pairs: Pairs, *, causal: bool) -> float:
    """To the letter: β(t) = (Σ_{s∈S(t)} α(t,s) / |S(t)|) / (1/L), and its mean over the tokens
    with a sieve. A causal model has only what a token sees.
    """
    found = []
    for token in range(len(map)):
        seen = token + 1 if causal else len(map)
        chosen = [other for other in range(seen) if (token, other) in pairs]
        if chosen:
            total = 0.0
            for other in chosen:
                total += map[token][other]
            found.append((total / len(chosen)) / (1 / seen))
    return sum(found) / len(found) if found else float("nan")


def studied(made: list[Made], *, causal: bool) -> tuple[Role, Batch]:
    role = Role().bind(Context(Shape(1, HEADS, 1), causal), [one.item.example for one in made])
    return role, collate([one.item for one in made])


def values_of(role: Role, batch: Batch, maps: torch.Tensor) -> torch.Tensor:
    view = view_of(maps)
    return role.layer(view, view.attention, role.prepare(batch, "cpu"))


@given(case=CASES)
@SETTINGS
def test_the_score_of_every_role_is_that_of_the_literal_loop(case):
    made, seed, causal = case
    role, batch = studied(made, causal=causal)
    maps = maps_of(batch, seed, causal=causal)
    values = values_of(role, batch, maps)
    assert values.shape == (len(made), HEADS, len(role.sieves))
    for row, item in enumerate(batch.items):
        for column, sieve in enumerate(role.sieves):
            pairs = pairs_of(sieve, item)
            for head in range(HEADS):
                real = maps[row, head, : len(item), : len(item)].tolist()
                assert float(values[row, head, column]) == pytest.approx(
                    bias(real, pairs, causal=causal), rel=1e-5, abs=1e-5, nan_ok=True
                ), sieve.name


@given(case=CASES)
@SETTINGS
def test_uniform_attention_scores_1_on_every_role_that_is_defined(case):
    made, _, causal = case
    role, batch = studied(made, causal=causal)
    maps = torch.zeros(len(made), HEADS, batch.width, batch.width)
    for row, item in enumerate(batch.items):
        for token in range(len(item)):
            seen = token + 1 if causal else len(item)
            maps[row, :, token, :seen] = 1 / seen
    values = values_of(role, batch, maps)
    for row, item in enumerate(batch.items):
        for column, sieve in enumerate(role.sieves):
            defined = any(key <= query or not causal for query, key in pairs_of(sieve, item))
            expected = 1.0 if defined else float("nan")
            assert values[row, :, column].tolist() == pytest.approx(
                [expected] * HEADS, rel=1e-5, nan_ok=True
            ), sieve.name


def test_a_sieve_without_a_pair_has_no_weights():
    assert bias_weights(np.zeros((3, 3), np.bool_)) is None


# Planted heads, by hand


def scores(model: Any, corpus: Corpus, **options: Any) -> Atlas:
    own = {key: options.pop(key) for key in ("roles", "direction", "subtypes") if key in options}
    measures = [Role(**own)]
    return survey(
        model, corpus, **{"measures": measures, "max_length": 24, "batch_size": 2, **options}
    )


def at(results: Atlas, head: str, role: str) -> float:
    return float(results["role"]["mean"].sel(role=role, **place(head)))


@pytest.fixture(scope="module")
def pair():
    return scores(planted_bert(), from_texts([PAIR]))


def test_every_planted_head_scores_what_the_loop_makes_of_its_planned_map():
    corpus = from_texts([PAIR, "who saw it!", ("dogs barking", "it sat on the mat, dog.")])
    for model, causal in ((planted_bert(), False), (planted_gpt2(), True)):
        found = scores(model, corpus)["role"]
        stack = model.main_stack()
        encoded = list(model.encoder(max_length=24, long="truncate", stack=stack).encode(corpus))
        role = Role().bind(Context(model.shape(stack), causal), corpus)
        for sieve in role.sieves:
            for head in PLANTED:
                each = [
                    bias(
                        expected_map(head, item, causal=causal),
                        pairs_of(sieve, item),
                        causal=causal,
                    )
                    for item in encoded
                ]
                expected, count = twins.mean(each)
                cell = found.sel(role=sieve.name, **place(head))
                assert float(cell["mean"]) == pytest.approx(
                    expected, rel=1e-4, abs=1e-4, nan_ok=True
                ), (head, sieve.name)
                assert int(cell["n"]) == count, (head, sieve.name)


# Dependency roles

WORDS = (
    Word("the", head=2, relation="det"),
    Word("old", head=2, relation="amod"),
    Word("dogs", head=3, relation="nsubj:pass"),  # dog ##s
    Word("saw", head=-1, relation="root"),
    Word("it", head=3, relation="obj"),
)


def tree() -> Corpus:
    return from_examples([Example("1", ("the old dogs saw it",), WORDS)])


def encoded_tree() -> Encoded:
    (item,) = planted_bert().encoder(max_length=24, long="truncate", stack="encoder").encode(tree())
    assert item.word.tolist() == [-1, 0, 1, 2, 2, 3, 4, -1]
    return item


def role_pairs(name: str, **options: Any) -> Pairs:
    role = Role(roles=(name,), **options).bind(Context(Shape(1, 1, 1)), tree())
    assert role.dims == {"role": (name,)}
    return pairs_of(role.sieves[0], encoded_tree())


def test_subtypes_are_kept_or_folded():
    assert role_pairs("nsubj") == set()
    assert role_pairs("nsubj", subtypes="fold") == {(3, 5), (4, 5)}
    assert role_pairs("nsubj:pass") == {(3, 5), (4, 5)}
    assert role_pairs("syntactic", subtypes="fold") == {(6, 5), (2, 3), (2, 4), (3, 5), (4, 5)}
    with pytest.raises(UserError, match="unknown role 'nsubj:pass'; did you mean 'nsubj'"):
        role_pairs("nsubj:pass", subtypes="fold")


def test_any_dependency_label_of_the_corpus_is_a_role_when_named():
    assert role_pairs("det") == {(1, 3), (1, 4)} == dependency(encoded_tree(), ["det"])
    assert role_pairs("obj") == {(6, 5)}
    assert role_pairs("root") == set()
    assert "det" not in Role().bind(Context(Shape(1, 1, 1)), tree()).dims["role"]


def test_the_direction_is_written_beside_the_numbers_and_changes_them():
    up, down = (
        scores(planted_bert(), tree(), roles=("amod",), direction=direction)
        for direction in ("to head", "from head")
    )
    expected = ("to head", "from head")
    assert (up["role"].attrs["direction"], down["role"].attrs["direction"]) == expected
    half = pytest.approx(8 / 2, rel=1e-5)
    assert at(up, "next", "amod") == half  # from "old" to "dog", one of its head's two pieces
    assert at(down, "next", "amod") == pytest.approx(0.0, abs=1e-5)
    assert at(down, "previous", "amod") == half  # of "dog" and "##s" the first has "old" before it


def sentences(*orders: str) -> Corpus:
    """Sentences of two words: a verb with its subject before it ("sv"), or after it ("vs")."""
    subject, verb = Word("dog", head=1, relation="nsubj"), Word("sat", head=-1, relation="root")
    turned = Word("sat", head=-1, relation="root"), Word("dog", head=0, relation="nsubj")
    words = {"sv": (subject, verb), "vs": turned}
    return from_examples(
        Example(str(number), (" ".join(word.text for word in words[order]),), words[order])
        for number, order in enumerate(orders)
    )


@pytest.mark.parametrize(
    ("orders", "way", "unseen"),
    [
        (("sv", "sv", "vs"), "both", "nsubj in 1 of 3"),
        (("sv", "vs"), "to head", ""),
        (("vs", "vs"), "to head", ""),
    ],
)
def test_a_causal_model_that_would_see_few_head_words_gets_both_directions(orders, way, unseen):
    found = scores(planted_gpt2(), sentences(*orders))["role"]
    assert (found.attrs["direction"], found.attrs["unseen"]) == (way, unseen)
    seen = len(orders) if way == "both" else orders.count("vs")
    assert (found["n"].sel(role=["nsubj", "syntactic"]) == seen).all()
    usual = scores(planted_gpt2(), sentences(*orders), direction="to head")["role"]
    assert (usual["n"].sel(role="nsubj") == orders.count("vs")).all()
    assert (usual.attrs["direction"], usual.attrs["unseen"]) == ("to head", "")
    other = scores(planted_bert(), sentences(*orders))["role"]  # sees everything
    assert (other.attrs["direction"], other.attrs["unseen"]) == ("to head", "")


# What is left out, and why


def absent(results: Atlas) -> dict[str, str]:
    return dict(json.loads(results["role"].attrs["absent"]))


def test_roles_come_in_the_order_asked_for_and_once():
    assert scores(planted_bert(), from_texts(["a dog"]), roles=("sep", "local", "sep"))["role"][
        "role"
    ].values.tolist() == ["sep", "local"]


def test_an_unknown_role_gets_the_nearest_name_and_labels_are_listed_too():
    assert refusal(
        UserError, scores, planted_bert(), tree(), roles=("delimitr",)
    ).message.startswith("unknown role 'delimitr'; did you mean 'delimiter'?")
    with pytest.raises(UserError, match="did you mean 'det'"):
        scores(planted_bert(), tree(), roles=("dett",))


@pytest.mark.parametrize(
    ("role", "missing", "hint"),
    [
        ("block", "pair", "use paragraphs, or a table with two texts per line"),
        ("nsubj", "tree", "use a treebank (.conllu), or parse plain text with parse=True"),
        ("syntactic", "tree", "use a treebank (.conllu), or parse plain text with parse=True"),
        ("coreferent", "mentions", "use a corpus with coreference"),
    ],
)
def test_a_role_without_its_annotation_is_refused_by_name_and_else_absent(role, missing, hint):
    error = refusal(UserError, scores, planted_bert(), from_texts(["a dog"]), roles=("local", role))
    assert error.message == f"the role {role!r} needs {missing}, which this corpus lacks"
    assert error.hint == hint
    found = scores(planted_bert(), from_texts(["a dog"]))
    if missing == "tree":  # said in results, which are read in Python and on the command line
        hint = (
            "use a treebank (.conllu), or parse plain text: --parse, or hs.read(path, parse=True)"
        )
    assert absent(found)[role] == f"the corpus has no {missing}: {hint}"
    assert role not in found["role"]["role"].values


def test_a_causal_model_has_no_later_tokens_and_says_so():
    found = scores(planted_gpt2(), from_texts(["a dog sat"]))
    assert absent(found)["next-local"] == CAUSAL == "a causal model sees no later tokens"
    assert "next-local" not in found["role"]["role"].values
    named = scores(planted_gpt2(), from_texts(["a dog sat"]), roles=("next-local", "local"))
    assert named["role"]["role"].values.tolist() == ["local"]
    error = refusal(
        UserError, scores, planted_gpt2(), from_texts(["a dog sat"]), roles=("next-local",)
    )
    assert (
        error.message
        == "none of the roles can be measured here: next-local: a causal model sees no later tokens"
    )
    assert error.hint == "choose other roles with roles="


def test_a_model_without_special_tokens_has_no_delimiter():
    found = scores(tiny_model("gpt2"), from_texts(["the cat sat on the mat"]))["role"]
    for role in ("delimiter", "cls", "sep"):
        assert found["mean"].sel(role=role).isnull().all()
        assert not found["n"].sel(role=role).any()
        assert found["value"].sel(role=role).isnull().all()
    assert found["mean"].sel(role="first token").notnull().all()


def test_titles_go_with_the_roles(pair):
    titles = json.loads(pair["role"].attrs["titles"])
    assert list(titles) == pair["role"]["role"].values.tolist()
    assert titles["previous-local"] == "The two tokens before"
    assert pair["role"].attrs["unit"] == "times uniform attention"


def test_roles_and_direction_make_another_run_and_are_in_the_provenance():
    one, two, three = (
        scores(planted_bert(), tree(), **options).provenance
        for options in (
            {"roles": ("amod",)},
            {"roles": ("amod", "cls")},
            {"roles": ("amod",), "direction": "both"},
        )
    )
    assert len({about["identity"] for about in (one, two, three)}) == 3
    assert one["details"]["role"].endswith(": amod")
    assert two["details"]["role"].endswith(": amod, cls")
    assert "direction='both'" in three["details"]["role"]


def test_the_demo_corpus_offers_every_role_of_the_paper_but_block():
    corpus = read("demo", limit=40)
    offered = Role().bind(Context(Shape(1, 1, 1)), corpus)
    assert set(offered.absent) <= {"block"}
    assert {"syntactic", "coreferent", "rare word"} <= set(offered.dims["role"])
