"""Everything that tests say of the heads of some results, each computed once for all heads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from headscope.heads import all_heads
from headscope.results import Atlas
from headscope.results.schema import of_heads
from headscope.stats.antecedents import antecedent_scores
from headscope.stats.beyond_position import beyond_position, has_positions
from headscope.stats.beyond_text import beyond_text
from headscope.stats.columns import Column, columns_of
from headscope.stats.excess import Excess
from headscope.stats.findings import (
    AntecedentFinding,
    DisablingFinding,
    ProbeFinding,
    RelationFinding,
    antecedent_finding,
    disabling_findings,
    probe_findings,
    relation_findings,
)
from headscope.stats.grid import grid_heads, labelled_head
from headscope.stats.main_roles import MainRoles, has_main_roles
from headscope.stats.relations import HELD_OUT, LEAST, best_by_tests, relation_tests
from headscope.stats.role_words import sink_words
from headscope.stats.roles import role_tests

if TYPE_CHECKING:
    from headscope.stats.description import Description


@dataclass(frozen=True)
class Analysis:
    """The tests of all heads; each is run when it is first asked for, and then kept.

    Parameters
    ----------
    results
        Any results. What they do not have is empty here.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=8)
    >>> analysis = Analysis(atlas)
    >>> analysis.roles.loc["1-3", "role"]
    'previous'
    """

    results: Atlas

    @cached_property
    def heads(self) -> list[str]:
        """The names of all heads, in the order of the model."""
        if self.main is not None:
            return [str(labelled_head(*place)) for place in self.main.whole.places]
        layers = [number - 1 for number in self.results.layers]
        named = [str(head) for head in all_heads(layers, self.results.shape[1])]
        return named or self._measured()

    def _measured(self) -> list[str]:
        """The heads of the first measure that has any, where the provenance does not say."""
        for name in self.results:
            if of_heads(self.results[name]):
                return [str(head) for head in grid_heads(self.results[name])]
        return []

    @cached_property
    def descriptions(self) -> dict[str, Description]:
        """What every head does, in words."""
        from headscope.stats.description import describe_all

        return describe_all(self)

    @cached_property
    def main(self) -> MainRoles | None:
        """Main roles; None where a measure is missing."""
        if not has_main_roles(self.results):
            return None
        return MainRoles.of(self.results, tests=self.relation_tests)

    @property
    def excess(self) -> Excess | None:
        """The excess of every head at every role."""
        return None if self.main is None else self.main.whole

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The table of main roles, by head; empty where a measure is missing."""
        if self.main is None:
            return pd.DataFrame(columns=["head", "role", "family"]).set_index("head")
        return self.main.table().set_index("head")

    @cached_property
    def resting(self) -> dict[str, dict[str, float]]:
        """By head: the share of attention at work, and on each kind of sink by its name."""
        if "activity" not in self.results:
            return {}
        data = self.results["activity"]["mean"].transpose("layer", "head", "where")
        names = sink_words(self.results)
        kinds = [str(kind) for kind in data["where"].values]
        heads = [f"{a}-{b}" for a in data["layer"].values for b in data["head"].values]
        rows = data.values.reshape(len(heads), -1)
        return {
            head: {names.get(kind, kind): float(x) for kind, x in zip(kinds, row, strict=True)}
            for head, row in zip(heads, rows, strict=True)
        }

    @cached_property
    def columns(self) -> list[Column]:
        """Every statistic of single heads."""
        return columns_of(self.results)

    @cached_property
    def sieves(self) -> xr.Dataset | None:
        """Tests of sieve bias (Pande et al. 2021), corrected by Holm's method."""
        if "role" not in self.results:
            return None
        return role_tests(self.results)

    @cached_property
    def positions(self) -> xr.Dataset | None:
        """What every head gives every relation, and each family of main roles, against what its
        positions alone would give (Holm over each of the two).
        """
        if not has_positions(self.results):
            return None
        both = [beyond_position(self.results, of) for of in ("families", "relations")]
        return xr.concat(both, "role", join="outer")

    @cached_property
    def relation_tests(self) -> xr.Dataset | None:
        """Tests of every head at every relation, corrected by Holm's method."""
        return relation_tests(self.results) if "dependency" in self.results else None

    @cached_property
    def relations(self) -> list[RelationFinding]:
        """Heads that find a relation better than the best fixed offset."""
        tests = self.relation_tests
        if tests is None:
            return []
        return relation_findings(self.results["dependency"], tests, self.best_heads)

    @cached_property
    def best_heads(self) -> pd.DataFrame | None:
        """The best head of each relation; None where no relation has enough words."""
        tests = self.relation_tests
        if tests is None or int(tests["n"].max()) < LEAST:
            return None
        if HELD_OUT not in self.results["dependency"]["words"].values:
            return None
        return best_by_tests(self.results, tests, least=LEAST)

    @cached_property
    def antecedents(self) -> AntecedentFinding | None:
        """The best head at antecedents."""
        scores = self.antecedent_scores
        if scores is None:
            return None
        return antecedent_finding(scores, self.results["coreference"])

    @cached_property
    def antecedent_scores(self) -> pd.DataFrame | None:
        """Baselines and the best head at antecedents, by kind of mention."""
        return antecedent_scores(self.results) if "coreference" in self.results else None

    @cached_property
    def beyond_text(self) -> dict[str, list[str]]:
        """What heads do on random tokens, by their weights, and in long texts, in sentences."""
        return beyond_text(self.results)

    @cached_property
    def disabling(self) -> list[DisablingFinding]:
        """What disabling each head does."""
        return disabling_findings(self.results)

    @cached_property
    def probes(self) -> list[ProbeFinding]:
        """The best head of every task."""
        return probe_findings(self.results)
