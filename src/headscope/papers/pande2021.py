"""Pande et al. 2021, "The heads hypothesis": published numbers, parts, tables and claims.

The paper tests whether the heads of BERT base have a role, on four GLUE tasks of 1000 sequences
each. Its layers count from 0, those here from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice, pairwise
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope import measures, models
from headscope.corpus import ROOT, Corpus, Example, read
from headscope.corpus.grammar import GRAMMAR
from headscope.encode import TEXT, Encoded
from headscope.errors import UserError
from headscope.figures import DrawnSieve, p_histogram, score_curves, sieve_arcs
from headscope.figures.lines import text_width
from headscope.figures.style import BUILTIN, subjects
from headscope.numbers import percent as in_percent
from headscope.options import RARE, Loading, Option, RoleTest
from headscope.page import Plot, Section, Table, records, role_sections, shift_section
from headscope.page.roles import usual_tau
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.claims import Untested, Verdict, percent
from headscope.papers.pande2021_lengths import WIDTH, matched_scores
from headscope.papers.recipe import PaperRecipe, Sampled, Step, part
from headscope.papers.report import with_suffix
from headscope.results import Atlas
from headscope.results.columns import Column, for_people
from headscope.runs.survey import Roles
from headscope.runs.tune import tune
from headscope.stats import (
    COARSE,
    FINE,
    cautions,
    fine_overlaps,
    grand_mean,
    overlap_shares,
    pooled_mean,
    pooled_tau,
    present,
    role_correlations,
    role_sets,
    role_shift,
    role_tests,
    undecided,
)
from headscope.stats.tables.role_tables import RELATIONS
from headscope.stats.tables.roles import Tau, is_exploratory, mean_lengths
from headscope.tasks.task import MADE

if TYPE_CHECKING:
    from headscope.models import Model

    Given = str | Path | Corpus
    CorporaLike = Sequence[Given] | Mapping[str, Given]
    TauLike = float | str | Sequence[str] | Mapping[str, float | str]
    TunedLike = Sequence[str | Path | Model]
else:  # what the command line takes, and what options keep
    CorporaLike = TauLike = Sequence[Any] | Mapping[str, Any]
    TunedLike = Sequence[Any]

Row = dict[str, Any]
SPLITS = ("train", "dev", "test", "dev_matched")

# --- What the paper reports -----------------------------------------------------------------------

MEAN_SCORE, TAU = 2.8, 3
"""The mean sieve bias score over heads, roles and sequences, and the threshold that follows."""
SEQUENCES = 1000
"""Sequences of each task."""
UNDECIDED = 0.018
"""Share of p-values between 0.05 and 0.95."""
SHARES = {
    "delimiter heads": 0.7343,
    "heads without a role": 0.0937,
    "syntactic heads that are local too": 0.709,
}
"""Shares of heads, means over the four tasks."""
SYNTACTIC_LOCAL_RANGE = (0.421, 0.888)
"""The smallest and the largest share of syntactic heads that are local too."""
SPEARMAN = {"QNLI": 0.78, "QQP": 0.81, "MRPC": 0.85, "SST-2": 0.73}
"""Spearman's correlation between local and syntactic scores, by task."""
SKILLED_LAYERS, SYNTACTIC_LAYERS = (5 / 12, 10 / 12), (6 / 12, 9 / 12)
"""Where multi-skilled heads (layers 5 to 9 of 0 to 11) and syntactic heads (6 to 8) are most
frequent, as shares of the model's depth."""

PARAPHRASE = MADE["paraphrase"]
"""What the model is tuned on if no tuned model is given: pairs, as in most of the paper's tasks."""

# --- The recipe -----------------------------------------------------------------------------------


class PaperTest(RoleTest):
    """How heads are tested for roles: by default as in the paper.

    Parameters
    ----------
    test
        z, as in the paper, t, bootstrap or permutation (sign flips).
    correction
        none, as in the paper; holm or bh, over all heads and roles; maxt for tests by resampling.
    """

    test: Literal["z", "t", "bootstrap", "permutation"] = "z"
    correction: Literal["none", "holm", "bh", "maxt"] = "none"

    def tested(self, scores: Atlas, tau: Tau, seed: int) -> xr.Dataset:
        """Role tests of a survey."""
        return role_tests(scores, **self.subset(RoleTest) | {"tau": tau, "seed": seed})


