"""Options of a pass and shards are checked once, before any work, and refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.corpus import from_texts
from headscope.errors import UserError
from headscope.options import Pass
from headscope.results import merge
from headscope.runs.survey import SurveyOptions, survey
from planted import planted_bert


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        ({"batch_size": "many"}, "the batch size must be a whole number, got 'many' instead"),
        ({"batch_size": 1.5}, "the batch size must be a whole number, got 1.5 instead"),
        ({"batch_size": True}, "the batch size must be a whole number, got True instead"),
        ({"batch_size": None}, "the batch size is missing: None is not allowed"),
        ({"max_length": 3}, "the maximum length must be 4 or more, got 3 instead"),
        ({"limit": 0}, "the limit must be 1 or more, got 0 instead"),
        (
            {"long": "cut"},
            "the treatment of long examples must be one of drop, split, truncate; got 'cut' "
            "instead.",
        ),
        ({"seed": "x"}, "the seed must be a whole number, got 'x' instead"),
        ({"stack": 3}, "the stack must be text, got 3 instead"),
        ({"token_types": 1}, "token_types must be True or False, got 1 instead"),
    ],
    ids=lambda value: (
        None if isinstance(value, str) else "-".join(f"{key}={one}" for key, one in value.items())
    ),
)
def test_a_setting_that_cannot_be_says_what_is_allowed_and_what_was_given(given, message):
    with pytest.raises(UserError) as caught:
        Pass(**given)
    assert caught.value.message == message


def test_a_misspelt_setting_gets_the_nearest_name():
    with pytest.raises(TypeError) as caught:
        survey("demo", "demo", batchsize=3)  # type: ignore[call-arg]
    assert str(caught.value) == (
        "survey() got an unexpected keyword argument 'batchsize'. Did you mean 'batch_size'?"
    )


def test_a_limit_of_none_is_the_default():
    assert Pass(limit=None, seed=3) == Pass(seed=3)


def test_shards_are_numbered_from_1():
    assert SurveyOptions(shard="1/1").part == (1, 1)
    for shard in ("1000/1000", (1000, 1000)):
        assert SurveyOptions(shard=shard).part == (1000, 1000)


@pytest.mark.parametrize(
    "shard",
    [
        *("", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1.0/2", " 1/2", "1/99999999999"),
        *((0, 2), (3, 2), (-1, 2), (1, "x"), 5, 0.5),
    ],
    ids=repr,
)
def test_a_survey_of_a_shard_that_is_none_is_refused_rather_than_empty(shard):
    with pytest.raises(UserError) as caught:
        survey(planted_bert(), from_texts(["a dog"]), shard=shard)
    assert caught.value.message == f"the shard must be i/n with 1 ≤ i ≤ n, got {shard!r} instead"
    assert caught.value.hint == "e.g. shard='1/4'"


def test_more_shards_than_units_merge_to_the_whole():
    texts = ["a dog", "the cat sat.", "it saw"] * 6
    model, corpus = planted_bert(), from_texts(texts)
    options: dict[str, Any] = {"batch_size": 1, "max_length": 24, "measures": ["position"]}
    parts = [survey(model, corpus, shard=(number, 20), **options) for number in range(1, 21)]
    assert [part.provenance["counts"]["seen"] for part in parts] == [8, 8, 2] + [0] * 17
    assert merge(parts)["position"].identical(survey(model, corpus, **options)["position"])


def test_a_length_beyond_the_model_is_refused_with_the_longest_there_is():
    with pytest.raises(
        UserError,
        match=r"the maximum length must be at most 24 for planted-bert, got 128 instead\n"
        r"next: give max_length=24",
    ):
        survey(planted_bert(), from_texts(["a dog"]))


def test_a_stack_that_the_model_does_not_have_is_refused():
    message = "the stack of planted-bert must be one of encoder; got 'decoder' instead"
    with pytest.raises(UserError, match=message):
        survey(planted_bert(), from_texts(["a dog"]), stack="decoder", max_length=24)


def test_a_sample_is_drawn_at_random_with_the_seed_and_is_part_of_what_the_run_is():
    texts = from_texts(["a dog" + " sat" * (number % 7) for number in range(30)])
    how: dict[str, Any] = {"seed": 3, "measures": "entropy", "examples": 0, "max_length": 16}
    drawn = survey(planted_bert(), texts, sample=5, **how)
    by_hand = survey(planted_bert(), texts.sample(5, seed=3), **how)
    assert drawn.provenance["counts"]["seen"] == 5
    assert drawn.provenance["settings"]["sample"] == 5
    assert (drawn["entropy"]["mean"] == by_hand["entropy"]["mean"]).all()
    first = survey(planted_bert(), texts, limit=5, **how)
    assert (drawn["entropy"]["mean"] != first["entropy"]["mean"]).any()
