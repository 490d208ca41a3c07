"""What the tests of probing share."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.runs.probe import task as probing_task


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The features given to classifiers, (unit, row, width) each."""
    seen: list[Any] = []
    classify = probing_task.classify

    def watch(x: Any, *others: Any) -> Any:
        seen.append(x.numpy().copy())
        return classify(x, *others)

    monkeypatch.setattr(probing_task, "classify", watch)
    return seen
