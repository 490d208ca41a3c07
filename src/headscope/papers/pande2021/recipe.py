"""The recipe of Pande et al. 2021, "The heads hypothesis"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import xarray as xr

from headscope.measures import Role, load_sieves
from headscope.models import Model, as_model
from headscope.options import Loading, takes
from headscope.page import Section, Table, role_sections, shift_section
from headscope.page.document import Row
from headscope.page.roles import usual_tau
from headscope.papers.claims import Finding
from headscope.papers.pande2021 import Pande2021Options, facts
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
from headscope.stats.tables.roles import Tau, is_exploratory


class Pande2021(Recipe):
    """The heads hypothesis: which heads have which role, tested, before and after fine-tuning.

    Its options are those of :class:`headscope.papers.Pande2021Options`. At most 1000 sequences of
    each corpus are used.

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

    options: Pande2021Options

    @takes(Pande2021Options)
    def __init__(self, options: Pande2021Options) -> None:
        super().__init__(options.model, options)
        for file in options.sieves:
            self.reporter.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
        self._corpora = options.opened
        self._results: dict[str, Atlas] = {}
        self._tests: dict[str, xr.Dataset] = {}
        self._shifts: dict[str, pd.DataFrame] = {}
        self._role_sections: dict[str, dict[str, Section]] = {}

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
            "test": self.options.test,
            "correction": self.options.correction,
            "alpha": self.options.alpha,
            "resamples": self.options.resamples,
            "clusters": self.options.clusters,
            "seed": self.options.seed,
        }

    def _scores(self, file: str, model: Model, name: str) -> Atlas:
        how = self.options
        measure = Role(
            roles=how.roles, direction=how.direction, subtypes=how.subtypes, keep=how.keep
        )
        return self.survey(
            file,
            model,
            self._corpora[name],
            [measure],
            limit=self.options.at_most(facts.SEQUENCES),
        )

    def _before(self, name: str) -> Atlas:
        return self._scores(name, self.load(self.models[0]), name)

    def _after(self, name: str) -> Atlas:
        """The scores that the roles are taken from: the fine-tuned model's, if there is one."""
        if name not in self._results:
            scores = self._tuned_scores if self.options.tuned else self._before
            self._results[name] = scores(name)
        return self._results[name]

    def _tuned_scores(self, name: str) -> Atlas:
        place = list(self._corpora).index(name) % len(self.options.tuned)
        loading = Loading(**self.options.for_other_models)
        model = as_model(self.options.tuned[place], loading)
        return self._scores(f"{name}-tuned", model, name)

    @property
    def _tau(self) -> Tau:
        """The thresholds; those from the data are of all corpora together, as in the paper."""
        if not is_exploratory(self.options.thresholds):
            return self.options.thresholds
        return pooled_tau([self._after(name) for name in self._corpora], self.options.thresholds)

    def _tested(self, name: str) -> xr.Dataset:
        if name not in self._tests:
            tests = role_tests(self._after(name), tau=self._tau, **self._how)
            # Pooled thresholds are numbers.
            exploratory = int(is_exploratory(self.options.thresholds))
            self._tests[name] = tests.assign_attrs(exploratory=exploratory)
        return self._tests[name]

    def claims(self) -> Sequence[Finding]:
        """All claims of the paper, if its four roles were asked for."""
        tests = {name: self._tests[name] for name in self._corpora if name in self._tests}
        if not tests or self.options.roles:
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
        how = self.options
        counts: list[Row] = []
        for name in self._corpora:
            before, after = self._before(name), self._after(name)
            shift = role_shift(
                before, after, alpha=how.alpha, least=how.least, clusters=how.clusters
            )
            self._shifts[name] = shift.assign(corpus=name)
            old = role_tests(before, tau=self._tau, **self._how)
            counts += [{"corpus": name} | row for row in count_rows(old, self._tested(name))]
        whole = pd.concat(self._shifts.values(), ignore_index=True)
        first = next(iter(self._shifts.values()))
        whole.attrs |= {key: first.attrs[key] for key in ("least", "alpha", "correction")}
        section = shift_section(whole)
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
