"""The examples of the page: which are chosen, and that the packs hold what was kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.heads import Head
from headscope.page.packs import unpack
from headscope.page.packs.examples import Lottery, SampleWords, choose, example_packs
from headscope.results.kept import KeptMap, KeptText
from headscope.stats.tables.examples import top_keys, top_pairs, top_queries


def text(number: int, words: Iterable[str] = ("The", "dog", "barks", ".")) -> KeptText:
    """[CLS], the words, [SEP]; every word but the first two is one piece, the second is two."""
    words = tuple(words)
    units = [0, 1, *range(1, len(words))]
    tokens = ("[CLS]", *(words[unit] for unit in units), "[SEP]")
    special = (True, *(False for _ in units), True)
    sink = tuple(one or token == "." for one, token in zip(special, tokens, strict=True))
    roots = tuple(-1 for _ in words)
    none = tuple("" for _ in words)
    unit = (-1, *units, -1)
    return KeptText(
        number, f"text-{number}", "", tokens, unit, words, special, sink, roots, none,
        tuple(0 for _ in words), len(tokens),
    )  # fmt: skip


def kept_map(one: KeptText, score: float, seed: int = 0) -> KeptMap:
    """A random sparse map; weights are multiples of 1 / 65535."""
    chance = np.random.default_rng(seed)
    rows = len(one.tokens)
    counts = chance.integers(0, 4, rows).astype(np.uint8)
    keys = np.concatenate(
        [np.zeros(0, int), *(chance.choice(rows, n, replace=False) for n in counts)]
    ).astype(np.uint16)
    weights = (chance.integers(400, 20000, len(keys)) / 65535).astype(np.float32)
    return KeptMap(one, score, counts, keys, weights)


@dataclass
class FakeKept:
    """Two heads: maps by head, texts shared."""

    texts: tuple[KeptText, ...]
    strong: dict[str, list[KeptMap]]
    drawn: dict[str, list[KeptMap]]

    def strongest(self, head: Head | str) -> list[KeptMap]:
        return self.strong[str(head)]

    def sample(self, head: Head | str) -> list[KeptMap]:
        return sorted(self.drawn[str(head)], key=lambda one: -one.score)

    def histogram(self, head: Head | str) -> tuple[NDArray, NDArray, NDArray]:
        share = np.zeros(33)
        share[15] = 0.5 if str(head) == "1-1" else 0.25
        return np.arange(-16, 17), share, np.full(33, 1 / 33)


@dataclass
class FakeAtlas:
    """What :func:`example_packs` asks of an atlas."""

    held: FakeKept | None
    layers: tuple[int, ...] = (1,)
    shape: tuple[int, int] = field(default=(1, 2))

    @property
    def kept(self) -> FakeKept:
        if self.held is None:
            raise UserError("these results keep no examples")
        return self.held


WORDS = (
    ("The", "dog", "barks", "."),
    ("The", "dog", "sleeps", "."),
    ("A", "cat", "sees", "the", "dog", "."),
    ("the", "THE", "dog"),
    ("One", "word"),
)


class NoCards:
    """Cards need results of a whole survey; ``test_card.py`` tests them."""

    grid = ""

    def __init__(self, atlas: FakeAtlas) -> None: ...

    def part(self, head: str) -> str:
        return head


@pytest.fixture(autouse=True)
def no_cards(monkeypatch):
    monkeypatch.setattr("headscope.page.packs.examples.Cards", NoCards)


@pytest.fixture
def kept():
    texts = tuple(text(n, WORDS[n % len(WORDS)]) for n in range(12))
    heads = ("1-1", "1-2")
    drawn = {
        head: [kept_map(texts[n], 0.1 * n / (1 + at), seed=n + 100 * at) for n in range(8)]
        for at, head in enumerate(heads)
    }
    strong = {
        head: [kept_map(texts[n], 0.9 - n / 100, seed=n + 500) for n in (7, 9, 10, 11)]
        for head in heads
    }
    return FakeKept(texts, strong, drawn)


def test_three_strong_three_typical_one_weak_and_three_random_are_chosen():
    texts = [text(n) for n in range(20)]
    strongest = [kept_map(texts[n], 0.9 - n / 100) for n in (0, 1, 2, 3)]
    scores = [0.80, 0.75, 0.50, 0.48, 0.46, 0.44, 0.30, 0.20, 0.10, 0.05, 0.0]
    sample = [kept_map(texts[4 + n], score) for n, score in enumerate(scores)]
    chosen = choose(strongest, sample, Lottery(texts), most=10)
    kinds = [one.kind for one in chosen]
    assert kinds == ["strong"] * 3 + ["typical"] * 3 + ["weak"] + ["random"] * 3
    by_kind = {kind: [one for one in chosen if one.kind == kind] for kind in kinds}
    assert [one.map.text.number for one in by_kind["strong"]] == [0, 1, 2]
    assert [one.rank for one in by_kind["strong"]] == [1, 2, 3]
    # the median of eleven scores is the sixth, 0.44; 0.46 and 0.48 are nearest to it
    assert [one.map.score for one in by_kind["typical"]] == [0.48, 0.46, 0.44]
    assert [one.rank for one in by_kind["typical"]] == [4, 5, 6]
    assert [(one.map.score, one.rank) for one in by_kind["weak"]] == [(0.05, 10)]


def test_no_text_is_shown_twice_though_it_is_strong_and_in_the_sample():
    texts = [text(n) for n in range(4)]
    strongest = [kept_map(one, 0.9 - one.number / 10) for one in texts]
    chosen = choose(strongest, strongest[::1], Lottery(texts), most=10)
    numbers = [one.map.text.number for one in chosen]
    assert sorted(numbers) == [0, 1, 2, 3]


@pytest.mark.parametrize("most", [0, 1, 4, 10])
def test_there_are_at_most_as_many_as_asked_for(most):
    texts = [text(n) for n in range(40)]
    strongest = [kept_map(texts[n], 0.9) for n in range(8)]
    sample = [kept_map(texts[8 + n], 0.8 - n / 100) for n in range(32)]
    chosen = choose(strongest, sample, Lottery(texts), most=most)
    assert len(chosen) == most
    if most == 4:
        assert [one.kind for one in chosen] == ["strong", "typical", "weak", "random"]


def test_all_that_were_kept_are_chosen_without_a_limit():
    texts = [text(n) for n in range(40)]
    strongest = [kept_map(texts[n], 0.9) for n in range(8)]
    sample = [kept_map(texts[8 + n], 0.8 - n / 100) for n in range(32)]
    chosen = choose(strongest, sample, Lottery(texts), most=None)
    assert len(chosen) == 40
    assert sum(one.kind == "strong" for one in chosen) == 8
    assert sum(one.kind == "weak" for one in chosen) == 1


def test_random_examples_are_the_same_texts_for_every_head():
    texts = [text(n) for n in range(32)]
    drawn = []
    for seed in (1, 2):
        scores = np.sort(np.random.default_rng(seed).random(32))[::-1]
        order = np.random.default_rng(seed).permutation(32)
        sample = [kept_map(texts[n], float(score)) for n, score in zip(order, scores, strict=True)]
        lottery = Lottery(texts)
        first = sorted(sample, key=lottery)[:3]
        drawn.append([one.text.number for one in first])
    assert drawn[0] == drawn[1]


def test_a_sample_without_any_attention_at_work_has_no_weak_example():
    texts = [text(n) for n in range(3)]
    chosen = choose([], [kept_map(one, 0.0) for one in texts], Lottery(texts), most=10)
    assert {one.kind for one in chosen} <= {"typical", "random"}


def test_packs_give_back_the_maps_that_were_kept(kept):
    packs = example_packs(FakeAtlas(kept))
    assert set(packs) == {"texts", "tokens", "head/1-1", "head/1-2"}
    texts = unpack(packs["texts"])[0]["texts"]
    for head in ("1-1", "1-2"):
        document, arrays = unpack(packs[f"head/{head}"])
        held = {one.text.id: one for one in kept.sample(head)}
        held |= {one.text.id: one for one in kept.strongest(head)}
        assert document["sample"] == 8
        for example in document["examples"]:
            one = held[texts[example["text"]]["id"]]
            rows = slice(example["row"], example["row"] + example["rows"])
            assert arrays["counts"][rows].tolist() == one.counts.tolist()
            links = slice(example["link"], example["link"] + int(arrays["counts"][rows].sum()))
            assert arrays["keys"][links].tolist() == one.keys.tolist()
            assert arrays["weights"][links] / 65535 == pytest.approx(one.weights, abs=1e-7)
            assert example["score"] == pytest.approx(one.score, abs=1e-5)
        assert arrays["histogram"][15] == pytest.approx(0.5 if head == "1-1" else 0.25)
        assert arrays["uniform"] == pytest.approx(np.full(33, 1 / 33))


def test_compact_packs_keep_the_largest_links_of_each_row(kept):
    whole, small = (example_packs(FakeAtlas(kept), compact=compact) for compact in (False, True))
    for head in ("1-1", "1-2"):
        document, arrays = unpack(small[f"head/{head}"])
        before, links = unpack(whole[f"head/{head}"])
        assert [one["score"] for one in document["examples"]] == [
            one["score"] for one in before["examples"]
        ]
        assert (arrays["keys"].dtype, arrays["weights"].dtype) == (np.uint8, np.uint8)
        # row by row, in plain loops
        starts, ends = np.cumsum(links["counts"]) - links["counts"], np.cumsum(links["counts"])
        keys, weights, counts = [], [], list[int]()
        for start, end in zip(starts, ends, strict=True):
            row = sorted(range(start, end), key=lambda at: -int(links["weights"][at]))[:4]
            row = [at for at in row if links["weights"][at] >= 0.02 * 65535]
            counts.append(len(row))
            keys += [int(links["keys"][at]) for at in sorted(row)]
            weights += [links["weights"][at] / 65535 for at in sorted(row)]
        assert arrays["keys"].tolist() == keys
        assert (arrays["weights"] / 255) ** 2 == pytest.approx(weights, abs=1 / 255)
        assert arrays["counts"].tolist() == counts


def test_the_words_that_heads_link_are_there_for_the_search(kept):
    packs = example_packs(FakeAtlas(kept))
    tokens = unpack(packs["tokens"])[0]["tokens"]
    for place, head in enumerate(("1-1", "1-2")):
        pairs = unpack(packs[f"head/{head}"])[0]["pairs"]
        assert set(tokens[place]) == {pair[side] for pair in pairs for side in ("query", "key")}


def test_texts_that_no_head_shows_are_not_packed(kept):
    packs = example_packs(FakeAtlas(kept), most=1)
    used = {
        example["text"]
        for head in ("1-1", "1-2")
        for example in unpack(packs[f"head/{head}"])[0]["examples"]
    }
    texts = unpack(packs["texts"])[0]["texts"]
    assert used == set(range(len(texts)))
    assert [one["id"] for one in texts] == ["text-7"]
    assert texts[0]["words"] == list(WORDS[2])
    assert texts[0]["unit"] == [-1, 0, 1, 1, 2, 3, 4, 5, -1]
    assert texts[0]["special"] == [1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_hostile_text_survives():
    bad = text(1, ("</script><script>", "\u202eabc", "x" * 10_000))
    one = kept_map(bad, 0.5)
    fake = FakeKept((bad,), {"1-1": [one]}, {"1-1": [one]})
    packs = example_packs(FakeAtlas(fake, shape=(1, 1)))
    assert unpack(packs["texts"])[0]["texts"][0]["words"] == list(bad.words)


def test_results_without_examples_have_no_packs():
    assert example_packs(FakeAtlas(None)) == {}
    assert example_packs(FakeAtlas(FakeKept((), {}, {}))) == {}


def test_top_words_are_those_that_the_statistics_of_a_single_head_give(kept):
    words = SampleWords([one.text for one in kept.sample("1-2")])
    for head in ("1-1", "1-2"):
        found = words.top(kept.sample(head), n=6)
        pairs = top_pairs(kept, head, n=6)
        assert [(one["query"], one["key"], one["n"]) for one in found["pairs"]] == [
            (one.query, one.key, one.seen) for one in pairs
        ]
        assert [one["mean"] for one in found["pairs"]] == pytest.approx(
            [one.attention for one in pairs], abs=1e-5
        )
        for name, twin in (("queries", top_queries), ("keys", top_keys)):
            shares = {one.word: one.share for one in twin(kept, head, n=100)}
            assert len(found[name]) == min(6, len(shares))
            for one in found[name]:
                assert one["share"] == pytest.approx(shares[one["token"]], abs=1e-5)


def test_a_pair_of_words_counts_by_hand():
    one = text(1, ("The", "dog", "sleeps"))  # tokens: [CLS] The dog dog sleeps [SEP]
    counts = np.array([0, 1, 1, 2, 1, 0], np.uint8)
    keys = np.array([3, 1, 1, 4, 4], np.uint16)
    weights = np.array([0.5, 0.25, 0.75, 0.5, 1.0], np.float32)
    found = SampleWords([one]).top([KeptMap(one, 0.5, counts, keys, weights)])
    # the word "dog" has two pieces: the mean of 0.25 and 0.75 on "the", of 0 and 0.5 on "sleeps"
    pairs = {(pair["query"], pair["key"]): pair["mean"] for pair in found["pairs"]}
    assert pairs == {
        ("the", "dog"): pytest.approx(0.5),
        ("dog", "the"): pytest.approx(0.5),
        ("dog", "sleeps"): pytest.approx(0.25),
    }
    expected = {"dog": pytest.approx(0.4), "the": pytest.approx(0.4), "sleeps": pytest.approx(0.2)}
    assert {one["token"]: one["share"] for one in found["keys"]} == expected