class Pande2021(PaperRecipe, PaperTest, Roles, Sampled):
    """The heads hypothesis: which heads have which role, tested, before and after fine-tuning.

    At most 1000 sequences of each corpus are used.

    Parameters
    ----------
    corpora
        A corpus: a file, or demo for the built-in one. In Python also corpora, and a mapping that
        gives them names. At most 1000 sequences of each are used.
    tuned
        Fine-tuned models: one for all corpora, or one for each. With them, roles are those of the
        fine-tuned model, and the part shift compares it with the model. Without one, the part shift
        tunes the model on pairs that a built-in grammar writes (the task paraphrase).
    least
        The smallest shift by fine-tuning that is of interest, in times uniform attention.
    parser
        The spaCy pipeline for text without trees. Default: the small English one.

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

    paper: ClassVar[Paper] = PAPERS["pande2021"]
    heads: ClassVar[tuple[str, str] | None] = ("12 × 12", "in the paper (BERT base)")
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

    @cached_property
    def opened(self) -> dict[str, Corpus]:
        """The corpora by name."""
        corpora = self.corpora
        if not isinstance(corpora, Mapping):
            labels = [one.name if isinstance(one, Corpus) else str(one) for one in corpora]
            corpora = dict(zip(corpus_names(labels), corpora, strict=True))
        return {name: self._open(corpus) for name, corpus in corpora.items()}

    def _open(self, source: str | Path | Corpus) -> Corpus:
        corpus = source if isinstance(source, Corpus) else read(source)
        corpus = self.drawn(corpus, self.at_most(SEQUENCES))
        if isinstance(source, Corpus) or str(source) == "demo":
            return corpus
        path = Path(source)
        corpus = read(corpus, parse=True, parser=self.parser)  # only what is used is parsed
        if path.name.split(".")[0] in SPLITS and path.parent.name:
            corpus = replace(corpus, name=f"{path.parent.name}/{path.name}")
        return corpus

    def check(self) -> None:
        """Say which sieves of one's own there are."""
        for file in self.sieves:
            self.reporter.say(f"sieves of {file}: {', '.join(measures.load_sieves(file))}")

    def facts(self) -> list[tuple[str, str]]:
        """The number of corpora, and the thresholds."""
        taus = {float(tau) for tests in self._tests.values() for tau in tests["tau"].values}
        return [
            (str(len(self.opened)), "corpus" if len(self.opened) == 1 else "corpora"),
            (", ".join(f"{tau:g}" for tau in sorted(taus)), "threshold τ"),
        ]

    def remarks(self) -> list[str]:
        """What to know beside the tests."""
        said: dict[str, list[str]] = {}
        for name, tests in self._tests.items():
            for caution in cautions(self._scores[name], tests):
                said.setdefault(caution, []).append(name)
        return [
            f"{', '.join(names)}: {caution}" if len(self.opened) > 1 else caution
            for caution, names in said.items()
        ]

    def missing(self, result: str) -> str | None:
        """Claims on fine-tuning are listed in any case."""
        tested = "role_tests" in self.results
        return NOT_SHIFTED if result == "role_shifts" and tested else None

    # --- scores and their tests ---

    @cached_property
    def _scores(self) -> dict[str, Atlas]:
        return {}

    @cached_property
    def _tests(self) -> dict[str, xr.Dataset]:
        return {}

    def _surveyed(self, file: str, name: str, model: Model) -> Atlas:
        measure = measures.Role(
            roles=self.roles, direction=self.direction, subtypes=self.subtypes, keep=self.keep
        )
        limit = self.at_most(SEQUENCES)
        return self.survey(file, self.opened[name], [measure], model=model, limit=limit)

    def before(self, name: str) -> Atlas:
        """The scores of the model on a corpus."""
        return self._surveyed(name, name, self.model_loaded)

    def after(self, name: str) -> Atlas:
        """The scores that the roles are taken from: the fine-tuned model's, if there is one."""
        if name not in self._scores:
            if self.tuned:
                number = list(self.opened).index(name) % len(self.tuned)
                model = models.as_model(self.tuned[number], Loading(**self.for_other_models))
                self._scores[name] = self._surveyed(f"{name}-tuned", name, model)
            else:
                self._scores[name] = self.before(name)
        return self._scores[name]

    @property
    def _tau(self) -> Tau:
        """The thresholds; those from the data are of all corpora together, as in the paper."""
        if not is_exploratory(self.thresholds):
            return self.thresholds
        return pooled_tau([self.after(name) for name in self.opened], self.thresholds)

    def tests(self, name: str) -> xr.Dataset:
        """The role tests on a corpus."""
        if name not in self._tests:
            tests = self.tested(self.after(name), self._tau, self.seed)
            # Pooled thresholds are numbers.
            exploratory = int(is_exploratory(self.thresholds))
            self._tests[name] = tests.assign_attrs(exploratory=exploratory)
            if not self.roles:  # the claims are about the paper's roles
                self.results.update({"role_scores": self._scores, "role_tests": self._tests})
        return self._tests[name]

    # --- parts ---

    @part("summary", "The paper's numbers and ours", "numbers in the paper's text")
    def summary(self) -> Section:
        """Our corpora, their mean, and the paper's means over its four tasks."""
        rows = [summary_row(name, self.after(name), self.tests(name)) for name in self.opened]
        low, high = SYNTACTIC_LOCAL_RANGE
        note = (
            "The mean score is in times uniform attention, over the four roles. Shares are of all "
            "heads, that of syntactic heads of these only. The sections below say how heads were "
            "tested. In the paper, the share of syntactic heads that are local too ranges from "
            f"{100 * low:.1f} % to {100 * high:.1f} %."
        )
        table = Table(summary_rows(rows), title="Shares of heads", note=note, id="summary-table")
        tables = [table]
        if len(self.opened) > 1:
            tau = usual_tau(self.tests(next(iter(self.opened))))
            tables.append(length_table({name: self.after(name) for name in self.opened}, tau))
        return self.section("summary", tables=tables)

    @part("sieves", "Sieves", "Figure 1")
    def drawn_sieves(self) -> Section:
        """The tokens that a head with each role should attend to."""
        first = self.after(next(iter(self.opened)))
        direction = str(first["role"].attrs["direction"])
        drawn = telling_text(self.model_loaded, self.opened.values(), direction=direction)
        if drawn is None:
            raise UserError("no corpus has any example", hint="give another corpus")
        text = (
            "The tokens that a head with each role should attend to, from one token. A head's "
            "score is the mean attention to them, divided by the mean attention to all tokens."
        )
        caption = "After Figure 1 of Pande et al. 2021."
        plot = Plot("role-sieves", "Sieves", caption, sieve_arcs(*drawn))
        return self.section("sieves", text, plots=[plot])

    @part("roles", "Which heads have which role", "Figures 2 and 3")
    def tested_roles(self) -> Sequence[Step]:
        """All corpora together, then each."""
        return [*([self.pooled] if len(self.opened) > 1 else []), *self._each("roles")]

    @part("overlap", "Roles overlap", "Figure 4")
    def overlap(self) -> Sequence[Step]:
        """Which heads have several roles."""
        return self._each("overlap")

    @part("skills", "Skills by layer", "Figure 5")
    def skills(self) -> Sequence[Step]:
        """How many roles the heads of each layer have."""
        return self._each("skills")

    def _each(self, part: str) -> list[Step]:
        return [partial(self._of_corpus, part, name) for name in self.opened]

    @cached_property
    def _sections(self) -> dict[str, dict[str, Section]]:
        return {}

    def _of_corpus(self, part: str, name: str) -> Section:
        if name not in self._sections:
            results, tests = self.after(name), self.tests(name)
            sections = role_sections(results, tests, shares=share_rows(name, results, tests))
            self._sections[name] = {section.id: section for section in sections}
        section = self._sections[name][part]
        title = f"{name}: {section.title}" if len(self.opened) > 1 else section.title
        return with_suffix(section, name, title=title)

    def pooled(self) -> Section:
        """The paper's Figure 3: the scores and p-values of all corpora together."""
        results = [self.after(name) for name in self.opened]
        tests = [self.tests(name) for name in self.opened]
        mean = pooled_mean(results)
        text = (
            f"All corpora together, as in the paper. The mean of all scores is {mean:.2f} times "
            f"uniform attention (paper: about {MEAN_SCORE}), so that τ from the data is "
            f"{floor(mean) + 1} (paper: {TAU}); {100 * undecided(tests):.1f} % of the p-values "
            f"lie between 0.05 and 0.95 (paper: {100 * UNDECIDED:.1f} %)."
        )
        scores = score_curves(results, tau=usual_tau(tests[0]))
        values = p_histogram(tests, subtitle=subjects([atlas.provenance for atlas in results]))
        over = "After Figure 3a: the cumulative distribution over heads, sequences and corpora."
        each = "After Figure 3b: one p-value per head, role and corpus."
        return self.section(
            "roles",
            text,
            plots=[
                Plot("role-cumulative", "All scores", over, scores),
                Plot("role-p", "p-values", each, values),
            ],
            title="All corpora: scores and p-values",
            suffix="all",
        )

    def tuned_here(self, name: str) -> Atlas:
        """The scores on a corpus after fine-tuning on sentences of the built-in grammar."""
        folder = self.folder / "tuned" / PARAPHRASE.name
        with self.reporter.progress(f"tuning on {PARAPHRASE.name}") as progress:
            done = tune(
                self.source(self.models[0]),
                task=PARAPHRASE,
                data=GRAMMAR,
                output=folder,
                overwrite=self.overwrite,
                progress=progress,
                seed=self.seed,
                max_length=self.max_length,
                **self.for_training,
            )
        model = models.load(done.folder, **self.for_other_models)
        return self._surveyed(f"{name}-{PARAPHRASE.name}", name, model)

    @part("shift", "Shift by fine-tuning", "Figure 6")
    def shift(self) -> Section:
        """What fine-tuning does, all corpora side by side."""
        shifts = self.results.setdefault("role_shifts", {})
        counts: list[Row] = []
        for name in self.opened:
            old = self.before(name)
            new = self.after(name) if self.tuned else self.tuned_here(name)
            shift = role_shift(old, new, alpha=self.alpha, least=self.least, clusters=self.clusters)
            shifts[name] = shift.assign(corpus=name)
            tests = self.tests(name)  # of the tuned model, if one was given
            after = tests if self.tuned else self.tested(new, self._tau, self.seed)
            both = self.tested(old, self._tau, self.seed), after
            counts += [{"corpus": name} | row for row in count_rows(*both)]
        whole = pd.concat(shifts.values(), ignore_index=True)
        first = next(iter(shifts.values()))
        whole.attrs |= {key: first.attrs[key] for key in ("least", "alpha", "correction")}
        section = shift_section(whole)
        table = Table(counts, title="Heads with each role", id="shift-counts")
        text = section.text
        if not self.tuned:
            text = (
                "No fine-tuned model was given, so the model was fine-tuned on pairs of sentences "
                f"that the built-in grammar writes (the task {PARAPHRASE.name}), and looked at on "
                f"the same texts as above. {text}"
            )
        return replace(section, text=text, tables=[*section.tables, table])


