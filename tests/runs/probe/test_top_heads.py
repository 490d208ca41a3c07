"""The best heads of a probing run."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import headscope as hs
from headscope.errors import ResultsError, UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.tables.probing import top_heads

NAN = float("nan")


def results_of(validation: list[list[list[float]]]) -> Atlas:
    """Atlas with the given validation scores, (task, layer, head)."""
    shape = np.shape(validation)
    names = ["past_present", "tree_depth"][: shape[0]]
    group = xr.Dataset(
        {
            "validation": (("task", "layer", "head"), validation),
            "title": (("task",), ["Tense", "Depth"][: shape[0]]),
        },
        coords={
            "task": names,
            "layer": np.arange(1, shape[1] + 1),
            "head": np.arange(1, shape[2] + 1),
        },
    )
    return Atlas.build({"probe": group}, {})


TWO_TASKS = results_of([[[0.5, 0.9, 0.7], [0.7, 0.6, 0.1]], [[0.9, 0.1, 0.6], [0.7, 0.9, 0.2]]])


def test_heads_are_ordered_by_the_validation_score_of_the_task() -> None:
    assert top_heads(TWO_TASKS, 3, "past_present") == (Head(0, 1), Head(0, 2), Head(1, 0))
    assert top_heads(TWO_TASKS, 2, task="depth") == (Head(0, 0), Head(1, 1))


def test_without_a_task_the_mean_over_tasks_decides() -> None:
    # means: 0.7, 0.5, 0.65 in layer 1; 0.7, 0.75, 0.15 in layer 2
    best = (Head(1, 1), Head(0, 0), Head(1, 0), Head(0, 2), Head(0, 1), Head(1, 2))
    assert top_heads(TWO_TASKS, 6) == best


def test_heads_without_a_score_and_tasks_without_scores_are_skipped() -> None:
    results = results_of([[[0.5, NAN], [0.7, 0.6]], [[NAN, NAN], [NAN, NAN]]])
    expected = (Head(1, 0), Head(1, 1), Head(0, 0))
    assert top_heads(results, 3) == top_heads(results, 3, "Tense") == expected
    with pytest.raises(UserError, match=r"^the number of heads must be between 1 and 3, the numb"):
        top_heads(results, 4)


@pytest.mark.parametrize("n", [0, 7])
def test_a_number_of_heads_outside_the_range_is_an_error(n: int) -> None:
    with pytest.raises(UserError) as error:
        top_heads(TWO_TASKS, n)
    assert error.value.message == (
        "the number of heads must be between 1 and 6, the number of heads with a validation score; "
        f"got {n} instead"
    )


def test_a_task_that_was_not_probed_is_an_error() -> None:
    with pytest.raises(UserError, match=r"^the task must be one of past_present, tree_depth; got "):
        top_heads(TWO_TASKS, 1, "length")
    with pytest.raises(ResultsError, match=r"^these results have no probes of heads"):
        top_heads(Atlas.build({}, {}), 1)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    """A small probe of the embedded model on two of the built-in tasks."""
    return hs.probe(
        "demo",
        ["demo"],
        only=["Tense", "Length"],
        sample=30,
        max_length=48,
        counts=[12],
        greedy=False,
        control=False,
        l2=[1e-2],
        repeats=1,
        cache=tmp_path_factory.mktemp("vectors"),
    )


def test_the_heads_of_a_real_probe_make_sentence_vectors(probed: Atlas) -> None:
    best: tuple[Head, ...] = probed.top_heads(12)
    scores = probed["probe"]["validation"].mean("task").values
    order = sorted(np.ndindex(6, 12), key=lambda place: -scores[place])  # stable, as the model is
    assert [(head.layer, head.head) for head in best] == order[:12]
    sentences = ["A dog barked.", "The cats were asleep."]
    with hs.load("demo") as model:
        vectors: NDArray[np.float32] = model.encode(sentences, heads=best)
        alone = [model.encode(sentences, heads=str(head)) for head in best]
    assert vectors.shape == (2, 12 * 32)
    assert np.abs(vectors - np.concatenate(alone, axis=1)).max() < 1e-6


def test_vectors_are_read_where_the_probe_read_them(probed: Atlas) -> None:
    texts = ["A dog barked.", "The cats were asleep."]
    with hs.load("demo") as model:
        given = model.encode(texts, heads="2-3")
        same = model.encode(texts, heads="2-3", position=probed.provenance["position"])
    assert np.array_equal(given, same)
