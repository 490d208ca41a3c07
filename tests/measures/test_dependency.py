"""Accuracy at dependencies: equal to a plain-loop twin on random trees, exact on planted
heads, and clear about what it leaves out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
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
from headscope.runs.survey import survey
from items import item_of
from measures.test_twins import view_of
from planted import place, planted_bert
from refusals import refusal

DIRECTIONS = Dependency.dims["direction"]

HEADS = 3
SETTINGS = settings(deadline=None, max_examples=60)
TEXTS = ("dog", "'s", "'S", "s'", "’s", "'", "’", "Ann", "it")
RELATIONS = ("det", "nmod:poss", "nmod", "poss", "punct", "obl:tmod", "")
PIECES = (0, 1, 1, 2, 4)
"""How many pieces a word has: means of 1, 2 and 4 weights that are 64ths are exact in float32, so
ties are real ties.
"""


KINDS_OF_MENTIONS = ["", "pronoun", "proper", "nominal"]


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
        named = draw(st.sampled_from("ab")), draw(st.sampled_from(KINDS_OF_MENTIONS))
        mentions[start, head, end] = Mention(start, end, head, *named)
    return words, tuple(draw(st.sampled_from(PIECES)) for _ in words), tuple(mentions.values())


CASES = st.tuples(st.lists(trees(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))


def encode(
    words: tuple[Word, ...], pieces: tuple[int, ...], mentions: tuple[Mention, ...] = ()
) -> Encoded:
    """[CLS] word word … [SEP], each word in so many pieces; a word of 0 pieces was cut off."""
    owners = [-1, *(index for index, count in enumerate(pieces) for _ in range(count)), -1]
    kinds = [START, *[TEXT] * (len(owners) - 2), SEPARATOR]
    example = Example("1", (" ".join(word.text for word in words),), words, mentions)
    return item_of(example, [0] * len(owners), kind=kinds, word=owners)


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
        found = Counter()
        for where, value in cells:
            if value:
                dims = zip(measure.dims.values(), where, strict=True)
                found[tuple(labels[at] for labels, at in dims)] = int(value)
        return found

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
def test_right_and_all_answers_equal_those_of_the_twin(case, subtypes, cuts, special):
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
                real, item.word.tolist(), words, offsets, held_out=other, fold=fold, special=special
            )
            assert right[row][head] == +expected
            assert total[row] == +of


def test_special_tokens_are_candidates_only_if_asked_for_also_beside_other_measures():
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
def test_the_offset_of_each_half_is_the_best_of_its_sentences(drawn):
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
def test_study_finds_the_relations_and_the_best_fixed_offset_of_each(drawn, subtypes):
    corpus = [
        Example(str(number), (" ".join(word.text for word in words),), words)
        for number, (words, _, _) in enumerate(drawn)
    ]
    measure = Dependency(subtypes=subtypes).bind(Context(Shape(1, HEADS, 1)), corpus)
    expected = twins.best_offsets([words for words, _, _ in drawn], fold=subtypes == "fold")
    assert measure.offsets == expected
    assert measure.relations == (ALL, CORE, *sorted(set(measure.offsets) - {ALL, CORE}))
    assert json.loads(measure.attributes()["offsets"]) == measure.offsets


def test_an_offset_of_more_than_ten_words_is_no_baseline():
    assert best_offset(Counter({12: 9, -11: 9, -10: 1})) == -10
    assert best_offset(Counter({12: 9})) == 1


SENTENCE = (
    *(("the", 2, "det"), ("old", 2, "amod"), ("dog", 3, "nsubj"), ("saw", ROOT, "root")),
    *(("it", 3, "obj"), (".", 3, "punct")),
)
"""the old dog saw it . — each a single piece of the planted tokenizer."""


def treebank(*sentences: tuple[tuple[str, int, str], ...]) -> Corpus:
    examples = []
    for number, rows in enumerate(sentences):
        words = tuple(Word(text, head=head, relation=relation) for text, head, relation in rows)
        examples.append(Example(str(number), (" ".join(word.text for word in words),), words))
    return from_examples(examples)


@pytest.fixture(scope="module")
def planted():
    return survey(planted_bert(), treebank(SENTENCE), measures=["dependency"], max_length=24)


@pytest.mark.parametrize(
    ("head", "direction", "relation", "right", "n"),
    [
        ("next", "dependent to head", "amod", 1, 1),  # old -> dog
        ("next", "dependent to head", "det", 0, 1),  # the -> old
        ("next", "dependent to head", ALL, 2, 6),
        ("next", "dependent to head", CORE, 2, 4),
        ("previous", "head to dependent", "nsubj", 1, 1),  # saw -> dog
        ("previous", "head to dependent", ALL, 2, 6),  # old <- dog, dog <- saw
        ("previous", "head to dependent by column", "nsubj", 1, 1),  # most to "dog": from "saw"
    ],
)
def test_planted_heads_have_the_accuracy_counted_by_hand(
    planted, head, direction, relation, right, n
):
    cell = planted["dependency"].sel(
        **place(head), direction=direction, relation=relation, words="every"
    )
    assert (float(cell["sum"].sum()), int(cell["n"])) == (right, n)
    assert float(cell["mean"]) == pytest.approx(right / n)


def test_a_treebank_without_heads_offers_no_dependencies_and_says_so_when_asked(tmp_path):
    path = tmp_path / "bare.conllu"
    rows = [f"{number}\t{word}" for number, word in enumerate(("the", "dog", "sat"), 1)]
    path.write_text("".join(row + 8 * "\t_" + "\n" for row in rows) + "\n")
    assert "dependency" not in survey(planted_bert(), read(path), max_length=24).measures
    error = refusal(
        UserError, survey, planted_bert(), read(path), measures=["dependency"], max_length=24
    )
    message = f"the measure 'dependency' needs tree, which {path} does not have (it has words)"
    assert error.message == message
    assert error.hint == "use a treebank (.conllu), or parse plain text with parse=True"


def test_a_treebank_with_heads_but_no_labels_has_only_the_accuracy_over_all_words(tmp_path):
    path = tmp_path / "unlabelled.conllu"
    path.write_text("1\tthe\t_\t_\t_\t_\t2\t_\t_\t_\n2\tdog\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    assert survey(planted_bert(), read(path), measures=["dependency"], max_length=24)["dependency"][
        "relation"
    ].values.tolist() == [ALL, CORE]


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


def test_stanford_relations_are_made_from_ud():
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


def test_stanford_relations_are_made_only_if_asked_for():
    measure = Dependency().bind(Context(Shape(1, HEADS, 1)), treebank(SENTENCE))
    assert not [name for name in measure.relations if "SD" in name]