def corpus_names(paths: Sequence[str]) -> list[str]:
    """Shorten paths to names that differ: the task of a GLUE folder, otherwise the file's name.

    Examples
    --------
    >>> corpus_names(["glue/MRPC/dev.tsv.gz", "a/ewt.conllu.gz", "b/ewt.conllu"])
    ['MRPC', 'ewt', 'ewt-2']
    """
    names: list[str] = []
    for path in map(Path, paths):
        name = path.name.split(".")[0]
        name = path.parent.name if name in SPLITS and path.parent.name else name
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if same else name)
    return names


# --- Tables ---------------------------------------------------------------------------------------

IN_PERCENT = ("undecided p-values", *SHARES, "heads with two roles or more")
"""The columns of the summary that are shares."""


def summary_row(name: str, results: Atlas, tests: xr.Dataset) -> Row:
    """One corpus: the mean score, the share of undecided p-values, and the shares of heads."""
    local = "local" in results["role"]["role"].values
    return {
        "corpus": "built-in corpus" if name == BUILTIN else name,
        "model": results.provenance["model"]["name"],
        "sequences": results.provenance["counts"]["seen"],
        "mean length (tokens)": float(mean_lengths(results["role"]).sel(role="local"))
        if local
        else np.nan,
        "mean score": grand_mean(results),
        "undecided p-values": undecided(tests),
        **overlap_shares(tests),
    }


