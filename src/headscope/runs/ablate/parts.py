"""The outputs of batches, which may come in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from headscope.runs.ablate.outputs import BatchOutputs, join_outputs, split_outputs


class OutputParts:
    """The outputs of the batches done so far, by their numbers."""

    def __init__(self) -> None:
        self.found: dict[int, BatchOutputs] = {}
        self.examples = 0
        """How many examples were used or skipped."""

    def add(self, number: int, outputs: BatchOutputs) -> None:
        """Add a batch. One that is done again takes the place of the first."""
        if number not in self.found:
            self.examples += sum(outputs.size)
        self.found[number] = outputs

    def joined(self) -> BatchOutputs | None:
        """All batches as one, in the order of their numbers; None if there is none."""
        return join_outputs(map(self.found.__getitem__, sorted(self.found))) if self.found else None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold."""
        joined = self.joined()
        if joined is None:
            return {"names": None, "batches": []}, {}
        sizes = [[number, *self.found[number].size] for number in sorted(self.found)]
        return {"names": joined.names, "batches": sizes}, joined.arrays

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what a checkpoint held."""
        if state["names"] is None:
            return
        whole = BatchOutputs.restored(arrays, state["names"])
        parts = split_outputs(whole, [size for _, *size in state["batches"]])
        for (number, *_), part in zip(state["batches"], parts, strict=True):
            self.add(number, part)
