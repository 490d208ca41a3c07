"""Labels in plain words: those of every registered measure, and of every run's own results."""

from __future__ import annotations

import json
from functools import cache
from itertools import product

import pytest
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from headscope.corpus import from_examples, read
from headscope.labels import find_words, label_text, lost_tokens
from headscope.measures import MEASURES, Change, Role, Sieve
from headscope.models import wrap
from headscope.results import Atlas
from headscope.runs.survey import survey
from tiny import tiny_network, tiny_tokenizer

PAIR = {"one": "1-1", "other": "2-3"}


OWN = {"logit_attribution": "gpt2", "gate": "qwen3.5"}
"""Measures that are not of every model, and a model for them."""


@cache
def surveyed(alone: str = "") -> Atlas:
    """All registered measures on a few passages that have every annotation; or one alone."""
    if alone:
        network = tiny_network(kind := OWN[alone], auto=AutoModelForCausalLM)
        model = wrap(network, tiny_tokenizer(kind), name=f"tiny-{kind}")
        return survey(model, ["The dog barks."], measures=alone, max_length=60)
    network = tiny_network("bert", auto=AutoModelForMaskedLM)
    model = wrap(network, tiny_tokenizer("bert"), name="tiny-bert")
    wanted = {"news-19", "instructions-19"}
    passages = [passage for passage in read("demo") if passage.id in wanted]
    return survey(
        model, from_examples(passages), measures=sorted(set(MEASURES) - OWN.keys()), max_length=60
    )


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_every_label_of_every_registered_measure_has_words_of_its_own(measure):
    data = surveyed(measure if measure in OWN else "")[measure]
    dims = [str(dim) for dim in data["mean"].dims if dim not in ("layer", "head")]
    labels = list(product(*(data[dim].values for dim in dims)))
    texts = [
        find_words(measure, dict(zip(dims, map(str, values), strict=True)), data.attrs)
        for values in labels
    ]
    missing = [values for values, text in zip(labels, texts, strict=True) if text is None]
    assert missing == [], f"give these labels of {measure} words in headscope/labels.py"
    assert len(set(texts)) == len(labels)


@pytest.mark.parametrize(
    ("measure", "labels", "text"),
    [
        ("position", {"offset": "previous"}, "attention to the previous token"),
        ("position", {"offset": "current"}, "attention to the token itself"),
        ("special", {"token": "cls", "row": "all"}, "attention to [CLS]"),
        ("special", {"token": "cls", "row": "sep"}, "attention to [CLS] from [SEP]"),
        (
            "special",
            {"token": "punctuation", "row": "other"},
            "attention to full stops and commas from tokens other than [SEP]",
        ),
        ("entropy", {"row": "all"}, "entropy of attention from all tokens"),
        ("entropy", {"row": "cls"}, "entropy of attention from [CLS]"),
        ("entropy", {"row": "uniform"}, "entropy of uniform attention"),
        ("peak", {"peak": "position"}, "place of the strongest key, 0 (first) to 1 (last)"),
        ("peak", {"peak": "weight"}, "attention to the strongest key"),
        ("alignment", {"word": "next word"}, "attention to words equal to the next word"),
        ("profile", {"offset": "-1"}, "attention by offset: the token 1 before"),
        ("profile", {"offset": "0"}, "attention by offset: the token itself"),
        (
            "arc",
            {"relation": "det", "direction": "dependent to head"},
            "attention along det: dependent → head word",
        ),
        ("arc_offset", {"relation": "det", "offset": "2"}, "arcs of det: head word 2 after"),
        (
            "dependency",
            {"direction": "dependent to head", "relation": "det", "words": "every"},
            "det: dependent → head word",
        ),
        (
            "dependency",
            {"direction": "head to dependent", "relation": "all", "words": "offset right"},
            "all relations: head word → dependent, where the best fixed offset is right",
        ),
        (
            "coreference",
            {"candidates": "words", "kind": "pronoun", "mentions": "every"},
            "antecedents of pronouns among all words",
        ),
        (
            "coreference",
            {"candidates": "mentions", "kind": "all", "mentions": "nearest right"},
            "antecedents of all mentions among earlier mentions, "
            "where the nearest mention is right",
        ),
        (
            "frame",
            {"direction": "target to element"},
            "largest attention from a frame's target to its elements",
        ),
        ("feature", {"feature": "object"}, "largest attention to an object of the main predicate"),
        ("feature", {"feature": "sep"}, "largest attention to [SEP]"),
        ("link", {"link": "verb to subject"}, "largest attention from a verb to its subject"),
        ("link", {"link": "cls to noun"}, "largest attention from [CLS] to a noun"),
        ("link", {"link": "cls to cls"}, "largest attention from [CLS] to itself"),
        ("distance", PAIR, "distance between heads 1-1 and 2-3"),
        ("distance", {}, "distance between heads"),
        ("gradient", {"token": "sep"}, "gradient importance of attention to [SEP]"),
        ("gradient", {"token": "other"}, "gradient importance of attention to other tokens"),
        ("pattern", {"pattern": "vertical+diagonal"}, "vertical and diagonal pattern"),
        ("feature-change", {"feature": "noun"}, "change in largest attention to a noun"),
        ("probe", {"task": "tree_depth"}, "probe for tree depth"),
        ("probe_layer", {"task": "rte"}, "probe for rte on the whole layer"),
        (
            "probe_top",
            {"task": "rte", "way": "greedy", "n": "12"},
            "probe for rte on 12 greedily chosen heads",
        ),
        ("probe_top", {"task": "rte", "way": "top", "n": "2"}, "probe for rte on the top 2 heads"),
        ("probe_splits", {"task": "rte"}, "probe for rte, mean over random splits"),
        (
            "probe_splits_top",
            {"task": "rte", "way": "best"},
            "probe for rte on the best layer, mean over random splits",
        ),
        ("probe_embeddings", {"task": "rte"}, "probe for rte on the embeddings alone"),
        ("ablation", {"run": "none"}, "loss with no head off"),
        ("ablation", {"run": "3-9"}, "loss with head 3-9 off"),
        ("ablation", {"run": "layer 2"}, "loss with layer 2 off"),
        ("ablation", {"run": "1-1,2-3"}, "loss with heads 1-1,2-3 off"),
        ("importance", {}, "gradient importance of the head's output"),
        ("pruning", {"run": "none"}, "loss with no head off"),
        ("pruning", {"run": "random, 36 left"}, "loss with 36 heads left, removed at random"),
    ],
)
def test_labels_are_said_in_plain_words(measure, labels, text):
    assert label_text(measure, labels) == text