def summary_rows(rows: Sequence[Row]) -> list[Row]:
    """The paper's means over its four tasks, our means of several corpora, then the corpora."""
    paper: Row = {
        "corpus": "paper, mean of four tasks",
        "model": "BERT base, fine-tuned",
        "sequences": SEQUENCES,
        "mean length (tokens)": None,
        "mean score": f"{MEAN_SCORE}",
        "undecided p-values": UNDECIDED,
        **SHARES,
        "heads with two roles or more": None,
    }
    mean: Row = {"corpus": "mean here", "model": "", "sequences": None}
    for name in rows[0]:
        if name not in ("corpus", "model", "sequences"):
            values = np.array([row[name] for row in rows], float)
            known = values[~np.isnan(values)]
            mean[name] = float(known.mean()) if known.size else np.nan
    return [
        {
            f"{name} (%)" if name in IN_PERCENT else name: in_percent(value)
            if name in IN_PERCENT
            else value
            for name, value in row.items()
        }
        for row in (paper, *([mean] if len(rows) > 1 else []), *rows)
    ]


def share_rows(name: str, results: Atlas, tests: xr.Dataset) -> list[Row]:
    """Shares of heads, and Spearman's correlation of local with syntactic scores."""

    def compared(quantity: str, paper: float | None, here: float, places: int) -> Row:
        def shown(value: float, sign: str = "") -> str | None:
            return None if np.isnan(value) else f"{value:{sign}.{places}f}"

        return {
            "quantity": quantity,
            "paper": None if paper is None else shown(paper),
            "here": shown(here),
            "difference": None if paper is None else shown(here - paper, "+"),
        }

    rows = [
        compared(
            f"{quantity} (%)",
            None if quantity not in SHARES else 100 * SHARES[quantity],
            100 * value,
            1,
        )
        for quantity, value in overlap_shares(tests).items()
    ]
    both = role_correlations(results, ("local", "syntactic"))
    for over, words in (("heads", "over heads"), ("sequences", "over heads and sequences")):
        if len(both) and f"rho ({over})" in both:
            quantity = f"Spearman, local and syntactic, {words}"
            value = float(both[f"rho ({over})"].iloc[0])
            rows.append(compared(quantity, SPEARMAN.get(name.upper()), value, 2))
    return rows


def count_rows(before: xr.Dataset, after: xr.Dataset) -> list[Row]:
    """Count the heads with each role before and after fine-tuning."""
    old, new = (tests["has"].sum(("layer", "head")) for tests in (before, after))
    rows: list[Row] = []
    for name in old["role"].values:
        if name in new["role"].values:
            had, has = int(old.sel(role=name)), int(new.sel(role=name))
            row = {"role": str(name), "heads before": had, "heads after": has}
            rows.append(row | {"change": has - had})
    return rows


LENGTHS = (
    "role",
    "corpus",
    Column("mean length (tokens)", ("length",)),
    Column("mean score", ("mean",)),
    Column("heads over τ", ("over",)),
    Column("mean length, matched", ("matched length",)),
    Column("mean score, matched", ("matched mean",)),
    Column("heads over τ, matched", ("matched over",)),
    Column("sequences, matched", ("matched",)),
)


def length_table(results: Mapping[str, Atlas], tau: float) -> Table:
    """The scores of all corpora at equal lengths, one row per role and corpus."""
    matched = matched_scores(results, tau=tau)
    if len(matched):
        matched = matched.astype({"over": "Int64", "matched over": "Int64"})
    note = (
        f"Scores grow with length. Sequences are weighted so that, in bins of {WIDTH} tokens, all "
        "corpora have the same lengths. Heads over τ are counted by their means, without a test."
    )
    rows = records(for_people(matched, LENGTHS))
    return Table(rows, title="The corpora at equal lengths", note=note, id="length-table")


