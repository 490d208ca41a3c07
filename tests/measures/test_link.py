"""Attention from token to token: equal to a plain-loop twin, exact on planted heads, in
universal and Stanford trees alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import pytest
from hypothesis import given, settings

from headscope.corpus import ROOT, Example, Word, from_examples, join_words
from headscope.encode import SEPARATOR, START
from headscope.measures import Link
from headscope.measures.grammar import verbs_and_subjects
from headscope.runs.survey import survey
from measures.annotated import CASES, made, real_maps, tree, values_of
from measures.test_feature import has
from planted import place, planted_bert

LINKS = Link.dims["link"]


def is_verb_of(verb: int, subject: int, words: Sequence[Word]) -> bool:
    """Whether one word is the verb of another: its head if that is a verb, else the copula of its
    head.
    """
    head = words[subject].head
    if not has("subject", subject, words) or head in (None, ROOT):
        return False
    if has("verb", head, words):
        return verb == head
    return words[verb].head == head and words[verb].relation == "cop"


def linked(name: str, query: int, key: int, words: Sequence[Word]) -> bool:
    """Whether a link of this kind leads from one word to another."""
    if name == "verb to subject":
        return is_verb_of(query, key, words)
    if name == "subject to verb":
        return is_verb_of(key, query, words)
    one, other = name.split(" to ")
    return (
        has(one, query, words)
        and has(other, key, words)
        and words[query].sentence == words[key].sentence
    )


def link(
    map: list[list[float]],
    owners: Sequence[int],
    kinds: Sequence[int],
    words: Sequence[Word],
    *,
    causal: bool,
) -> dict[str, float]:
    """the largest weight among the pairs; from [CLS] (in a causal model the last
    token) to each feature of Kovaleva et al. 2019, section 4.2.
    """
    found = {}
    for name in LINKS:
        values = []
        for query in range(len(map)):
            for key in range(query + 1 if causal else len(map)):
                if name.startswith("cls to "):
                    goal = name.removeprefix("cls to ")
                    start = query == len(map) - 1 if causal else kinds[query] == START
                    there = (
                        kinds[key] == {"cls": START, "sep": SEPARATOR}[goal]
                        if goal in ("cls", "sep")
                        else owners[key] >= 0 and has(goal, owners[key], words)
                    )
                    pair = start and there
                else:
                    pair = (
                        owners[query] >= 0
                        and owners[key] >= 0
                        and linked(name, owners[query], owners[key], words)
                    )
                if pair:
                    values.append(map[query][key])
        found[name] = max(values) if values else nan
    return found


@given(case=CASES)
@settings(deadline=None, max_examples=60)
def test_values_equal_those_of_the_twin(case):
    batch, maps, causal = made(case)
    values = values_of(Link, batch, maps, causal=causal)
    for row, head, item, real in real_maps(batch, maps):
        expected = link(
            real, item.word.tolist(), item.kind.tolist(), item.example.words, causal=causal
        )
        wanted = pytest.approx([expected[name] for name in LINKS], nan_ok=True)
        assert values[row, head].tolist() == wanted


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("he|PRON|nsubj|2 sat|VERB|root|0", [(1, 0)]),
        ("it|PRP|nsubjpass|3 was|VBD|auxpass|3 seen|VBN|root|0", [(2, 0)]),
        ("it|PRON|nsubj:pass|3 was|AUX|aux:pass|3 seen|VERB|root|0", [(2, 0)]),
        (
            "he|PRON|nsubj|3 is|AUX|cop|3 tall|ADJ|root|0",
            [(1, 0)],
        ),  # universal: the adjective is the root
        ("he|PRON|nsubj|2 is|AUX|root|0 tall|ADJ|acomp|2", [(1, 0)]),  # CLEAR: the copula is
        ("he|PRON|nsubj|3 the|DET|det|3 man|NOUN|root|0", []),  # no verb at all
        ("leaving|VERB|csubj|3 was|AUX|cop|3 wise|ADJ|root|0", [(1, 0)]),
        ("he|PRON|obj|2 sat|VERB|root|0", []),
    ],
)
def test_verbs_and_their_subjects_are_found_in_the_tree(text, pairs):
    assert verbs_and_subjects(tree(text)) == pairs


# [CLS] it saw the dog ##s [SEP]
SAW = tree("it|PRON|nsubj|2 saw|VERB|root|0 the|DET|det|4 dogs|NOUN|obj|2")


def run(words: tuple[Word, ...]):
    corpus = from_examples([Example("1", join_words(words), words)])
    return survey(planted_bert(), corpus, measures=["link"], max_length=24).mean("link")


@pytest.mark.parametrize(
    ("head", "name", "value"),
    [
        ("previous", "verb to subject", 1.0),
        ("previous", "subject to verb", 0.0),
        ("piece", "pronoun to noun", 1.0),
        ("next", "cls to pronoun", 1.0),
        ("uniform", "cls to verb", 1 / 7),
    ],
)
def test_planted_heads_have_the_attention_counted_by_hand(head, name, value):
    assert run(SAW).sel(**place(head), link=name).item() == pytest.approx(value, abs=1e-5)
