"""Accuracy at dependencies: equal to a plain-loop twin on random trees, exact on planted
heads, and clear about what it leaves out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from headscope.corpus import ROOT, Corpus, Example, Mention, Word, bucket_of, from_examples, read
from headscope.encode import SEPARATOR, START, TEXT, Batch, Encoded, collate
from headscope.errors import UserError
from headscope.measures import Context, Dependency, WordMeasure
from headscope.measures.dependency import ALL, CORE, OffsetCounts, best_offset
from headscope.models import Shape
from headscope.results import Atlas
from headscope.runs.survey import survey
from measures.test_twins import view_of
from planted import place, planted_bert
from tiny import tiny_model

DIRECTIONS = Dependency.dims["direction"]

HEADS = 3
SETTINGS = settings(deadline=None, max_examples=60)
TEXTS = ("dog", "'s", "'S", "s'", "’s", "'", "’", "Ann", "it")
RELATIONS = ("det", "nmod:poss", "nmod", "poss", "punct", "obl:tmod", "")
PIECES = (0, 1, 1, 2, 4)
"""How many pieces a word has: means of 1, 2 and 4 weights that are 64ths are exact in float32, so
ties are real ties.
"""


def with_offsets(
    offsets: dict[str, int],
    subtypes: Any = "keep",
    *,
    halves: tuple[dict[str, int], dict[str, int]] | None = None,
    special: bool = False,
) -> Dependency:
    """The measure as if a corpus had given these relations and offsets (those of each half are
    more frequent there, and the others on the whole).
    """
    measure = Dependency(subtypes=subtypes, special=special)
    measure = measure.bind(Context(Shape(1, HEADS, 1)), [])
    counts = OffsetCounts({name: (Counter(), Counter()) for name in offsets})
    for name, offset in offsets.items():
        for half in (0, 1):
            counts.halves[name][half][offset] += 4
            if halves and halves[half][name] != offset:
                counts.halves[name][half][halves[half][name]] += 5
    measure._set_offsets(counts)
    measure.offsets = offsets
    return measure


@st.composite
def trees(
    draw: st.DrawFn, least: int = 0
) -> tuple[tuple[Word, ...], tuple[int, ...], tuple[Mention, ...]]:
    """Words with a random tree (a word now and then outside it), how many pieces each has, and
    mentions.
    """
    size = draw(st.integers(least, 6))
    order = draw(st.permutations(range(size)))
    heads: list[int | None] = [ROOT] * size
    for index, word in enumerate(order[1:], 1):
        heads[word] = draw(st.sampled_from([*order[:index], None]))
    sentences = draw(st.sampled_from([1, 1, 2, 3]))  # arcs between sentences are never right
    words = tuple(
        Word(
            draw(st.sampled_from(TEXTS)),
            sentence=index * sentences // size,
            head=head,
            relation=draw(st.sampled_from(RELATIONS)),
            upos=draw(st.sampled_from(["", "PUNCT"])),
        )
        for index, head in enumerate(heads)
    )
    mentions: dict[
        tuple[int, int, int], Mention
    ] = {}  # each span once: which of two equals is nearer nobody can say
    for _ in range(draw(st.integers(0, 6)) if size else 0):
        start, head, end = sorted(draw(st.integers(0, size - 1)) for _ in range(3))
        mentions[start, head, end] = Mention(
            start,
            end,
            head,
            draw(st.sampled_from("ab")),
            draw(st.sampled_from(["", "pronoun", "proper", "nominal"])),
        )
    return words, tuple(draw(st.sampled_from(PIECES)) for _ in words), tuple(mentions.values())


CASES = st.tuples(st.lists(trees(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))


def encode(
    words: tuple[Word, ...], pieces: tuple[int, ...], mentions: tuple[Mention, ...] = ()
) -> Encoded:
    """[CLS] word word … [SEP], each word in so many pieces; a word of 0 pieces was cut off."""
    owners = [-1, *(index for index, count in enumerate(pieces) for _ in range(count)), -1]
    size = len(owners)
    kinds = np.array([START, *[TEXT] * (size - 2), SEPARATOR], np.int8)
    zeros = np.zeros(size, np.int64)
    example = Example("1", (" ".join(word.text for word in words),), words, mentions)
    return Encoded(
        example,
        zeros,
        zeros,
        kinds,
        np.zeros(size, np.int8),
        np.array(owners, np.int64),
        np.zeros(size, np.bool_),
        ("",) * size,
        np.array(owners, np.int64),
        np.zeros(size, np.bool_),
    )


def maps_of(batch: Batch, seed: int) -> torch.Tensor:
    """Weights in 64ths, most of them equal to some other; huge numbers in the padding."""
    random = np.random.default_rng(seed)
    maps = random.integers(0, 4, (len(batch), HEADS, batch.width, batch.width)) / 64
    real = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    return torch.from_numpy(np.where(real, maps, 1e6).astype(np.float32))


def counted(
    measure: WordMeasure, batch: Batch, maps: torch.Tensor, cuts: Sequence[int] = ()
) -> tuple[list[list[Counter[Any]]], list[Counter[Any]]]:
    """What a measure counts: right answers by example and head, all answers by example, both by
    labels; zeros left out. The maps may be cut into blocks of rows.
    """
    prepared = measure.prepare(batch, "cpu")
    shape = [len(labels) for labels in measure.dims.values()]

    def named(values: torch.Tensor) -> Counter[Any]:
        cells = np.ndenumerate(values.numpy().reshape(shape))
        return Counter(
            {
                tuple(
                    labels[index]
                    for labels, index in zip(measure.dims.values(), where, strict=True)
                ): int(value)
                for where, value in cells
                if value
            }
        )

    view, size = view_of(maps), maps.shape[2]
    for first, last in pairwise(sorted({0, size, *(cut for cut in cuts if cut < size)})):
        measure.rows(view, maps[:, :, first:last], first, prepared)
    right, total = measure.end(view, prepared), measure.totals(prepared)
    return [[named(head) for head in example] for example in right], [
        named(example) for example in total
    ]


CUTS = st.lists(st.integers(1, 12), max_size=4)
"""Where maps are cut into blocks of rows, also within a word."""


@given(case=CASES, subtypes=st.sampled_from(["keep", "fold"]), cuts=CUTS, special=st.booleans())
@SETTINGS
def test_right_and_all_answers_equal_those_of_the_twin(
    case: tuple[list[Any], int], subtypes: str, cuts: list[int], special: bool
) -> None:
    drawn, seed = case
    batch = collate([encode(*one) for one in drawn])
    maps = maps_of(batch, seed)
    fold = subtypes == "fold"
    offsets = twins.best_offsets([words for words, _, _ in drawn], fold=fold)
    random = np.random.default_rng(seed)
    halves = tuple({name: int(random.choice([-2, -1, 1, 2])) for name in offsets} for _ in "12")
    measure = with_offsets(offsets, subtypes, halves=halves, special=special)
    right, total = counted(measure, batch, maps, cuts)
    for row, item in enumerate(batch.items):
        other = halves[1 - bucket_of(item.example) % 2]  # what the other half has chosen
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            words = item.example.words
            expected, of = twins.dependency(
                real,
                item.word.tolist(),
                words,
                offsets,
                held_out=other,
                fold=fold,
                special=special,
            )
            assert right[row][head] == +expected
            assert total[row] == +of


def test_special_tokens_are_candidates_only_if_asked_for_also_beside_other_measures() -> None:
    words = ("the", "dog", "sat")
    heads = (1, 2, ROOT)
    tree = tuple(
        Word(word, head=head, relation="dep") for word, head in zip(words, heads, strict=True)
    )
    corpus = [
        Example("1", (" ".join(words),), tree, (Mention(0, 0, 0, "a"), Mention(1, 1, 1, "a")))
    ]
    where = {"relation": "all", "words": "every", "direction": "dependent to head"}
    found = {}
    for special in (False, True):
        measures = [Dependency(special=special), "coreference"]
        atlas = survey(planted_bert(), from_examples(corpus), measures=measures, max_length=24)
        found[special] = atlas["dependency"]["sum"].sum("bucket").sel(where)
        assert int(found[special].sel(place("word"))) == 1  # every token attends to "dog"
        # "sat" attends to [SEP], the others to their head words
        assert int(found[special].sel(place("next"))) == 2
    assert int(found[False].sel(place("sep"))) > 0  # the leftmost word, by accident
    assert int(found[True].sel(place("sep"))) == 0


@given(drawn=st.lists(trees(), min_size=1, max_size=6))
@SETTINGS
def test_the_offset_of_each_half_is_the_best_of_its_sentences(drawn: list[Any]) -> None:
    corpus = [
        Example(str(number), (" ".join(word.text for word in words),), words)
        for number, (words, _, _) in enumerate(drawn)
    ]
    measure = Dependency().bind(Context(Shape(1, HEADS, 1)), corpus)
    found = json.loads(measure.attributes()["half_offsets"])
    for half in (0, 1):
        trees_of = [example.words for example in corpus if bucket_of(example) % 2 == half]
        expected = dict.fromkeys(measure.relations, 1) | twins.best_offsets(trees_of)
        assert {name: offsets[half] for name, offsets in found.items()} == expected


@given(drawn=st.lists(trees(), min_size=1, max_size=4), subtypes=st.sampled_from(["keep", "fold"]))
@SETTINGS
def test_study_finds_the_relations_and_the_best_fixed_offset_of_each(
    drawn: list[Any], subtypes: str
) -> None:
    corpus = [
        Example(str(number), (" ".join(word.text for word in words),), words)
        for number, (words, _, _) in enumerate(drawn)
    ]
    measure = Dependency(subtypes=subtypes).bind(Context(Shape(1, HEADS, 1)), corpus)
    assert measure.offsets == twins.best_offsets(
        [words for words, _, _ in drawn], fold=subtypes == "fold"
    )
    assert measure.relations == (ALL, CORE, *sorted(set(measure.offsets) - {ALL, CORE}))
    assert json.loads(measure.attributes()["offsets"]) == measure.offsets


def test_an_offset_of_more_than_ten_words_is_no_baseline() -> None:
    assert best_offset(Counter({12: 9, -11: 9, -10: 1})) == -10
    assert best_offset(Counter({12: 9})) == 1


def tree_map(item: Encoded, *, down: bool) -> torch.Tensor:
    """Every piece of a word attends to the first piece of its head word, or (down) of each of its
    dependents alike.
    """
    first = {
        int(word): int(np.flatnonzero(item.word == word)[0]) for word in item.word if word >= 0
    }
    rows = torch.zeros(1, 1, len(item), len(item))
    for query, word in enumerate(item.word.tolist()):
        targets = (
            [place for place, other in enumerate(item.example.words) if other.head == word]
            if down
            else [item.example.words[word].head]
        )
        for target in targets if word >= 0 else ():
            rows[0, 0, query, first.get(target, 0)] = 1.0 / len(targets)
    return rows


@pytest.mark.parametrize(
    ("direction", "down"), [("dependent to head", False), ("head to dependent by column", True)]
)
def test_a_head_whose_maps_are_the_trees_is_right_at_every_relation_and_wrong_only_at_roots(
    direction: str, down: bool
) -> None:
    passages = [  # without the rule for possessors, who would be asked through their clitic
        replace(
            example,
            words=tuple(
                replace(word, relation=word.relation.replace("poss", "own"))
                for word in example.words
            ),
        )
        for example in read("demo", limit=4)
    ]
    model = tiny_model("bert", max_position_embeddings=512)
    measure = Dependency().bind(Context(Shape(1, 1, 1)), passages)
    right, total = Counter[Any](), Counter[Any]()
    for item in model.encoder(max_length=512, long="drop", stack="encoder").encode(passages):
        some, of = counted(measure, collate([item]), tree_map(item, down=down))
        right.update(some[0][0])
        total.update(of[0])
    words = [word for example in passages for word in example.words]
    assert total[direction, ALL, "every"] == len(words)
    assert right[direction, ALL, "every"] == sum(word.head != ROOT for word in words)
    for relation in (CORE, *{word.relation for word in words if word.head != ROOT}):
        assert right[direction, relation, "every"] == total[direction, relation, "every"] > 0, (
            relation
        )
    assert len(measure.relations) > 20


SENTENCE = (
    ("the", 2, "det"),
    ("old", 2, "amod"),
    ("dog", 3, "nsubj"),
    ("saw", ROOT, "root"),
    ("it", 3, "obj"),
    (".", 3, "punct"),
)
"""the old dog saw it . — each a single piece of the planted tokenizer."""


def treebank(*sentences: tuple[tuple[str, int, str], ...]) -> Corpus:
    return from_examples(
        [
            Example(
                str(number),
                (" ".join(text for text, _, _ in words),),
                tuple(Word(*word[:1], head=word[1], relation=word[2]) for word in words),
            )
            for number, words in enumerate(sentences)
        ]
    )


@pytest.fixture(scope="module")
def planted() -> Atlas:
    return survey(planted_bert(), treebank(SENTENCE), measures=["dependency"], max_length=24)


@pytest.mark.parametrize(
    ("head", "direction", "relation", "right", "n"),
    [
        ("next", "dependent to head", "amod", 1, 1),  # old -> dog
        ("next", "dependent to head", "nsubj", 1, 1),  # dog -> saw
        ("next", "dependent to head", "det", 0, 1),  # the -> old
        ("next", "dependent to head", ALL, 2, 6),
        ("next", "dependent to head", CORE, 2, 4),
        ("previous", "dependent to head", "obj", 1, 1),  # it -> saw
        ("previous", "dependent to head", ALL, 1, 6),
        ("next", "head to dependent", "obj", 1, 1),  # saw -> it
        ("previous", "head to dependent", "nsubj", 1, 1),  # saw -> dog
        ("previous", "head to dependent", ALL, 2, 6),  # old <- dog, dog <- saw
        ("word", "dependent to head", "det", 1, 1),  # every word attends to "dog"
        ("word", "head to dependent", "nsubj", 1, 1),
        (
            "word",
            "dependent to head",
            ALL,
            2,
            6,
        ),  # the, old; "dog" itself looks at the leftmost of equals
        (
            "cls",
            "dependent to head",
            ALL,
            0,
            6,
        ),  # nothing but [CLS], which is ignored: the leftmost other word, "the", is no head
        (
            "previous",
            "head to dependent by column",
            "nsubj",
            1,
            1,
        ),  # of all words "saw" attends most to "dog"
    ],
)
def test_planted_heads_have_the_accuracy_counted_by_hand(
    planted: Atlas, head: str, direction: str, relation: str, right: int, n: int
) -> None:
    cell = planted["dependency"].sel(
        **place(head), direction=direction, relation=relation, words="every"
    )
    assert (float(cell["sum"].sum()), int(cell["n"])) == (right, n)
    assert float(cell["mean"]) == pytest.approx(right / n)


def test_the_offset_baseline_and_what_a_head_gets_right_beside_it_are_counted(
    planted: Atlas,
) -> None:
    data = planted["dependency"].sel(direction="dependent to head", words="offset right")
    assert json.loads(data.attrs["offsets"]) == {
        ALL: 1,
        CORE: 1,
        "amod": 1,
        "det": 2,
        "nsubj": 1,
        "obj": -1,
        "punct": -2,
    }
    assert {
        str(name): int(count)
        for name, count in zip(
            data["relation"].values, data["n"].isel(layer=0, head=0).values, strict=True
        )
    } == {
        ALL: 2,
        CORE: 2,
        **dict.fromkeys(("amod", "det", "nsubj", "obj", "punct"), 1),
    }
    assert float(data["sum"].sum("bucket").sel(**place("next"), relation=ALL)) == 2
    assert float(data["sum"].sum("bucket").sel(**place("previous"), relation=ALL)) == 0


POINTING = {  # row and column of the only weight: [CLS] Ann 's hat [SEP]
    "dependent to head": {"the clitic": (2, 3), "the possessor": (1, 3)},
    "head to dependent": {"the clitic": (3, 2), "the possessor": (3, 1)},
    "head to dependent by column": {"the clitic": (3, 2), "the possessor": (3, 1)},
}


@pytest.mark.parametrize("clitic", ["'s", "'S", "s'", "’s", "'", "’", "dog"])
@pytest.mark.parametrize("relation", ["poss", "nmod:poss", "det"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_possessor_before_a_clitic_is_represented_by_the_clitic_in_every_direction(
    clitic: str, relation: str, direction: str
) -> None:
    words = (
        Word("Ann", head=2, relation=relation),
        Word(clitic, head=0, relation="case"),
        Word("hat", head=ROOT, relation="root"),
    )
    batch = collate([encode(words, (1, 1, 1))])
    measure = Dependency().bind(
        Context(Shape(1, HEADS, 1)),
        from_examples([Example("1", ("Ann",), words)]) if "poss" in relation else [],
    )
    stands = clitic != "dog" and "poss" in relation
    for who, where in POINTING[direction].items():
        # What does not point prefers the first word, so that nothing is right by a tie.
        maps = torch.zeros(1, HEADS, 5, 5)
        maps[0, :, 2, 1] = maps[0, :, 3, 1] = 0.1
        maps[0, :, *where] = 1.0
        found, total = counted(with_offsets({ALL: 1, CORE: 1, relation: 1}), batch, maps)
        assert total[0][direction, relation, "every"] == 1
        expected = (who == "the clitic") == stands
        assert found[0][0][direction, relation, "every"] == expected, who
    if "poss" in relation:  # the baseline counts from the same word
        assert measure.offsets[relation] == (1 if stands else 2)


def test_a_clitic_of_the_next_sentence_stands_for_nobody() -> None:
    words = (
        Word("hat", head=ROOT, relation="root"),
        Word("hers", head=0, relation="nmod:poss"),
        Word("'", sentence=1, head=3, relation="punct"),
        Word("Go", sentence=1, head=ROOT, relation="root"),
    )
    measure = Dependency()
    assert [arc.speaker for arc in measure.arcs(words)] == [0, 1, 2, 3]


def test_a_clitic_that_was_cut_off_leaves_the_possessor_to_count() -> None:
    words = (
        Word("hat", head=ROOT, relation="root"),
        Word("Ann", head=0, relation="nmod:poss"),
        Word("'s", head=1, relation="case"),
    )
    batch = collate([encode(words, (1, 1, 0))])
    maps = torch.zeros(1, HEADS, 4, 4)
    maps[0, :, 1, 2] = maps[0, :, 2, 1] = 1.0
    found, _ = counted(with_offsets({ALL: 1, CORE: 1, "nmod:poss": -1}), batch, maps)
    for direction in DIRECTIONS:
        assert found[0][0][direction, "nmod:poss", "every"] == 1


def test_subtypes_are_kept_or_folded() -> None:
    corpus = treebank(
        (("the", 1, "det:def"), ("dog", 2, "nsubj:pass"), ("sat", ROOT, "root")),
        (("a", 1, "det"), ("dog", 2, "nsubj"), ("sat", ROOT, "root")),
    )
    kept, folded = (
        survey(planted_bert(), corpus, measures=[Dependency(subtypes=way)], max_length=24)[
            "dependency"
        ]
        for way in ("keep", "fold")
    )
    assert kept["relation"].values.tolist() == [ALL, CORE, "det", "det:def", "nsubj", "nsubj:pass"]
    assert folded["relation"].values.tolist() == [ALL, CORE, "det", "nsubj"]
    assert folded["n"].sel(relation="det", words="every").isel(layer=0, head=0, direction=0) == 2


def test_words_that_were_cut_off_and_words_that_depend_on_them_are_left_out() -> None:
    results = survey(
        planted_bert(), treebank(SENTENCE), measures=["dependency"], max_length=7
    )  # [CLS] the old dog saw [SEP], and one more
    n = (
        results["dependency"]["n"]
        .sel(direction="dependent to head", words="every")
        .isel(layer=0, head=0)
    )
    assert {str(name): int(n.sel(relation=name)) for name in n["relation"].values} == {
        ALL: 5,
        CORE: 4,
        "amod": 1,
        "det": 1,
        "nsubj": 1,
        "obj": 1,
        "punct": 0,
    }
    shorter = (
        survey(planted_bert(), treebank(SENTENCE), measures=["dependency"], max_length=5)[
            "dependency"
        ]["n"]
        .sel(words="every")
        .isel(layer=0, head=0, direction=0)
    )
    assert {str(name): int(shorter.sel(relation=name)) for name in ("det", "amod", "nsubj")} == {
        "det": 1,
        "amod": 1,
        "nsubj": 0,
    }  # "dog" depends on "saw", which is gone


def test_an_example_of_which_no_word_is_left_whole_counts_nothing() -> None:
    long = Example(
        "1",
        ("dogsings dog",),
        (Word("dogsings", head=1, relation="nsubj"), Word("dog", head=ROOT, relation="root")),
    )  # dog ##s ##ing ##s
    results = survey(
        planted_bert(), from_examples([long]), measures=["dependency"], max_length=5
    )  # room for two pieces of one word
    assert results.provenance["counts"]["seen"] == 1
    assert not results["dependency"]["n"].any()
    assert results["dependency"]["mean"].isnull().all()


def test_one_word_alone_is_a_root_that_is_never_right() -> None:
    results = survey(
        planted_bert(), treebank((("dog", ROOT, "root"),)), measures=["dependency"], max_length=24
    )["dependency"]
    assert (results["n"].sel(relation=ALL, words="every") == 1).all()
    assert (results["mean"].sel(relation=ALL, words="every") == 0).all()
    assert results["mean"].sel(relation=CORE).isnull().all()


def test_every_direction_counts_the_same_arcs(planted: Atlas) -> None:
    n = planted["dependency"]["n"]
    assert n["direction"].values.tolist() == list(DIRECTIONS)
    for direction in DIRECTIONS[1:]:
        assert (
            n.sel(direction=direction)
            .drop_vars("direction")
            .equals(n.sel(direction=DIRECTIONS[0]).drop_vars("direction"))
        )


def test_a_treebank_without_heads_offers_no_dependencies_and_says_so_when_asked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bare.conllu"
    path.write_text(
        "".join(
            f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n"
            for number, word in enumerate(("the", "dog", "sat"), 1)
        )
        + "\n"
    )
    assert "dependency" not in survey(planted_bert(), read(path), max_length=24).measures
    with pytest.raises(UserError) as caught:
        survey(planted_bert(), read(path), measures=["dependency"], max_length=24)
    assert (
        caught.value.message
        == f"the measure 'dependency' needs tree, which {path} does not have (it has words)"
    )
    assert caught.value.hint == "use a treebank (.conllu), or parse plain text with parse=True"


def test_a_treebank_with_heads_but_no_labels_has_only_the_accuracy_over_all_words(
    tmp_path: Path,
) -> None:
    path = tmp_path / "unlabelled.conllu"
    path.write_text("1\tthe\t_\t_\t_\t_\t2\t_\t_\t_\n2\tdog\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    assert survey(planted_bert(), read(path), measures=["dependency"], max_length=24)["dependency"][
        "relation"
    ].values.tolist() == [ALL, CORE]


def test_words_of_other_sentences_are_no_candidates() -> None:
    words = (
        Word("dogs", head=1, relation="nsubj"),
        Word("sat", head=ROOT, relation="root"),
        Word("it", sentence=1, head=3, relation="nsubj"),
        Word("ran", sentence=1, head=ROOT, relation="root"),
    )
    batch = collate([encode(words, (1, 2, 1, 1))])  # [CLS] dogs sat sat it ran [SEP]
    maps = torch.zeros(1, HEADS, 7, 7)
    maps[0, :, 1, 4], maps[0, :, 1, 3] = 0.9, 0.1  # dogs -> it, and a little to sat
    maps[0, :, 5, 1], maps[0, :, 5, 4] = 0.9, 0.1  # ran -> dogs, and a little to it
    found, total = counted(with_offsets({ALL: 1, CORE: 1, "nsubj": 1}), batch, maps)
    assert total[0]["dependent to head", "nsubj", "every"] == 2
    assert found[0][0]["dependent to head", "nsubj", "every"] == 2  # "it": the leftmost of equals
    assert found[0][0]["head to dependent", "nsubj", "every"] == 2


UD = (
    ("Ann", 2, "nmod:poss", "PROPN"),
    ("'s", 0, "case", "PART"),
    ("dog", 6, "nsubj", "NOUN"),
    ("did", 6, "aux", "AUX"),
    ("not", 6, "advmod", "PART"),
    ("quickly", 6, "advmod", "ADV"),
    ("want", ROOT, "root", "VERB"),
    ("to", 8, "mark", "PART"),
    ("run", 6, "xcomp", "VERB"),
    ("in", 10, "case", "ADP"),
    ("Rome", 8, "obl", "PROPN"),
    ("because", 13, "mark", "SCONJ"),
    ("it", 13, "nsubj", "PRON"),
    ("rained", 6, "advcl", "VERB"),
)
"""Ann 's dog did not quickly want to run in Rome because it rained."""