# --- Figure 1: a text to draw sieves over ---------------------------------------------------------

DRAWN_ROLES = ("block", "nsubj", "local", "amod", "delimiter")
"""The panels of the paper's figure, in its order."""
WIDEST, WIDER = 635, 150
"""Pixels: up to the first, a text can be read on a narrow page too. Beyond it, a text is preferred
that is narrower by the second."""


def sieves_of(item: Encoded, *, direction: str, causal: bool) -> list[DrawnSieve]:
    """Find a telling token of a text for each role of the figure that the text has."""
    from headscope.measures.sieves import dependency_sieves, known_sieves

    sieves = known_sieves() | dependency_sieves(direction)
    middle = [place for place in range(len(item)) if item.kind[place] == TEXT]
    drawn = []
    for role in DRAWN_ROLES:
        relation = sieves[role].relation(item)
        if relation is None:
            continue
        pairs = np.tril(relation.matrix()) if causal else relation.matrix()
        places = [place for place in middle if pairs[place].any()]
        if places:
            words = [place for place in places if item.text[place].strip()[:1].isalnum()]
            query = min(words or places, key=lambda place: abs(place - len(item) / 3))
            keys = tuple(int(key) for key in np.flatnonzero(pairs[query]))
            title = sieves[role].title.removeprefix(f"{role}: ")
            drawn.append(DrawnSieve(role, title, query, keys))
    return drawn


def telling_text(
    model: Model, corpora: Iterable[Corpus], *, direction: str
) -> tuple[list[str], list[DrawnSieve]] | None:
    """Find a short text with as many roles of the figure as possible: its tokens and sieves."""
    stack = model.main_stack()
    causal = model.causal(stack)
    best: tuple[tuple[int, int, int, float], list[str], list[DrawnSieve]] | None = None
    for corpus in corpora:
        longest = min(128, model.longest or 128)
        encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
        for item in encoder.encode(_short(corpus)):
            tokens = _shown(model, item)
            sieves = sieves_of(item, direction=direction, causal=causal)
            width = text_width(tokens)
            beyond = max(0, ceil((width - WIDEST) / WIDER))
            words = item.unit[item.unit >= 0]
            split = len(words) - len(set(words.tolist()))  # pieces beside the first of each word
            rank = (-beyond, len(sieves), -split, -width)
            if best is None or rank > best[0]:
                best = rank, tokens, sieves
    return None if best is None else best[1:]


def _short(corpus: Iterable[Example]) -> Iterator[Example]:
    """Examples, and pairs of short sentences that follow each other in one."""
    from headscope.runs.examples import sentences

    for example in islice(corpus, 1000):
        yield example
        for first, second in pairwise(sentences([example])):
            shift = len(first.words)
            if shift + len(second.words) <= 16:
                moved = tuple(
                    replace(
                        word,
                        segment=1,
                        head=word.head + shift
                        if (word.head or 0) >= 0 and word.head is not None
                        else ROOT,
                    )
                    for word in second.words
                )
                texts = (first.texts[0], second.texts[0])
                yield Example(f"{first.id}-pair", texts, (*first.words, *moved))


def _shown(model: Model, item: Encoded) -> list[str]:
    """The tokens as people read them, without the marks of spaces; a lone space is ␣."""
    names = map(str, model.tokenizer.convert_ids_to_tokens(item.ids.tolist()))
    shown = []
    for name, text in zip(names, item.text, strict=True):
        plain = text.strip() or ("␣" if text else name)
        shown.append(name if name.startswith("##") else plain)
    return shown


# --- Claims: the text, its place, the published number, and the rule that decides here ------------

ROUNDING = 1e-9
"""A difference no larger is none."""
NO_BLOCK = "no head has the role block"
NO_TREE = "no corpus has trees"
OVERLAP = "Are functional roles mutually exclusive?"
LAYERS = "How are functional roles distributed across layers?"
TUNING = "What is the effect of fine-tuning on functional roles"
claim = Pande2021.claim
of_corpora = partial(claim, each="corpora")


@of_corpora(
    "Hypothesis Testing, Figure 2",
    "one head shown",
    "a head has a mean above τ for one of the four roles, and p of 0.05 or more",
)
def outliers(role_tests: xr.Dataset) -> Verdict:
    """averages are inflated by outliers: some heads with a mean above τ do not pass the test."""
    roles = present(role_tests, COARSE)
    if not roles:
        raise Untested("none of the four roles could be tested")
    coarse = role_tests.sel(role=roles)
    over = coarse["mean"] > coarse["tau"]
    count = int((over & (coarse["p"] >= 0.05)).sum())
    return Verdict(f"{count} of {int(over.sum())} with a mean above τ", count > 0)


@claim("Assigning functional roles, Figure 3a", "2.8", "the smallest integer above the mean is 3")
def tau_is_three(role_scores: Mapping[str, Atlas]) -> Verdict:
    """the mean score of all heads, roles and sequences is about 2.8, so that τ = 3."""
    mean = pooled_mean(list(role_scores.values()))
    if not np.isfinite(mean):
        raise Untested("no sequence has any of the roles")
    return Verdict(f"{mean:.2f}, so that τ = {floor(mean) + 1}", floor(mean) + 1 == TAU)


