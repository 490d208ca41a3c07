"""Settings and shards are checked once, before any work, and refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from headscope.runs.settings import check_shard, make_settings

from headscope.corpus import from_texts
from headscope.errors import UserError
from headscope.results import merge
from headscope.runs.survey import survey
from planted import planted_bert


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        ({"batch_size": "many"}, "the batch size must be a valid integer, got 'many' instead"),
        ({"batch_size": 1.5}, "the batch size must be a valid integer, got 1.5 instead"),
        ({"max_length": 3}, "the max length must be 4 or more, got 3 instead"),
        ({"limit": 0}, "the limit must be 1 or more, got 0 instead"),
        (
            {"long": "cut"},
            "the treatment of long examples must be 'truncate', 'split' or 'drop', got 'cut' "
            "instead",
        ),
        ({"seed": "x"}, "the seed must be a valid integer, got 'x' instead"),
        ({"stack": 3}, "the stack must be a valid string, got 3 instead"),
    ],
    ids=lambda value: (
        None if isinstance(value, str) else "-".join(f"{key}={one}" for key, one in value.items())
    ),
)
def test_a_setting_that_cannot_be_says_what_is_allowed_and_what_was_given(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        make_settings(**given)
    assert caught.value.message == message


def test_a_misspelt_setting_gets_the_nearest_name() -> None:
    with pytest.raises(UserError) as caught:
        make_settings(batchsize=3)
    assert caught.value.message.startswith("the setting must be one of batch_size, ")
    assert caught.value.message.endswith("; got 'batchsize' instead. Did you mean 'batch_size'?")


def test_a_setting_that_is_none_is_the_default() -> None:
    assert make_settings(limit=None, batch_size=None, seed=3) == make_settings(seed=3)


def test_shards_are_numbered_from_1() -> None:
    assert check_shard("1/1") == (1, 1)
    assert check_shard("1000/1000") == check_shard((1000, 1000)) == (1000, 1000)


@pytest.mark.parametrize(
    "text",
    ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1.0/2", " 1/2", "1/99999999999"],
)
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        check_shard(text)
    assert caught.value.message == f"the shard must be i/n with 1 ≤ i ≤ n, got {text!r} instead"
    assert caught.value.hint == "e.g. shard='1/4'"


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (-1, 2)])
def test_a_survey_of_a_shard_that_is_none_is_refused_rather_than_empty(
    shard: tuple[int, int],
) -> None:
    with pytest.raises(
        UserError, match=rf"the shard must be i/n .* got \({shard[0]}, {shard[1]}\) instead"
    ):
        survey(planted_bert(), from_texts(["a dog"]), shard=shard)


def test_more_shards_than_units_merge_to_the_whole() -> None:
    texts = ["a dog", "the cat sat.", "it saw"] * 6
    model, corpus = planted_bert(), from_texts(texts)
    options: dict[str, Any] = {"batch_size": 1, "max_length": 24, "measures": ["position"]}
    parts = [survey(model, corpus, shard=(number, 20), **options) for number in range(1, 21)]
    assert [part.provenance["counts"]["seen"] for part in parts] == [8, 8, 2] + [0] * 17
    assert merge(parts)["position"].identical(survey(model, corpus, **options)["position"])


def test_a_length_beyond_the_model_is_refused_with_the_longest_there_is() -> None:
    with pytest.raises(
        UserError,
        match=r"the maximum length must be at most 24 for planted-bert, got 128 instead\n"
        r"next: give max_length=24",
    ):
        survey(planted_bert(), from_texts(["a dog"]))


def test_a_stack_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(
        UserError, match="the stack of planted-bert must be one of encoder; got 'decoder' instead"
    ):
        survey(planted_bert(), from_texts(["a dog"]), stack="decoder", max_length=24)
