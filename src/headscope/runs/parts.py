"""Several runs whose results become one file: a survey with its null models, or checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headscope.errors import ResultsError
from headscope.files import check_writable, digest_of, slug
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.runs.run import Job, Run

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


class JoinedRuns(Job[Atlas]):
    """Runs that are done one after the other and joined.

    Each of them resumes as it would alone. Until all are done, their results are kept in the folder
    ``OUTPUT.parts``.

    Parameters
    ----------
    parts
        The runs.
    join
        Makes one of their results, in the order of the parts.
    output
        Where the joined results are saved; None only returns them.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        join: Callable[[Sequence[Atlas]], Atlas],
        *,
        output: str | Path | None = None,
    ) -> None:
        super().__init__("joining", output=output)
        self.parts, self.join = list(parts), join
        self.folder = None
        if self.output is not None:
            self.folder = self.output.with_name(f"{self.output.name}.parts")

    @cached_property
    def about(self) -> dict[str, Any]:
        """The identities of all parts; their models are loaded to find out."""
        return {PARTS: [self._identity(part) for part in self.parts]}

    def _identity(self, part: Part) -> str:
        with part.make(None) as run:
            return run.identity

    def check(self) -> None:
        """Check that the output can be written."""
        if self.output is not None:
            check_writable(self.output, error=ResultsError)

    def finished(self) -> Atlas | None:
        """The joined results of these very runs, if the output holds them already."""
        if self.output is None or not self.output.exists():
            return None
        try:
            found = Atlas.open(self.output)
        except ResultsError as error:
            self.say(f"{error.message}; it is made again")
            return None
        known = found.provenance.get(PARTS, [])
        same = len(known) == len(self.parts) and known == self.about[PARTS]
        return found if same else None

    def work(self, reporter: Reporter) -> Atlas:
        """Do all runs that are left, and join their results."""
        found, identities = [], []
        for number, part in enumerate(self.parts, 1):
            with part.make(self._place(part, number)) as run:
                identities.append(run.identity)
                found.append(run.execute(reporter))
        joined = self.join(found)
        about = {PARTS: identities, "identity": digest_of(*identities)}
        return joined.described(joined.provenance | about)

    def save(self, result: Atlas) -> None:
        """Write the joined results, then remove those of the parts."""
        if self.output is not None:
            result.save(self.output)
        if self.folder is not None:  # only now: the results are on the disk
            shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, part: Part, number: int) -> Path | None:
        """Where the results of a part are kept."""
        return None if self.folder is None else self.folder / f"{number:03d}-{slug(part.name)}.nc"
