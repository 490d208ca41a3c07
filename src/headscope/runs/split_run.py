"""A run whose blocks can be done by workers elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headscope.progress import Update
from headscope.runs.engines import Engine, Task, Work, Workers
from headscope.runs.run import EVERY, Block, Run


class SplitRun(Run):
    """A run that hands its blocks to an engine, if it has one.

    Parameters
    ----------
    title, output, checkpoint, every, overwrite
        As in :class:`~headscope.runs.run.Run`.
    engine
        Where blocks are done; None for this process.
    """

    def __init__(
        self,
        title: str,
        *,
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
        engine: Engine | None = None,
        overwrite: bool = False,
    ) -> None:
        super().__init__(
            title, output=output, checkpoint=checkpoint, every=every, overwrite=overwrite
        )
        self.engine = engine

    @abstractmethod
    def ship(self) -> Work:
        """What workers need to do tasks."""

    @abstractmethod
    def task(self, block: Block) -> Task:
        """A block as a task for a worker."""

    @abstractmethod
    def absorb(self, index: int, result: Any) -> None:
        """Remember what a worker gave for a block."""

    def all_blocks(self, update: Update) -> None:
        """Do all blocks that are left, here or by workers."""
        if self.engine is None:
            super().all_blocks(update)
            return
        with self.engine.start(self.ship()) as workers:
            self.hand_out(workers, self.blocks(), update)

    def hand_out(self, workers: Workers, blocks: Iterable[Block], update: Update) -> None:
        """Hand blocks to workers, and remember what they give in whatever order it comes."""
        handed: list[int] = []

        def tasks() -> Iterator[Task]:
            for block in blocks:
                if block.index >= self.next_block:
                    handed.append(block.index)
                    if block.index not in self.ahead:
                        yield self.task(block)

        for index, result in workers.map(tasks()):
            self.whole = False
            self.absorb(index, result)
            self.ahead.add(index)
            while handed and handed[0] in self.ahead:
                self.next_block = handed.pop(0) + 1
                self.ahead.discard(self.next_block - 1)
            self.whole = True
            update(*self.progress())
            self.pause()
