"""Several runs whose results become one file: a survey with its null models, or checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headscope.files import slug
from headscope.identity import identity_of
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.runs.run import AtlasJob, Run

PARTS = "parts"
"""Where the provenance of joined results keeps the identity of each part."""


@dataclass(frozen=True)
class Part:
    """One of the runs.

    Parameters
    ----------
    name
        Names its file; no two parts share a name.
    make
        Makes the run, given where its results are kept meanwhile. The model that it needs is
        loaded on entering the context, and closed on leaving it.
    """

    name: str
    make: Callable[[Path | None], AbstractContextManager[Run]]


class JoinedRuns(AtlasJob):
    """Runs that are done one after the other and joined.

    Each of them resumes as it would alone. Until all are done, their results are kept in the folder
    ``OUTPUT.parts``.

    Parameters
    ----------
    parts
        The runs.
    join
        Makes one of their results, in the order of the parts.
    main
        The place of the part whose results the joined ones are, with the others beside them.
    output
        Where the joined results are saved; None only returns them.
    overwrite
        See :class:`~headscope.runs.run.Job`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        join: Callable[[Sequence[Atlas]], Atlas],
        *,
        main: int = 0,
        output: str | Path | None = None,
        overwrite: bool = False,
    ) -> None:
        super().__init__("joining", output=output, overwrite=overwrite)
        self.parts, self.join, self.main = list(parts), join, main
        self._abouts: list[dict[str, Any]] = []
        self.folder = None
        if self.output is not None:
            self.folder = self.output.with_name(f"{self.output.name}.parts")

    @cached_property
    def about(self) -> dict[str, Any]:
        """The main part's, and the identities of all; models are loaded that were not yet."""
        for part in self.parts[len(self._abouts) :]:
            with part.make(None) as run:
                self._abouts.append(run.about)
        names = (part.name for part in self.parts)
        identities = dict(zip(names, map(identity_of, self._abouts), strict=True))
        return {**self._abouts[self.main], PARTS: identities}

    def work(self, reporter: Reporter) -> Atlas:
        """Do all runs that are left, and join their results."""
        found = []
        for number, part in enumerate(self.parts, 1):
            with part.make(self._place(part, number)) as run:
                if len(self._abouts) < number:
                    self._abouts.append(run.about)
                run.part, run.overwrite = True, self.overwrite
                found.append(run.execute(reporter))
        joined = self.join(found)
        return joined.described(joined.provenance | self.provenance())

    def save(self, result: Atlas) -> None:
        """Write the joined results, then remove those of the parts."""
        super().save(result)
        if self.folder is not None:  # only now: the results are on the disk
            shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, part: Part, number: int) -> Path | None:
        """Where the results of a part are kept."""
        return None if self.folder is None else self.folder / f"{number:03d}-{slug(part.name)}.nc"
