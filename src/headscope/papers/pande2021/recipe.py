"""The recipe of Pande et al. 2021, "The heads hypothesis"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.measures import Role
from headscope.models import Model, ModelLike, as_model
from headscope.options import Loading
from headscope.page import Section, Table, role_sections, shift_section
from headscope.page.document import Row
from headscope.page.roles import usual_tau
from headscope.papers.claims import Finding
from headscope.papers.pande2021 import facts
from headscope.papers.pande2021.corpora import Given, open_corpora
from headscope.papers.pande2021.findings import findings
from headscope.papers.pande2021.pooled import pooled_plots, pooled_text
from headscope.papers.pande2021.sieves import sieve_plot
from headscope.papers.pande2021.tables import (
    count_rows,
    length_table,
    share_rows,
    summary_row,
    summary_rows,
)
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import with_suffix
from headscope.results import Atlas
from headscope.stats import cautions, pooled_tau, role_shift, role_tests
from headscope.stats.roles import ROLE_CORRECTIONS, TESTS
from headscope.stats.shift import LEAST
from headscope.stats.tau import Tau, is_exploratory

SAMPLES = ("random", "first")


@dataclass
class Pande2021(Recipe):
    """The heads hypothesis: which heads have which role, tested, before and after fine-tuning.

    Options that all recipes share are described in :class:`headscope.papers.recipe.Recipe`. At most
    1000 sequences of each corpus are used.

    Parameters
    ----------
    model
        A hub id, a model folder, ``"demo"``, a :class:`headscope.Model`, or a network with its
        tokenizer.
    corpora
        Files, ``"demo"`` or corpora; a mapping gives them names.
    tuned
        Fine-tuned models by name, or as :class:`headscope.Model`: one for all corpora, or one for
        each. With them, roles are those of the
        fine-tuned model, and the part ``shift`` compares it with ``model``.
    tau
        The threshold: a number over 0, ``"auto"`` (from the same scores: exploratory), or a mapping
        from roles to either, with ``""`` for all other roles.
    test
        z, as in the paper, t, bootstrap or permutation.
    correction
        none, as in the paper; holm or bh, over all heads and roles; maxt for tests by resampling.
    alpha
        The level of the test.
    resamples
        Of tests by resampling; by default as many as the correction needs.
    clusters
        Whether sequences of one document count as one cluster, where the corpus says so.
    least
        The smallest shift by fine-tuning that is of interest, in times uniform attention.
    roles
        Only these roles, or dependency labels. Default: all that the corpus allows.
    direction
        Which way dependency roles go: auto, to head, from head or both (see
        :class:`headscope.measures.Role`).
    parser
        The spaCy pipeline for text without trees. Default: the small English one.
    sample
        Which sequences are used of a corpus that has more than 1000: ``"random"`` draws them with
        the seed, ``"first"`` takes the first ones.

    Examples
    --------
    >>> recipe = Pande2021("demo", corpora=["demo"], parts=["overlap"], limit=40)
    >>> recipe.folder
    PosixPath('pande2021-demo')

    References
    ----------
    Madhura Pande, Aakriti Budhraja, Preksha Nema, Pratyush Kumar and Mitesh M. Khapra. 2021. The
    heads hypothesis: A unifying statistical approach towards understanding multi-headed attention
    in BERT. AAAI.
    """

    model: ModelLike = "demo"
    _: KW_ONLY
    corpora: Sequence[Given] | Mapping[str, Given] = ("demo",)
    tuned: Sequence[str | Path | Model] = ()
    tau: float | str | Mapping[str, float | str] = float(facts.TAU)
    test: str = "z"
    correction: str = "none"
    alpha: float = 0.05
    resamples: int | None = None
    clusters: bool = True
    least: float = LEAST
    roles: Sequence[str] = ()
    direction: str = "auto"
    parser: str = ""
    sample: Literal["random", "first"] = "random"

    name: ClassVar[str] = "pande2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test not in TESTS:
            raise unknown("test", self.test, TESTS)
        if self.correction not in ROLE_CORRECTIONS:
            raise unknown("correction", self.correction, ROLE_CORRECTIONS)
        if self.sample not in SAMPLES:
            raise unknown("sample", self.sample, SAMPLES)
        self._corpora = open_corpora(
            self.corpora,
            parser=self.parser,
            most=self.at_most(facts.SEQUENCES),
            seed=self.seed if self.sample == "random" else None,
        )
        if len(self.tuned) not in (0, 1, len(self._corpora)):
            raise UserError(
                "the number of fine-tuned models must be 1, or that of the corpora "
                f"({len(self._corpora)}), got {len(self.tuned)} instead",
                hint="give one fine-tuned model for all corpora, or one for each",
            )
        self._results: dict[str, Atlas] = {}
        self._tests: dict[str, xr.Dataset] = {}
        self._shifts: dict[str, pd.DataFrame] = {}
        self._role_sections: dict[str, dict[str, Section]] = {}

    @property
    def given(self) -> frozenset[str]:
        """Whether there are fine-tuned models."""
        return frozenset({"tuned"} if self.tuned else ())

    def steps(self, part: str) -> Sequence[Step]:
        """Summary, sieves and shift are one section; everything else has one per corpus."""
        whole = {"summary": self._summary, "sieves": self._sieves, "shift": self._shift}
        if part in whole:
            return [whole[part]]
        steps: list[Step] = [partial(self._roles, part, name) for name in self._corpora]
        return [self._pooled, *steps] if part == "roles" and len(steps) > 1 else steps

    def facts(self) -> list[tuple[str, str]]:
        """The number of corpora, and the thresholds."""
        taus = {float(tau) for tests in self._tests.values() for tau in tests["tau"].values}
        return [
            (str(len(self._corpora)), "corpus" if len(self._corpora) == 1 else "corpora"),
            (", ".join(f"{tau:g}" for tau in sorted(taus)), "threshold τ"),
        ]

    def remarks(self) -> list[str]:
        """What to know beside the tests."""
        said: dict[str, list[str]] = {}
        for name, tests in self._tests.items():
            for caution in cautions(self._results[name], tests):
                said.setdefault(caution, []).append(name)
        return [
            f"{', '.join(names)}: {caution}" if len(self._corpora) > 1 else caution
            for caution, names in said.items()
        ]

    @property
    def _how(self) -> dict[str, Any]:
        """How heads are tested."""
        return {
            "test": self.test,
            "correction": self.correction,
            "alpha": self.alpha,
            "resamples": self.resamples,
            "clusters": self.clusters,
            "seed": self.seed,
        }

    def _scores(self, file: str, model: Model, name: str) -> Atlas:
        return self.survey(
            file,
            model,
            self._corpora[name],
            [Role(roles=self.roles, direction=self.direction)],  # type: ignore[arg-type]
            limit=self.at_most(facts.SEQUENCES),
        )

    def _before(self, name: str) -> Atlas:
        return self._scores(name, self.load(self.models[0]), name)

    def _after(self, name: str) -> Atlas:
        """The scores that the roles are taken from: the fine-tuned model's, if there is one."""
        if name not in self._results:
            self._results[name] = self._tuned_scores(name) if self.tuned else self._before(name)
        return self._results[name]

    def _tuned_scores(self, name: str) -> Atlas:
        place = list(self._corpora).index(name) % len(self.tuned)
        model = as_model(self.tuned[place], Loading(device=self.device))
        return self._scores(f"{name}-tuned", model, name)

    @property
    def _tau(self) -> Tau:
        """The thresholds; those from the data are of all corpora together, as in the paper."""
        if not is_exploratory(self.tau):
            return self.tau
        return pooled_tau([self._after(name) for name in self._corpora], self.tau)

    def _tested(self, name: str) -> xr.Dataset:
        if name not in self._tests:
            tests = role_tests(self._after(name), tau=self._tau, **self._how)
            exploratory = int(is_exploratory(self.tau))  # pooled thresholds are numbers
            self._tests[name] = tests.assign_attrs(exploratory=exploratory)
        return self._tests[name]

    def claims(self) -> Sequence[Finding]:
        """All claims of the paper, if its four roles were asked for."""
        tests = {name: self._tests[name] for name in self._corpora if name in self._tests}
        if not tests or self.roles:
            return ()
        return findings(self._results, tests, self._shifts)

    def _summary(self) -> Section:
        """Our corpora, their mean, and the paper's means over its four tasks."""
        rows = [summary_row(name, self._after(name), self._tested(name)) for name in self._corpora]
        low, high = facts.SYNTACTIC_LOCAL_RANGE
        note = (
            "The mean score is in times uniform attention, over the four roles. Shares are of all "
            "heads, that of syntactic heads of these only. The sections below say how heads were "
            "tested. In the paper, the share of syntactic heads that are local too ranges from "
            f"{100 * low:.1f} % to {100 * high:.1f} %."
        )
        table = Table(summary_rows(rows), title="Shares of heads", note=note, id="summary-table")
        tables = [table]
        if len(self._corpora) > 1:
            tables.append(self._lengths())
        return self.section("summary", tables=tables)

    def _lengths(self) -> Table:
        tau = usual_tau(self._tested(next(iter(self._corpora))))
        return length_table({name: self._after(name) for name in self._corpora}, tau)

    def _sieves(self) -> Section:
        first = self._after(next(iter(self._corpora)))
        direction = str(first["role"].attrs["direction"])
        model = self.load(self.models[0])
        plot = sieve_plot(model, list(self._corpora.values()), direction)
        text = (
            "The tokens that a head with each role should attend to, from one token. A head's "
            "score is the mean attention to them, divided by the mean attention to all tokens."
        )
        return self.section("sieves", text, plots=[plot])

    def _pooled(self) -> Section:
        """The paper's Figure 3: the scores and p-values of all corpora together."""
        results = [self._after(name) for name in self._corpora]
        tests = [self._tested(name) for name in self._corpora]
        plots = pooled_plots(results, tests)
        title = "All corpora: scores and p-values"
        text = pooled_text(results, tests)
        return self.section("roles", text, plots=plots, title=title, suffix="all")

    def _shift(self) -> Section:
        """What fine-tuning does, all corpora side by side."""
        counts: list[Row] = []
        for name in self._corpora:
            before, after = self._before(name), self._after(name)
            self._shifts[name] = role_shift(
                before, after, alpha=self.alpha, least=self.least, clusters=self.clusters
            ).assign(corpus=name)
            old = role_tests(before, tau=self._tau, **self._how)
            counts += [{"corpus": name} | row for row in count_rows(old, self._tested(name))]
        shift = pd.concat(self._shifts.values(), ignore_index=True)
        first = next(iter(self._shifts.values()))
        shift.attrs |= {key: first.attrs[key] for key in ("least", "alpha", "correction")}
        section = shift_section(shift)
        table = Table(counts, title="Heads with each role", id="shift-counts")
        return replace(section, tables=[*section.tables, table])

    def _roles(self, part: str, name: str) -> Section:
        if name not in self._role_sections:
            results, tests = self._after(name), self._tested(name)
            made = role_sections(results, tests, shares=share_rows(name, results, tests))
            self._role_sections[name] = {section.id: section for section in made}
        section = self._role_sections[name][part]
        title = f"{name}: {section.title}" if len(self._corpora) > 1 else section.title
        return with_suffix(section, name, title=title)
