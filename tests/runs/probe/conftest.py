"""What the tests of probing share."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.runs.probe import task as probing_task
from tiny import tiny_model


@pytest.fixture
def given(monkeypatch):
    """The features given to classifiers, (unit, row, width) each."""
    seen: list[Any] = []
    classify = probing_task.classify

    def watch(x: Any, *others: Any) -> Any:
        seen.append(x.numpy().copy())
        return classify(x, *others)

    monkeypatch.setattr(probing_task, "classify", watch)
    return seen


@pytest.fixture
def bert():
    return tiny_model("bert")


@pytest.fixture
def forwards(bert, monkeypatch):
    """Number of texts in each forward pass of the model."""
    seen: list[int] = []
    forward = bert.forward

    def count(batch: Any, **options: Any) -> Any:
        seen.append(len(batch))
        return forward(batch, **options)

    monkeypatch.setattr(bert, "forward", count)
    return seen
