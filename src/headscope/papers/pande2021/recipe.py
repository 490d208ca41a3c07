"""Pande et al. 2021, "The heads hypothesis", from top to bottom: roles of heads on any corpora, tested, before and after fine-tuning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headscope.corpus import Corpus
from headscope.errors import UserError
from headscope.models import Model, load
from headscope.page import Document, Section, Table, role_sections, shift_section
from headscope.papers.pande2021 import facts
from headscope.papers.recipe import Workshop
from headscope.results import Results
from headscope.stats import (
    cautions,
    grand_mean,
    overlap_shares,
    role_correlations,
    role_shift,
    role_tests,
    undecided,
)

Row = dict[str, Any]
SPLITS = ("train", "dev", "test", "dev_matched")


@dataclass
class Pande2021:
    """The recipe: every corpus with the model, and with the fine-tuned one if it is given (one for all corpora, or one for each)."""

    model: str
    shop: Workshop
    corpora: Mapping[str, Corpus]
    tuned: Sequence[str] = ()
    tau: float | str | Mapping[str, float | str] = float(facts.TAU)
    how: dict[str, Any] = field(default_factory=dict)
    run_options: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Path:
        """Everything, then the page."""
        if len(self.tuned) not in (0, 1, len(self.corpora)):
            raise UserError(
                f"fine-tuned models must be one for all corpora, or one for each of the {len(self.corpora)}; got {len(self.tuned)} instead",
                hint="give --tuned once, or once a --corpus",
            )
        before = load(self.model, device=self.shop.options.device)
        sections: list[Section] = []
        remarks: list[str] = []
        rows: list[Row] = []
        about: dict[str, Any] = {}
        for index, (task, corpus) in enumerate(self.corpora.items()):
            results = self._survey(task, before, corpus)
            if self.tuned:
                after = self._survey(
                    f"{task}-tuned",
                    load(self.tuned[index % len(self.tuned)], device=self.shop.options.device),
                    corpus,
                )
                shift = role_shift(results, after)
                sections.append(_of(task, shift_section(shift)))
                sections[-1] = replace(
                    sections[-1], tables=[self._counts(results, after), *sections[-1].tables]
                )
                results = after
            tests = role_tests(results, tau=self.tau, **self.how)
            shares = self._shares(task, results, tests)
            sections += [
                _of(task, section)
                for section in role_sections(results, tests, how=self.how, shares=shares)
            ]
            remarks += [f"{task}: {caution}" for caution in cautions(results, tests)]
            rows.append(
                {
                    "corpus": task,
                    "model": results.provenance["model"]["name"],
                    "sequences": results.provenance["counts"]["seen"],
                    "mean score": grand_mean(results),
                }
            )
            rows[-1] |= {"undecided p": undecided(tests)} | overlap_shares(tests)
            about[task] = results.provenance
        document = Document(
            title="The heads hypothesis",
            subtitle=f"Pande et al. 2021, on {self.model}{' and fine-tuned models' if self.tuned else ''}: the paper's tables and figures, published numbers (BERT base) beside ours",
            facts=[
                (
                    f"{before.shape(before.main_stack()).layers} × {before.shape(before.main_stack()).heads}",
                    "layers × heads here",
                ),
                ("12 × 12", "in the paper (BERT base)"),
                (str(len(self.corpora)), "corpora"),
                (
                    ", ".join(
                        f"{tau:g}"
                        for tau in sorted({float(value) for value in tests["tau"].values})
                    ),
                    "tau",
                ),
            ],
            remarks=remarks,
            sections=[self._summary(rows), *sections],
            provenance=json.dumps(about, indent=2, ensure_ascii=False),
        )
        return self.shop.page("pande2021", document)

    def _survey(self, name: str, model: Model, corpus: Corpus) -> Results:
        limit = min(self.shop.options.limit or facts.SEQUENCES, facts.SEQUENCES)
        return self.shop.survey(name, model, corpus, ["role"], limit=limit, **self.run_options)

    def _summary(self, rows: list[Row]) -> Section:
        """Our corpora, their mean, and the paper's means over its four tasks."""
        paper: Row = {
            "corpus": "paper, mean of four tasks",
            "model": "BERT base, fine-tuned",
            "sequences": facts.SEQUENCES,
            "mean score": facts.MEAN_SCORE,
            "undecided p": facts.UNDECIDED,
        }
        names = ("mean score", "undecided p", *overlap_shares_names(rows))
        mean: Row = {"corpus": "mean here", "model": "", "sequences": None} | {
            name: float(np.nanmean([row[name] for row in rows])) if _known(rows, name) else np.nan
            for name in names
        }
        note = f"Shares of all heads; tests as stated on each page. The paper's syntactic heads that are local too range from {facts.SYNTACTIC_LOCAL_RANGE[0]:.1%} to {facts.SYNTACTIC_LOCAL_RANGE[1]:.1%}."
        return Section(
            "summary",
            "The paper's numbers and ours",
            tables=[Table([paper | facts.SHARES, mean, *rows], note=note, id="summary-table")],
        )

    def _shares(self, task: str, results: Results, tests: xr.Dataset) -> list[Row]:
        """The shares of one corpus, the paper's beside."""
        rows: list[Row] = [
            {
                "what": name,
                "paper": facts.SHARES.get(name),
                "here": value,
                "difference": value - facts.SHARES[name] if name in facts.SHARES else None,
            }
            for name, value in overlap_shares(tests).items()
        ]
        both = role_correlations(results, ("local", "syntactic"))
        published = facts.SPEARMAN.get(task.upper())
        for over in ("heads", "sequences"):
            if len(both) and f"rho ({over})" in both:
                value = float(both[f"rho ({over})"].iloc[0])
                what = "over heads and sequences" if over == "sequences" else "over heads"
                rows.append(
                    {
                        "what": f"Spearman, local and syntactic, {what}",
                        "paper": published,
                        "here": value,
                        "difference": None if published is None else value - published,
                    }
                )
        return rows

    def _counts(self, before: Results, after: Results) -> Table:
        """How many heads have each role, before and after."""
        old, new = (
            role_tests(results, tau=self.tau, **self.how)["has"].sum(("layer", "head"))
            for results in (before, after)
        )
        rows: list[Row] = [
            {
                "role": str(name),
                "heads before": int(old.sel(role=name)),
                "heads after": int(new.sel(role=name)),
            }
            for name in old["role"].values
            if name in new["role"].values
        ]
        return Table(
            [row | {"change": row["heads after"] - row["heads before"]} for row in rows],
            title="Heads with each role",
        )


