"""Whether heads know relations or only positions: planted heads, twins, shuffled words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import twins
from headscope import read, survey
from headscope.corpus import Corpus, Example, Word, bucket_of, from_examples
from headscope.corpus.example import join_words
from headscope.encode import SEPARATOR, START, TEXT, Encoded, collate
from headscope.errors import ResultsError, UserError
from headscope.measures import Arc, ArcOffset, Context, Measure, Profile, Role, Sums
from headscope.models import Shape
from headscope.results import Atlas
from headscope.results.query import parse_query
from headscope.stats import beyond_position, cautions, role_table, role_tests
from headscope.stats.heads.positions import position_alone, times_position
from measures.test_twins import view_of
from page.samples import made_results
from refusals import refusal

Map = NDArray[np.float64]
HEADS = ("previous", "gold", "gold later", "uniform")
DOCUMENTS = 40


# One relation by plain loops


@given(seed=st.integers(0, 2**32 - 1), documents=st.integers(2, 6), offsets=st.integers(1, 5))
def test_ratio_gain_and_error_equal_their_twin(seed, documents, offsets):
    random = np.random.default_rng(seed)
    tokens = random.integers(1, 50, (documents, offsets))
    arcs = random.integers(0, tokens[:, None] + 1, (documents, 2, offsets))
    arcs[:, :, 0] += 1
    tokens[:, 0] += 1
    profile = random.random((documents, 3, offsets)) * tokens[:, None]
    attention = random.random((documents, 3, 2)) * arcs.sum(-1)[:, None]
    found = position_alone(attention, profile, tokens.astype(float), arcs.astype(float))
    for head in range(3):
        for relation in range(2):
            times, gain, error = twins.beyond_position(
                attention[:, head, relation].tolist(),
                profile[:, head].tolist(),
                tokens.tolist(),
                arcs[:, relation].tolist(),
            )
            assert found.times.value[head, relation] == pytest.approx(times, rel=1e-9)
            assert found.gain.value[head, relation] == pytest.approx(gain, rel=1e-9, abs=1e-12)
            assert found.gain.error[head, relation] == pytest.approx(error, rel=1e-7, abs=1e-12)


def test_the_test_rejects_a_true_null_no_more_often_than_it_says():
    """Arcs drawn at random among the neighbours of documents that differ: content is 0."""
    random = np.random.default_rng(0)
    rejected, runs = 0, 400
    for _ in range(runs):
        sizes = random.integers(20, 200, 20)
        level = random.beta(2, 4, 20)[:, None]  # documents differ in how much the head does it
        weights = [
            random.beta(4 * mean, 4 * (1 - mean), size)
            for size, mean in zip(sizes, level, strict=True)
        ]
        chosen = [random.random(size) < 0.3 for size in sizes]
        attention = [one[arc].sum() for one, arc in zip(weights, chosen, strict=True)]
        found = position_alone(
            np.array(attention)[:, None, None],
            np.array([one.sum() for one in weights])[:, None, None],
            sizes[:, None].astype(float),
            np.array([float(arc.sum()) for arc in chosen])[:, None, None],
        )
        rejected += float(found.gain.p_above().item()) < 0.05
    assert 0.02 < rejected / runs < 0.08  # 0.05 and three standard errors


# Planted heads


def sentence(random: np.random.Generator, number: int) -> Example:
    """Words whose head word is the one before (adj) or one or two before it (far), or neither."""
    size = int(random.integers(8, 20))
    words = [Word("w0", head=-1, relation="root")]
    for place in range(1, size):
        kind = random.choice(["adj", "far", "dep"], p=[0.3, 0.2, 0.5])
        head = place - 1 if kind == "adj" else max(place - int(random.integers(2, 5)), 0)
        words.append(Word(f"w{place}", head=head, relation=str(kind)))
    text = " ".join(word.text for word in words)
    return Example(str(number), (text,), tuple(words), group=f"d{number % DOCUMENTS}")


def encoded(example: Example) -> Encoded:
    """[CLS], a token for each word, [SEP]."""
    size = len(example.words) + 2
    kind = np.full(size, TEXT, np.int8)
    kind[0], kind[-1] = START, SEPARATOR
    word = np.arange(size) - 1
    word[-1] = -1
    ones = np.zeros(size, np.int64)
    none = np.zeros(size, np.bool_)
    segment = np.where(kind == TEXT, 0, -1).astype(np.int8)
    return Encoded(example, ones, ones, kind, segment, word, none, ("",) * size, word, none)


def planted_map(head: str, example: Example, random: np.random.Generator) -> Map:
    """The map of a planted head: most of each row on its target, the rest spread at random."""
    size = len(example.words) + 2
    rest = random.random((size, size)) + 0.1
    rest *= 0.2 / rest.sum(1, keepdims=True)
    for place, word in enumerate(example.words, 1):
        target = None
        if head == "previous":
            target = place - 1
        elif (
            word.head is not None and word.head >= 0 and (head == "gold" or word.relation == "far")
        ):
            target = word.head + 1 if head.startswith("gold") else None
        if target is not None:
            rest[place, target] += 0.8
    result: Map = rest / rest.sum(1, keepdims=True)
    return result


def shuffle(map: Map, random: np.random.Generator) -> Map:
    """The map of a head that follows words, when these are shuffled within the sentence."""
    order = np.arange(len(map))
    order[1:-1] = 1 + random.permutation(len(map) - 2)
    return map[np.ix_(order, order)]


Make = Callable[[str, Example, np.random.Generator], Map]


def planted_results(make: Make, *, sentences: int = 240, seed: int = 1) -> Atlas:
    """Results of one layer of heads with given maps."""
    random = np.random.default_rng(seed)
    examples = [sentence(random, number) for number in range(sentences)]
    context = Context(Shape(1, len(HEADS), 1))
    given: list[Measure] = [Role(roles=["adj", "far"]), Arc(), Profile(), ArcOffset()]
    measures = [measure.bind(context, examples) for measure in given]
    sums = {measure.name: Sums(measure) for measure in measures}
    for example in examples:
        batch = collate([encoded(example)])
        maps = np.stack([make(head, example, random) for head in HEADS])[None]
        block = torch.from_numpy(maps.astype(np.float32))
        for measure in measures:
            together = type(measure).together([measure], None, "", context)  # type: ignore[arg-type]
            together.start(batch, "cpu")
            together.rows(view_of(block), block, 0)
            together.end(view_of(block))
            values = together.finish()[measure.name].numpy()
            totals = together.totals().get(measure.name)
            found = None if totals is None else totals.numpy()
            sums[measure.name].add([bucket_of(example)], values, found)
    provenance = made_results(1, len(HEADS)).provenance
    return Atlas.build({name: one.dataset() for name, one in sums.items()}, provenance)


@cache
def planted() -> Atlas:
    return planted_results(planted_map)


@cache
def planted_shuffled() -> Atlas:
    def make(head: str, example: Example, random: np.random.Generator) -> Map:
        map = planted_map(head, example, random)
        return map if head == "previous" else shuffle(map, random)

    return planted_results(make)


def flags(results: Atlas, name: str) -> dict[tuple[str, str], bool]:
    tests = role_tests(results)
    values = tests[name].transpose("layer", "head", "role").values[0]
    return {
        (head, str(role)): bool(values[row, at])
        for row, head in enumerate(HEADS)
        for at, role in enumerate(tests["role"].values)
    }


def test_a_previous_token_head_has_adjacent_roles_by_position_and_no_content():
    assert flags(planted(), "has")["previous", "adj"]
    assert flags(planted(), "positional")["previous", "adj"]
    found = beyond_position(planted()).sel(layer=1, head=1, role="adj")
    assert float(found["times"]) == pytest.approx(1.0, abs=0.01)
    assert float(found["times_uniform"]) > 5
    assert not found["beats"]


def test_a_head_that_attends_along_gold_arcs_has_content():
    for role in ("adj", "far"):
        assert flags(planted(), "has")["gold", role]
        assert not flags(planted(), "positional")["gold", role]
    found = beyond_position(planted()).sel(layer=1, head=2)
    assert (found["times"] > 1.2).all()
    assert (found["low"] > 1.1).all()
    assert (found["low"] < found["times"]).all()
    assert (found["times"] < found["high"]).all()


def test_uniform_attention_has_neither_role_nor_content():
    for role in ("adj", "far"):
        assert not flags(planted(), "has")["uniform", role]
        assert not flags(planted(), "positional")["uniform", role]
    found = beyond_position(planted()).sel(layer=1, head=4)
    np.testing.assert_allclose(found["times"], 1.0, atol=0.05)


def test_shuffled_words_remove_content_and_keep_position():
    real, shuffled = planted(), planted_shuffled()
    before, after = beyond_position(real), beyond_position(shuffled)
    assert before["beats"].sel(layer=1, head=[2, 3]).any("role").all()
    assert not after["beats"].any()
    assert flags(shuffled, "positional")["previous", "adj"]
    found = after["times_uniform"].sel(layer=1, head=1, role="adj")
    expected = before["times_uniform"].sel(layer=1, head=1, role="adj")
    np.testing.assert_allclose(found, expected, rtol=0.05)


def test_only_queries_for_positional_heads_find_those_without_content():
    results = planted()
    assert [str(head) for head in results.find("is:adj")] == ["1-2"]
    assert [str(head) for head in results.find("is:positional-adj")] == ["1-1"]
    both = "is:adj or is:positional-adj"
    assert [str(head) for head in results.find(both)] == ["1-1", "1-2"]
    assert parse_query("is:positional-adj") == ["is", "positional-adj"]
    with pytest.raises(UserError, match="one of adj, far"):
        results.find("is:positional-nothing")


def test_the_table_counts_heads_by_position_and_says_what_that_means():
    tests = role_tests(planted())
    table = role_table(planted(), tests).set_index("role")
    assert table.loc["adj", ["heads", "by position", "strongest"]].tolist() == [2, 1, "1-1"]
    assert float(table.loc["adj", "position"]) == pytest.approx(1.0, abs=0.01)
    said = [one for one in cautions(planted(), tests) if "is:positional-nsubj" in one]
    assert len(said) == 1


def test_relations_have_both_directions_and_their_offsets_are_mirrored():
    found = beyond_position(planted(), "relations")
    assert found["role"].values.tolist() == [
        f"{name}: {way}"
        for name in ("adj", "dep", "far")
        for way in ("dependent to head", "head to dependent")
    ]
    up, down = (found.sel(role=f"adj: {way}") for way in ("dependent to head", "head to dependent"))
    assert int(up["pairs"]) == int(down["pairs"])
    # Nobody looks from a head word to its dependents: what is left is the rest, spread evenly.
    np.testing.assert_allclose(down["times"].sel(layer=1, head=1), 1.0, atol=0.05)
    assert float(up["alone"].sel(layer=1, head=1)) > 10 * float(down["alone"].sel(layer=1, head=1))


def test_a_relation_with_few_documents_is_not_tested():
    found = planted_results(planted_map, sentences=2)
    tests = role_tests(found)
    assert tests["p_position"].isnull().all()
    assert not tests["positional"].any()


def test_results_without_the_parts_say_how_to_get_them():
    results = survey("demo", ["The dog barks."], measures="role")
    assert "they lack arc, profile, arc_offset" in str(
        refusal(ResultsError, beyond_position, results)
    )
    assert not role_tests(results)["positional"].any()
    assert "positional" in role_tests(results)


def test_an_unknown_kind_is_an_error_with_what_there_is():
    with pytest.raises(UserError, match="families"):
        beyond_position(planted(), "everything")  # type: ignore[arg-type]


def test_main_roles_along_arcs_need_to_beat_positions_and_others_do_not():
    names = ["previous", "modifier to noun", "near"]
    times = times_position(planted(), names)  # no relation here is of that family
    assert np.isinf(times[:, [0, 2]]).all()
    assert (times[:, 1] == 0).all()


@cache
def surveyed() -> Atlas:
    return survey("demo", "demo", examples=0, limit=40)


@pytest.mark.slow
def test_main_roles_of_the_embedded_model_are_those_of_its_relations():
    families = beyond_position(surveyed(), "families")
    names = [str(name) for name in families["role"].values]
    times = times_position(surveyed(), names).reshape(6, 12, -1)
    np.testing.assert_array_equal(times > 0, families["beats"].transpose(..., "role").values)
    assert (times <= families["times"].transpose(..., "role").values).all()
    assert families["beats"].sel(layer=3, head=9, role="modifier to noun")
    assert not families["beats"].sel(layer=2, head=9, role="noun to modifier")
    # what the measure of main roles sums is the same attention, but for keys at rest
    work = surveyed()["work"]["sum"].sel(part="attention").sum("bucket").sel(role=names)
    np.testing.assert_allclose(
        families["observed"].transpose(*work.dims), work, rtol=0.04, atol=1e-3
    )


@pytest.mark.slow
def test_sentences_say_how_much_is_beyond_position():
    said = surveyed().head("3-9").description.evidence
    assert "times what its positions alone would give" in said
    shown = surveyed().head("3-9").tables()["Roles"]
    assert "times position alone" in shown


def in_random_order(corpus: Corpus, seed: int) -> Iterator[Example]:
    """The words of each sentence in random order; the tree stays where it is."""
    random = np.random.default_rng(seed)
    for example in corpus:
        words = list(example.words)
        for part in sorted({word.sentence for word in words}):
            places = [at for at, word in enumerate(words) if word.sentence == part]
            texts: Sequence[str] = [words[at].text for at in random.permutation(places)]
            for at, text in zip(places, texts, strict=True):
                words[at] = replace(words[at], text=text)
        yield replace(example, texts=join_words(tuple(words)), words=tuple(words))


@pytest.mark.slow
def test_shuffled_words_leave_the_embedded_model_positions_and_hardly_any_content():
    corpus = read("demo", limit=80)
    roles = Role(roles=["nsubj", "dobj", "amod", "advmod", "det", "aux"])
    counts = []
    for texts in (corpus, from_examples(list(in_random_order(corpus, 0)))):
        found = beyond_position(survey("demo", texts, measures=roles, examples=0))
        strong = found["times_uniform"] >= 3
        counts.append((int(strong.sum()), int((strong & found["beats"]).sum())))
    (strong, beyond), (still, hardly) = counts
    assert beyond > 0.5 * strong
    assert still > 0.3 * strong
    assert hardly <= 0.1 * still