@of_corpora(
    "Assigning functional roles, Figure 3b",
    "1.8 % between 0.05 and 0.95",
    "at most 5 % lie between",
    ours="5 %",
)
def bimodal(role_tests: xr.Dataset) -> Verdict:
    """the test decides clearly: p-values are close to 0 or close to 1."""
    value = undecided(role_tests)
    if np.isnan(value):
        raise Untested("no role could be tested")
    return Verdict(percent(value), value <= 0.05)


def share_of(tests: xr.Dataset, name: str, reason: str) -> float:
    """One of the paper's shares of heads."""
    value = overlap_shares(tests)[name]
    if np.isnan(value):
        raise Untested(reason)
    return float(value)


@of_corpora(OVERLAP, "73.4 %", "more than half of the heads are", ours="half")
def delimiter(role_tests: xr.Dataset) -> Verdict:
    """a significant number of heads are delimiter heads."""
    share = share_of(role_tests, "delimiter heads", "no delimiters")
    return Verdict(percent(share), share > 0.5)


@of_corpora(OVERLAP, "9.4 %", "at most 20 % do not", ours="20 %")
def unskilled(role_tests: xr.Dataset) -> Verdict:
    """very few heads do not have any role."""
    share = share_of(role_tests, "heads without a role", "no role")
    return Verdict(percent(share), share <= 0.2)


@of_corpora(
    OVERLAP,
    "70.9 % (42.1 to 88.8 %)",
    "at least half of the syntactic heads are local too",
    ours="half",
)
def local(role_tests: xr.Dataset) -> Verdict:
    """syntactic heads overlap with local heads."""
    share = share_of(role_tests, "syntactic heads that are local too", "no syntactic heads")
    return Verdict(percent(share), share >= 0.5)


@of_corpora(OVERLAP, "Spearman 0.73 to 0.85", "0.7 or more, over heads", ours="0.7, and over heads")
def spearman(role_scores: Atlas) -> Verdict:
    """local and syntactic scores are highly correlated."""
    both = role_correlations(role_scores, ("local", "syntactic"))
    if both.empty or np.isnan(both["rho (heads)"].iloc[0]):
        raise Untested(NO_TREE)
    rho = float(both["rho (heads)"].iloc[0])
    return Verdict(f"{rho:.2f}", rho >= 0.7)


def fine_overlap(tests: xr.Dataset, role: str, other: str, reason: str) -> Verdict:
    """Whether at least half of the heads of a fine role have another one."""
    for row in records(fine_overlaps(tests)):
        if (row["role"], row["other"]) == (role, other) and row["heads"]:
            return Verdict(f"{row['both']} of {row['heads']}", bool(row["share"] >= 0.5))
    raise Untested(reason)


@of_corpora(OVERLAP, "high", "at least half of the nsubj heads are next-local too", ours="half")
def nsubj(role_tests: xr.Dataset) -> Verdict:
    """nsubj heads have a high overlap with next-local heads."""
    reason = "no nsubj heads, or no next-local role"
    return fine_overlap(role_tests, "nsubj", "next-local", reason)


@of_corpora(OVERLAP, "high", "at least half of the dobj heads are previous-local too", ours="half")
def dobj(role_tests: xr.Dataset) -> Verdict:
    """dobj heads have a high overlap with previous-local heads."""
    return fine_overlap(role_tests, "dobj", "previous-local", "no dobj heads")


@of_corpora(
    OVERLAP,
    "marginal",
    "fewer than a quarter of the block heads are syntactic or local",
    ours="a quarter",
)
def block(role_tests: xr.Dataset) -> Verdict:
    """block heads hardly overlap with syntactic or local heads."""
    sets = role_sets(role_tests)
    if not sets.get("block"):
        raise Untested(NO_BLOCK)
    both = len(sets["block"] & (sets.get("syntactic", set()) | sets.get("local", set())))
    return Verdict(f"{both} of {len(sets['block'])}", both < len(sets["block"]) / 4)


def by_layer(tests: xr.Dataset, roles: Sequence[str], reason: str) -> NDArray[np.float64]:
    """The share of each layer's heads that have one of some roles."""
    there = present(tests, roles)
    if not there:
        raise Untested(reason)
    return np.asarray(tests["has"].sel(role=there).any("role").mean("head").values, float)


def at_depth(values: NDArray[np.float64], depth: tuple[float, float], text: str) -> Verdict:
    """Whether the layers at some depth have more than the others."""
    middles = (np.arange(len(values)) + 0.5) / len(values)
    inside = (middles > depth[0]) & (middles < depth[1])
    if inside.all() or not inside.any():
        raise Untested("the model has too few layers")
    here, elsewhere = float(values[inside].mean()), float(values[~inside].mean())
    return Verdict(text.format(here, elsewhere), here > elsewhere + ROUNDING)


def skills_by_layer(tests: xr.Dataset) -> NDArray[np.float64]:
    """How many fine roles the heads of each layer have, on average."""
    there = present(tests, FINE)
    if not there:
        raise Untested("none of the fine roles could be tested")
    return np.asarray(tests["has"].sel(role=there).sum("role").mean("head").values, float)