def test_scores_with_heads_off_name_their_metric():
    metric = {"metric": "f1"}
    assert label_text("head_off", {}, metric) == "f1 with the head off"
    assert label_text("layer_off", {}, metric) == "f1 with the layer off"
    assert label_text("set_off", {"set": "1-1,2-3"}, metric) == "f1 with heads 1-1,2-3 off"


def test_a_role_is_called_by_its_name_and_title():
    titles = {"local": "Within two tokens", "nsubj": "nsubj: its head word", "mine": "mine"}
    measure = Role()
    measure.sieves = [Sieve(name, title, lambda item: None) for name, title in titles.items()]
    about = {"words": json.dumps({"says": Role.says, "labels": measure.words()})}
    assert label_text("role", {"role": "local"}, about) == "local: Within two tokens"
    assert label_text("role", {"role": "nsubj"}, about) == "nsubj: its head word"
    assert label_text("role", {"role": "mine"}, about) == "mine"
    assert label_text("role", {"role": "other"}) == "other"


def test_results_say_the_words_of_a_measure_that_no_registry_knows():
    about = Change().attributes()
    assert label_text("change", {}, about) == "cosine between the maps of the two models"


def test_a_task_is_called_by_its_title_where_the_results_know_it():
    about = {"titles": json.dumps({"tree_depth": "Depth"})}
    assert label_text("probe", {"task": "tree_depth"}, about) == "probe for Depth"


def test_special_tokens_may_be_called_as_the_model_calls_them():
    own = {"cls": "<s>", "sep": "</s>"}
    message = "attention to <s> from </s>"
    assert label_text("special", {"token": "cls", "row": "sep"}, tokens=own) == message
    assert label_text("entropy", {"row": "cls"}, tokens=own) == "entropy of attention from <s>"
    message = "largest attention from <s> to [SEP]"
    assert label_text("link", {"link": "cls to sep"}, tokens={"cls": "<s>"}) == message


def test_a_foreign_measure_shows_its_labels_or_the_words_it_gives_them():
    labels = {"kind": "long", "side": "left"}
    assert label_text("mine", labels) == "mine: long, left"
    assert label_text("mine", labels, {"title": "My measure"}) == "My measure: long, left"
    titles = {"titles": json.dumps({"long": "long words", "left": "to the left"})}
    assert label_text("mine", labels, titles) == "long words, to the left"
    assert label_text("mine", {}) == "mine"
    assert label_text("mine-change", labels) == "mine-change: long, left"


def test_an_unknown_label_of_a_known_measure_is_shown_as_it_is():
    assert label_text("position", {"offset": "sideways"}) == "position: sideways"
    assert find_words("position", {"offset": "sideways"}) is None


@pytest.mark.parametrize(
    ("counts", "split", "text"),
    [
        ({"tokens": 10, "tokens_lost": 0, "truncated": 0, "too_long": 0}, True, ""),
        ({}, True, ""),  # results that were compared
        (
            {"tokens": 4012, "tokens_lost": 3886, "truncated": 1, "too_long": 0},
            True,
            "Used 126 of 4,012 tokens: 1 example of more than 128 tokens was cut; long='split' "
            "(--long split on the command line) reads all.",
        ),
        (
            {"tokens": 4012, "tokens_lost": 3886, "truncated": 0, "too_long": 20},
            False,
            "Used 126 of 4,012 tokens: 20 examples of more than 128 tokens were dropped; a larger "
            "max_length (--max-length on the command line) reads more.",
        ),
        (
            {"texts": 50, "truncated": 3},
            False,
            "3 examples of more than 128 tokens were cut; a larger max_length (--max-length on "
            "the command line) reads more.",
        ),
    ],
)
def test_text_that_was_thrown_away_is_said_with_what_to_do(counts, split, text):
    about = {"counts": counts, "settings": {"max_length": 128}}
    assert lost_tokens(about, split=split) == text
