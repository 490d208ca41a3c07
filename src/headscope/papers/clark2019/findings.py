"""What a run of the recipe has found, and what follows for the paper's claims."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from headscope.papers.claims import Finding
from headscope.papers.clark2019.claims import (
    NO_OP,
    gradient_finding,
    layer_finding,
    surface_findings,
)
from headscope.papers.clark2019.language_claims import (
    RULES,
    STRINGS,
    antecedent_findings,
    relation_findings,
    special_finding,
)
from headscope.papers.clark2019.probe_claims import probe_findings
from headscope.papers.clark2019.tables import treebank_labels
from headscope.results import Atlas
from headscope.stats import antecedent_gains, antecedent_table, best_heads, gain_differences

SYSTEMS = (STRINGS, RULES)
"""The baselines of Table 2 that claims are about."""


@dataclass
class Found:
    """The results of the parts that ran; None for the others.

    Parameters
    ----------
    seed
        Of the permutation test on clusters.
    asked_for_gradients
        Whether the part on gradients was asked for: if it could not run, its claim is listed as not
        tested.
    surface, gradient, dependency, coreference, distance
        The surveys.
    dependency_train
        The survey of the training treebank, if heads were chosen there.
    dependency_special
        The survey of the treebank with special tokens as candidates, if it was asked for.
    uniform
        The share that [SEP] would get if attention were uniform.
    probes
        The table of the probes.
    """

    seed: int
    asked_for_gradients: bool = True
    surface: Atlas | None = None
    uniform: float | None = None
    gradient: Atlas | None = None
    dependency: Atlas | None = None
    dependency_train: Atlas | None = None
    dependency_special: Atlas | None = None
    coreference: Atlas | None = None
    probes: pd.DataFrame | None = None
    distance: Atlas | None = None

    @property
    def language(self) -> dict[str, Atlas]:
        """The surveys of syntax and coreference, by the name of their measure."""
        both = {"dependency": self.dependency, "coreference": self.coreference}
        return {name: results for name, results in both.items() if results is not None}

    def findings(self) -> list[Finding]:
        """List the claims of the parts that ran, in the order of the paper."""
        findings: list[Finding] = []
        if self.surface is not None:
            findings += surface_findings(
                self.surface, uniform=self.uniform, gradient=self._gradient(self.surface)
            )
        if self.dependency is not None:
            labels = treebank_labels(self.dependency)
            known = [label for label in labels.values() if label]
            table = best_heads(self.dependency, relations=known, train=self.dependency_train)
            if self.dependency_special is not None:
                findings.append(special_finding(self.dependency, self.dependency_special))
            findings += relation_findings(table, labels)
        if self.coreference is not None:
            findings += antecedent_findings(
                antecedent_table(self.coreference),
                {name: antecedent_gains(self.coreference, baseline=name) for name in SYSTEMS},
                gain_differences(self.coreference, baseline=STRINGS, kind="nominal"),
            )
        if self.probes is not None:
            findings += probe_findings(self.probes)
        if self.distance is not None:
            findings.append(layer_finding(self.distance, seed=self.seed))
        return findings

    def _gradient(self, surface: Atlas) -> Finding | None:
        if self.gradient is not None:
            return gradient_finding(surface, self.gradient)
        if self.asked_for_gradients:
            return NO_OP.untested("gradients could not be computed (see What is missing)")
        return None