@of_corpora(
    LAYERS,
    "layers 6 to 10 of 12, in three of four tasks",
    "heads at this depth have more fine roles than others, on average",
    ours="comparing means, by depth",
)
def skilled(role_tests: xr.Dataset) -> Verdict:
    """multi-skilled heads are most frequent in the middle layers."""
    text = "{:.1f} against {:.1f} elsewhere"
    return at_depth(skills_by_layer(role_tests), SKILLED_LAYERS, text)


def of_tasks(tests: Mapping[str, xr.Dataset], *names: str) -> dict[str, xr.Dataset]:
    """The role tests of some of the paper's tasks."""
    known = {name.upper(): test for name, test in tests.items()}
    chosen = {name: known[name] for name in names if name in known}
    if not chosen:
        files = " or ".join(f"{name}/dev.tsv" for name in names)
        raise Untested(f"not among the corpora: give {files}")
    return chosen


@claim(
    LAYERS,
    "seen in Figure 5",
    "layers 1 to 5 of 12 have more fine roles per head than others",
    ours="comparing means, by depth",
)
def skilled_early(role_tests: Mapping[str, xr.Dataset]) -> Verdict:
    """on QQP, multi-skilled heads are more frequent in the first layers."""
    tests = of_tasks(role_tests, "QQP")["QQP"]
    text = "{:.1f} against {:.1f} elsewhere"
    return at_depth(skills_by_layer(tests), (0.0, SKILLED_LAYERS[0]), text)


@of_corpora(
    LAYERS,
    "Figure 5",
    "in the last quarter of the layers, at least half of the heads with a fine role have only "
    "[CLS] or [SEP]",
    ours="half",
)
def delimiter_last(role_tests: xr.Dataset) -> Verdict:
    """delimiter heads are often the only heads with a role in the last three layers."""
    there = present(role_tests, FINE)
    layers = max(1, round(role_tests.sizes["layer"] / 4))
    last = role_tests["has"].sel(role=there).isel(layer=slice(-layers, None))
    skilled = last.any("role")
    if not {"cls", "sep"} & set(there) or not int(skilled.sum()):
        raise Untested("no delimiters, or no head there with a fine role")
    others = last.sel(role=[name for name in there if name not in ("cls", "sep")]).any("role")
    count, only = int(skilled.sum()), int((skilled & ~others).sum())
    return Verdict(f"{only} of {count}", only >= count / 2)


@of_corpora(
    LAYERS, "Figure 5", "their share there is below half of that of the other layers", ours="half"
)
def delimiter_first(role_tests: xr.Dataset) -> Verdict:
    """the first layer has very few delimiter heads."""
    shares = by_layer(role_tests, ("delimiter",), "no delimiters")
    if len(shares) < 2:
        raise Untested("no delimiters")
    others = float(shares[1:].mean())
    text = f"{percent(shares[0])} against {percent(others)} in the others"
    return Verdict(text, bool(shares[0] < others / 2 - ROUNDING))


@of_corpora(
    LAYERS,
    "Figure 5",
    "the first layer has a larger share of them than the other layers, on average",
    ours="comparing means",
)
def block_first(role_tests: xr.Dataset) -> Verdict:
    """block heads are prevalent in the first layer."""
    shares = by_layer(role_tests, ("block",), NO_BLOCK)
    if not shares.any() or len(shares) < 2:
        raise Untested(NO_BLOCK)
    text = f"{percent(shares[0])} against {percent(shares[1:].mean())} in the others"
    return Verdict(text, bool(shares[0] > shares[1:].mean() + ROUNDING))


def block_layers(role_tests: Mapping[str, xr.Dataset], *names: str) -> dict[str, Any]:
    """Whether each layer has a block head, by task."""
    chosen = of_tasks(role_tests, *names)
    return {name: by_layer(tests, ("block",), NO_BLOCK) > 0 for name, tests in chosen.items()}


def with_block(layers: Mapping[str, Any]) -> str:
    """The layers that have block heads, from 1."""
    texts = {
        name: ", ".join(str(place + 1) for place in np.flatnonzero(has)) or "none"
        for name, has in layers.items()
    }
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


@claim(
    LAYERS, "Figure 5", "each layer of the first five of twelve has one, by depth", ours="by depth"
)
def block_early(role_tests: Mapping[str, xr.Dataset]) -> Verdict:
    """on QNLI and MRPC, block heads are in layers 2 to 5, too."""
    layers = block_layers(role_tests, "QNLI", "MRPC")
    first = {name: has[: max(1, round(5 * len(has) / 12))] for name, has in layers.items()}
    return Verdict(with_block(layers), all(bool(has.all()) for has in first.values()))


@claim(
    LAYERS,
    "Figure 5",
    "the first and last layer have one, the middle third has none",
    ours="the middle third",
)
def block_at_ends(role_tests: Mapping[str, xr.Dataset]) -> Verdict:
    """on QQP, block heads are in the first and the last layer, and not in the middle."""
    layers = block_layers(role_tests, "QQP")
    has = layers["QQP"]
    third = len(has) // 3
    middle = has[third : len(has) - third]
    return Verdict(with_block(layers), bool(has[0] and has[-1] and not middle.any()))