def overlap_shares_names(rows: Sequence[Row]) -> list[str]:
    """The names of the shares in the summary's rows."""
    return [
        name
        for name in rows[0]
        if name not in ("corpus", "model", "sequences", "mean score", "undecided p")
    ]


def corpus_names(paths: Sequence[str]) -> list[str]:
    """Short names for corpus files: a GLUE folder's task, else the file's own; a name that comes again gets a number.

    >>> corpus_names(["glue/MRPC/dev.tsv.gz", "glue/QNLI/dev.tsv.gz"]), corpus_names(["a/ewt.conllu.gz", "b/ewt.conllu"])
    (['MRPC', 'QNLI'], ['ewt', 'ewt-2'])
    """
    found: list[str] = []
    for path in map(Path, paths):
        name = path.name.split(".")[0]
        name = path.parent.name if name in SPLITS and path.parent.name else name
        again = sum(other == name or other.startswith(f"{name}-") for other in found)
        found.append(f"{name}-{again + 1}" if again else name)
    return found


def _known(rows: Sequence[Row], name: str) -> bool:
    return any(not np.isnan(row[name]) for row in rows)


def _of(task: str, section: Section) -> Section:
    """A section of one corpus: its heading and the names of its plots say which."""
    plots = [replace(plot, name=f"{plot.name}-{task}") for plot in section.plots]
    tables = [
        replace(table, id=f"{table.id}-{task}" if table.id else "") for table in section.tables
    ]
    return replace(
        section,
        id=f"{section.id}-{task}",
        title=f"{task}: {section.title}",
        plots=plots,
        tables=tables,
    )
