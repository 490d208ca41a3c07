"""The table of sinks: what was planted is found, and what was chosen is scored apart."""

import numpy as np
import pytest

from headscope.corpus import from_texts
from headscope.errors import ResultsError
from headscope.measures import Sink, SinkPlaces
from headscope.runs.survey import survey
from headscope.stats import model_summary, sink_table
from planted import HEADS, planted_gpt2

TEXTS = ["dog the old cat saw it a", "dog a mat sat on the cat", "the dog sat on a mat it"]
LENGTH = 8  # with the start token


def test_the_sink_heads_of_a_planted_model_are_found_where_they_look():
    measures = [Sink(LENGTH), SinkPlaces(LENGTH)]
    model = planted_gpt2()
    results = survey(model, from_texts([*TEXTS, "too short"]), measures=measures, max_length=24)
    table = sink_table(results).set_index("head")
    assert (table["n"] == len(TEXTS)).all()
    start = table.loc["{}-{}".format(*HEADS["cls"])]
    assert start["first"] == pytest.approx(1.0, abs=1e-5)
    assert start[["rate", "other", "other_rate"]].tolist() == [1.0, "", 0.0]
    # The head on "dog" sees only the start token before; then it is uniform: 1.
    dog = table.loc["{}-{}".format(*HEADS["word"])]
    assert dog["other"] == "2"
    assert dog["other_rate"] == pytest.approx(2 / 3)  # "dog" is the second token of two texts
    assert dog["rate"] == 0.0
    # One row of attention to the start token in eight, or two and a half.
    assert dog["first"] == pytest.approx(np.mean([1 / 8, 1 / 8, (1 + 1 / 2) / 8]), abs=1e-5)
    assert np.isnan(table["learned"]).all()


def test_the_strongest_other_token_is_scored_on_texts_it_was_not_chosen_on():
    words = ["old", "mat", "cat", "it", "saw"]
    texts = []
    for number in range(24):  # "dog" at one of two places, at random
        place = int(np.random.default_rng(number).integers(2))
        texts.append(" ".join([*words[:place], "dog", *words, "a", "on"][:7]))
    measures = [Sink(LENGTH), SinkPlaces(LENGTH)]
    results = survey(planted_gpt2(), from_texts(texts), measures=measures, max_length=24)
    head = dict(zip(("layer", "head"), HEADS["word"], strict=True))
    places = results["sink_places"].sel(head)
    first, second = (
        places["sum"][half::2].sum("bucket").values / places["count"][half::2].sum("bucket").values
        for half in (0, 1)
    )
    counts = [int(places["count"][half::2].isel(token=0).sum()) for half in (0, 1)]
    apart = (second[first.argmax()] * counts[1] + first[second.argmax()] * counts[0]) / sum(counts)
    row = sink_table(results).set_index("head").loc["{}-{}".format(*HEADS["word"])]
    assert row["held_out"] == pytest.approx(apart)
    assert row["held_out"] <= row["other_rate"] == pytest.approx(float(places["mean"].max()))


def test_results_without_long_texts_say_so():
    results = survey(
        planted_gpt2(), from_texts(["a dog"]), measures=["sink", "sink_places"], max_length=24
    )
    with pytest.raises(ResultsError, match="no text was long enough"):
        sink_table(results)


def test_results_without_sinks_name_the_measure_that_is_missing():
    results = survey(planted_gpt2(), from_texts(["a dog"]), measures=["sink"], max_length=24)
    with pytest.raises(ResultsError, match="have no measure 'sink_places'"):
        sink_table(results)


def test_the_summary_of_a_causal_model_counts_the_heads_with_a_sink_on_the_first_token():
    texts = [f"{text} {last}" for text in TEXTS for last in ("dog", "cat", "mat")]
    results = survey(planted_gpt2(), from_texts(texts), measures=Sink(LENGTH), max_length=24)
    [line] = [line for line in model_summary(results) if "first token" in line.text]
    assert "{}-{}".format(*HEADS["cls"]) in line.heads
    assert "{}-{}".format(*HEADS["previous"]) not in line.heads
    low = results["sink"]["low"].sel(sink="rate")
    assert len(line.heads) == int((low > 0.5).sum())
    assert line.text.startswith(f"The first token is a sink for {len(line.heads)} of 10 heads")