@claim(LAYERS, "Figure 5", "every layer has one")
def block_everywhere(role_tests: Mapping[str, xr.Dataset]) -> Verdict:
    """on MRPC, block heads are in all layers."""
    layers = block_layers(role_tests, "MRPC")
    return Verdict(with_block(layers), bool(layers["MRPC"].all()))


@of_corpora(
    LAYERS,
    "3 of 12",
    "in at least three quarters of the layers, at least a quarter of the heads have nsubj, "
    "dobj, amod or advmod",
    ours="three quarters",
)
def syntactic_everywhere(role_tests: xr.Dataset) -> Verdict:
    """almost all layers have at least 3 syntactic heads of 12."""
    shares = by_layer(role_tests, RELATIONS, NO_TREE)
    count = int((shares >= 0.25).sum())
    return Verdict(f"{count} of {len(shares)} layers", count >= 0.75 * len(shares))


@of_corpora(
    LAYERS,
    "Figure 5",
    "the share of such heads at this depth is larger than elsewhere",
    ours="comparing means, by depth",
)
def syntactic_middle(role_tests: xr.Dataset) -> Verdict:
    """syntactic heads are most prevalent in layers 7 to 9 of 12."""
    shares = 100 * by_layer(role_tests, RELATIONS, NO_TREE)
    return at_depth(shares, SYNTACTIC_LAYERS, "{:.1f} % against {:.1f} % elsewhere")


@of_corpora(
    LAYERS,
    "Figure 5",
    "in the last sixth of the layers, their share is below half of that of the others",
    ours="half",
)
def syntactic_last(role_tests: xr.Dataset) -> Verdict:
    """the last two layers of 12 have very few syntactic heads."""
    shares = by_layer(role_tests, RELATIONS, NO_TREE)
    if len(shares) < 2:
        raise Untested(NO_TREE)
    layers = max(1, round(len(shares) / 6))
    here, others = shares[-layers:].mean(), shares[:-layers].mean()
    text = f"{percent(here)} against {percent(others)} in the others"
    return Verdict(text, bool(here < others / 2 - ROUNDING))


NOT_SHIFTED = "the model was not compared with a fine-tuned one"


def in_last_third(shift: pd.DataFrame, role: str, verdict: str) -> Verdict:
    """Whether a role has shifted in the last third of the layers."""
    shifted = shift[(shift["role"] == role) & (shift["third"] == "last")].dropna(subset=["shift"])
    if shifted.empty:
        raise Untested(NOT_SHIFTED)
    row = records(shifted)[0]
    return Verdict(f"{row['shift']:+.2f} ({row['verdict']})", row["verdict"] == verdict)


@of_corpora(
    f"{TUNING}, Figure 6",
    "falls",
    "it is lower in the last third, by more than the smallest shift of interest",
    ours="the smallest shift",
)
def delimiter_falls(role_shifts: pd.DataFrame) -> Verdict:
    """the delimiter score falls in the last layers."""
    return in_last_third(role_shifts, "delimiter", "lower")


@of_corpora(
    TUNING,
    "[SEP] falls",
    "in the last third [SEP] is lower, by more than the smallest shift of interest, and "
    "changes more than [CLS]",
    ours="the smallest shift",
)
def sep_falls(role_shifts: pd.DataFrame) -> Verdict:
    """it falls because of [SEP]; attention to [CLS] does not change much."""
    last = role_shifts[role_shifts["third"] == "last"].dropna(subset=["shift"]).set_index("role")
    if not {"cls", "sep"} <= set(last.index):
        raise Untested(NOT_SHIFTED)
    shift, verdict = last["shift"], last["verdict"]["sep"]
    text = f"[SEP] {shift['sep']:+.2f} ({verdict}), [CLS] {shift['cls']:+.2f}"
    return Verdict(text, verdict == "lower" and abs(shift["sep"]) > abs(shift["cls"]))


@of_corpora(
    f"{TUNING}, Figure 6",
    "rises",
    "it is higher in the last third, by more than the smallest shift of interest",
    ours="the smallest shift",
)
def block_rises(role_shifts: pd.DataFrame) -> Verdict:
    """the block score rises in the last layers."""
    return in_last_third(role_shifts, "block", "higher")


@of_corpora(
    f"{TUNING}, Figure 6",
    "little change",
    "the mean absolute shift of the four roles is largest in the last third",
    ours="comparing means",
)
def early_same(role_shifts: pd.DataFrame) -> Verdict:
    """roles do not change much in the first and middle layers."""
    four = role_shifts[role_shifts["role"].isin(COARSE)].dropna(subset=["shift"])
    sizes = four.assign(size=four["shift"].abs()).groupby("third")["size"].mean()
    if not {"first", "middle", "last"} <= set(sizes.index):
        raise Untested(NOT_SHIFTED)
    text = ", ".join(f"{third} {sizes[third]:.2f}" for third in ("first", "middle", "last"))
    return Verdict(text, bool(sizes["last"] > max(sizes["first"], sizes["middle"])))
