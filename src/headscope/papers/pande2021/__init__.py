"""Pande et al. 2021, "The heads hypothesis": options of the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.corpus import Corpus
from headscope.errors import UserError
from headscope.options import RARE, Option, Options
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.options import PaperOptions, Sampled
from headscope.papers.pande2021.corpora import Given, open_corpora
from headscope.runs.survey import Roles

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.stats.tables.roles import Tau

    CorporaLike = Sequence[Given] | Mapping[str, Given]
    TauLike = float | str | Sequence[str] | Mapping[str, float | str]
    TunedLike = Sequence[str | Path | Model]
else:  # what the command line takes, and what options keep
    CorporaLike = TauLike = Sequence[Any] | Mapping[str, Any]
    TunedLike = Sequence[Any]


class RoleTests(Options):
    """How heads are tested for roles.

    Parameters
    ----------
    tau
        The threshold: a number over 0, auto (from the same scores: exploratory), or ROLE=NUMBER for
        one role; in Python also a mapping of roles to these, with "" for all others. Default: 3, as
        in the paper.
    test
        z, as in the paper, t, bootstrap or permutation (sign flips).
    correction
        none, as in the paper; holm or bh, over all heads and roles; maxt for tests by resampling.
    alpha
        The level of the test.
    resamples
        Resamples of the bootstrap or permutation test. Default: as many as the correction needs,
        5000 or more.
    clusters
        Whether sequences of one document count as one cluster, where the corpus says so.
    """

    prefix: ClassVar[str] = "test"
    panel: ClassVar[str] = "The test"

    tau: Annotated[TauLike, Option(metavar="N|auto|ROLE=N")] = ()
    test: Literal["z", "t", "bootstrap", "permutation"] = "z"
    correction: Literal["none", "holm", "bh", "maxt"] = "none"
    alpha: Annotated[float, Option(least=0, most=1)] = 0.05
    resamples: Annotated[int | None, Option(least=1, name="number of resamples")] = None
    clusters: Annotated[bool, Option(off="--independent")] = True

    @cached_property
    def thresholds(self) -> Tau:
        """The thresholds, by role."""
        if isinstance(self.tau, Mapping):
            return self.tau
        from headscope.stats.tables.roles import parse_tau

        return parse_tau([str(one) for one in self.tau])  # type: ignore[union-attr]


class Pande2021Options(PaperOptions, RoleTests, Roles, Sampled):
    """Options of :class:`headscope.papers.Pande2021`.

    Parameters
    ----------
    corpora
        A corpus: a file, or demo for the built-in one. In Python also corpora, and a mapping that
        gives them names. At most 1000 sequences of each are used.
    tuned
        Fine-tuned models: one for all corpora, or one for each. With them, roles are those of the
        fine-tuned model, and the part shift compares it with the model.
    least
        The smallest shift by fine-tuning that is of interest, in times uniform attention.
    parser
        The spaCy pipeline for text without trees. Default: the small English one.
    """

    paper: ClassVar[Paper] = PAPERS["pande2021"]
    prefix: ClassVar[str] = "read"

    corpora: Annotated[
        CorporaLike, Option(flag="--corpus", metavar="FILE", completes="corpora")
    ] = ("demo",)
    tuned: Annotated[TunedLike, Option(metavar="MODEL")] = ()
    least: float = 0.1
    parser: Annotated[str, RARE] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.thresholds
        if len(self.tuned) not in (0, 1, len(self.opened)):
            raise UserError(
                "the number of fine-tuned models must be 1, or that of the corpora "
                f"({len(self.opened)}), got {len(self.tuned)} instead",
                hint="give one fine-tuned model for all corpora, or one for each",
            )

    @property
    def given(self) -> frozenset[str]:
        """Whether there are fine-tuned models."""
        return frozenset({"tuned"} if self.tuned else ())

    @cached_property
    def opened(self) -> dict[str, Corpus]:
        """The corpora by name."""
        from headscope.papers.pande2021 import facts

        return open_corpora(
            self.corpora,
            parser=self.parser,
            most=self.at_most(facts.SEQUENCES),
            seed=self.seed if self.sample == "random" else None,
        )