def test_stanford_relations_are_made_from_ud() -> None:
    words = tuple(Word(text, head=head, relation=name, upos=tag) for text, head, name, tag in UD)
    example = Example("1", (" ".join(word.text for word in words),), words)
    measure = Dependency(stanford=True).bind(Context(Shape(1, HEADS, 1)), [example])
    made = [name for name in measure.relations if name.endswith(" (SD)")]
    assert made == ["advmod (SD)", "aux (SD)", "mark (SD)", "neg (SD)", "pobj (SD)"]
    assert {name: measure.offsets[name] for name in made} == {
        "advmod (SD)": 1,  # quickly -> want
        "aux (SD)": 1,  # did -> want (3), to -> run (1)
        "mark (SD)": 2,  # because -> rained
        "neg (SD)": 2,  # not -> want
        "pobj (SD)": -1,  # Rome -> in
    }
    batch = collate([encode(words, (1,) * len(words))])
    maps = torch.zeros(1, HEADS, len(words) + 2, len(words) + 2)
    maps[0, :, 11, 10] = 1.0  # Rome -> in
    maps[0, :, 2, 3] = 1.0  # 's -> dog: the possessor, not the object of a preposition
    maps[0, :, 8, 9] = 1.0  # to -> run
    maps[0, :, 1, 3] = 1.0  # Ann -> dog
    found, total = counted(measure, batch, maps)
    right = found[0][0]
    assert total[0]["dependent to head", "pobj (SD)", "every"] == 1
    assert right["dependent to head", "pobj (SD)", "every"] == 1
    assert right["head to dependent", "pobj (SD)", "every"] == 0
    assert right["head to dependent", "case", "every"] == 1  # the same pair, the other way round
    assert total[0]["dependent to head", "aux (SD)", "every"] == 2
    assert right["dependent to head", "aux (SD)", "every"] == 1
    # Arcs that were turned round count once among all words.
    assert total[0]["dependent to head", ALL, "every"] == len(words)


def test_stanford_relations_are_made_only_if_asked_for() -> None:
    measure = Dependency().bind(Context(Shape(1, HEADS, 1)), treebank(SENTENCE))
    assert not [name for name in measure.relations if "SD" in name]
