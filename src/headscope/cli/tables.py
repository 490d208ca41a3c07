"""Tables of a results file: ``headscope table RESULTS NAME``.

A table is one class: its name, what it says, its options, and how it is made. Files, JSON and the
screen are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter

from headscope.cli.app import FILES, ResultsFile, command
from headscope.cli.console import Console
from headscope.errors import UserError, unknown
from headscope.options import Option, Options, described

if TYPE_CHECKING:
    import pandas as pd

    from headscope.results import Atlas

    Frames = Mapping[str, pd.DataFrame]

Correction = Literal["none", "holm", "bh"]
ABOUT = ("name", "title", "needs", "made_by")
WRITTEN = (".csv", ".tex", ".html")


class TableOptions(Options):
    """Options of every table.

    Parameters
    ----------
    output
        Write the table to a file: .tex (LaTeX with booktabs), .csv or .html.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    """Groups of which a results file must have one."""
    made_by: ClassVar[str] = ""
    """The function of :mod:`headscope.stats` that makes it, with these options as keywords."""
    columns: ClassVar[str] = ""
    """The columns of :mod:`headscope.results.columns` that people read."""

    output: Annotated[Path | None, Option(short="-o", metavar="FILE")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output is not None and self.output.suffix not in WRITTEN:
            raise UserError(
                f"a table is written as {', '.join(WRITTEN)}; got {self.output.suffix!r} instead",
                hint="give a file name such as output='table.tex'",
            )

    def frames(self, atlas: Atlas) -> Frames:
        """The table, by its title, and tables that are shown below it on a screen."""
        make = getattr(import_module("headscope.stats"), self.made_by)
        keywords = {key: getattr(self, key) for key in described(type(self)) if key != "output"}
        return {self.title: make(atlas, **keywords)}

    def for_people(self, frame: pd.DataFrame, *, screen: bool = False) -> pd.DataFrame:
        """The table as a person reads it; JSON and CSV have all of its columns."""
        from headscope.results import columns

        chosen = getattr(columns, self.columns) if self.columns else ()
        return columns.for_people(frame, chosen, screen=screen) if chosen else frame

    def notes(self, atlas: Atlas) -> Iterable[str]:
        """Sentences below the table."""
        return ()

    def page(self, atlas: Atlas) -> Callable[[Path], Path] | None:
        """What writes the table as a page, where it has one of its own."""
        return None


class StatisticsTable(TableOptions):
    """Options of the table of all statistics."""

    name = "statistics"
    title = "Every statistic: its mean over heads and its strongest head"

    def frames(self, atlas: Atlas) -> Frames:
        """The summary of a survey."""
        from headscope.results.columns import SUMMARY, for_people

        return {self.title: for_people(atlas.summary(), SUMMARY)}


class RelationTable(TableOptions):
    """Options of the table of relations.

    Parameters
    ----------
    relation
        Only this relation. Default: all with enough words.
    direction
        Only this direction. Default: dependent to head, and head to dependent.
    correction
        Correct p-values over all heads, directions and relations.
    least
        Skip relations with fewer than N words. Default: 20, or less in a small corpus.
    train
        Results of the same model on another treebank, to choose heads and offsets on. Default:
        choose on each half of the documents, score on the other.
    """

    name = "relations"
    title = "The best head of each relation, beside the best fixed offset (Clark et al. 2019)"
    needs = ("dependency",)
    columns = "RELATIONS"

    relation: Annotated[Sequence[str], Option(metavar="NAME", completes="relations")] = ()
    direction: Annotated[Sequence[str], Option(metavar="NAME")] = ()
    correction: Correction = "holm"
    least: Annotated[int | None, Option(least=1)] = None
    train: Annotated[Path | None, Option(metavar="FILE")] = None

    def directions(self, atlas: Atlas) -> Sequence[str]:
        """Those asked for."""
        from headscope.stats import DEFAULT_DIRECTIONS

        known = [str(name) for name in atlas["dependency"]["direction"].values]
        for name in self.direction:
            if name not in known:
                raise unknown("direction", name, known)
        return self.direction or DEFAULT_DIRECTIONS

    def frames(self, atlas: Atlas) -> Frames:
        """The best head of each."""
        from headscope.stats import best_heads

        table = best_heads(
            atlas,
            relations=self.relation or None,
            directions=self.directions(atlas),
            correction=self.correction,
            least=self.least,
            train=_opened(self.train),
        )
        return {self.title: table}

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """What "held out" means, and how p-values and intervals were made."""
        from headscope.stats.inference.correction import flip_note
        from headscope.stats.inference.documents import interval_note

        how = "on the training results" if self.train else "on one half of the documents, both ways"
        yield f"held out: chosen {how}, and scored on words that were not used to choose"
        yield interval_note(atlas["dependency"])
        if self.correction == "holm":
            counts = atlas["dependency"]["count"].sel(words="every")
            yield flip_note(counts.sel(direction=list(self.directions(atlas))))


class CoreferenceTable(TableOptions):
    """Options of the table of antecedents.

    Parameters
    ----------
    candidates
        Choose among mentions (head words of earlier mentions) or all other words.
    train
        Results of the same model on other documents, to choose the head on. Default: choose on
        each half of the documents, score on the other.
    kinds
        One row per system and kind of mention, each with its interval and tests.
    """

    name = "coreference"
    title = "The head that finds antecedents best, beside three baselines (Clark et al. 2019)"
    needs = ("coreference",)

    candidates: Annotated[Literal["mentions", "words"], Option(name="kind of candidates")] = (
        "mentions"
    )
    train: Annotated[Path | None, Option(metavar="FILE")] = None
    kinds: bool = False

    def frames(self, atlas: Atlas) -> Frames:
        """Scores of the head and the baselines."""
        from headscope.stats import antecedent_scores, antecedent_table

        make = antecedent_scores if self.kinds else antecedent_table
        return {self.title: make(atlas, candidates=self.candidates, train=_opened(self.train))}

    def for_people(self, frame: pd.DataFrame, *, screen: bool = False) -> pd.DataFrame:
        """With both ends of an interval in one column."""
        shown = frame.drop(columns=["high"]).rename(columns={"low": "95 % interval"})
        shown["95 % interval"] = _intervals(frame)
        return shown

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """How intervals were made."""
        from headscope.stats.inference.documents import interval_note

        yield interval_note(atlas["coreference"])


class RoleTable(TableOptions):
    """Options of the table of roles.

    Parameters
    ----------
    role
        Only this role.
    tau
        The threshold: a number over 0, auto (from the same scores: exploratory), or ROLE=N for one
        role. Default: 3, as in the paper.
    test
        t, z (the paper's), bootstrap or permutation (sign flips).
    correction
        holm or bh, over all heads and roles; maxt for a test by resampling; none, as in the paper.
    alpha
        The level of the test.
    resamples
        Resamples of the bootstrap or permutation test. Default: as many as the correction needs,
        5000 or more.
    clusters
        Count the sequences of one document as one cluster, where the corpus has documents.
    before
        The same corpus before fine-tuning: how the roles shift, by thirds of the layers.
    least
        The smallest shift that is of interest, in times uniform attention.
    seed
        The seed of resampling.
    """

    name = "roles"
    title = "Heads by role: mean sieve bias over tau, tested (Pande et al. 2021)"
    needs = ("role",)
    columns = "ROLES"

    role: Annotated[Sequence[str], Option(metavar="NAME", completes="roles")] = ()
    tau: Annotated[Sequence[str], Option(metavar="N|auto|ROLE=N")] = ()
    test: Literal["t", "z", "bootstrap", "permutation"] = "t"
    correction: Literal["none", "holm", "bh", "maxt"] = "holm"
    alpha: Annotated[float, Option(least=0, most=1)] = 0.05
    resamples: Annotated[int | None, Option(least=1, name="number of resamples")] = None
    clusters: Annotated[bool, Option(off="--independent")] = True
    before: Annotated[Path | None, Option(metavar="FILE")] = None
    least: float = 0.1
    seed: int = 0

    @property
    def how(self) -> dict[str, Any]:
        """How roles are tested."""
        names = ("test", "correction", "alpha", "resamples", "clusters", "seed")
        return {name: getattr(self, name) for name in names}

    def tests(self, atlas: Atlas) -> Any:
        """The tests of all roles."""
        from headscope.stats import parse_tau, role_tests

        tests = role_tests(atlas, tau=parse_tau(self.tau), **self.how)
        known = [str(name) for name in tests["role"].values]
        for name in self.role:
            if name not in known:
                raise unknown("role", name, known)
        return tests

    def shift(self, atlas: Atlas, tests: Any) -> pd.DataFrame | None:
        """The shift since the results before fine-tuning."""
        from headscope.stats import role_shift

        if self.before is None:
            return None
        roles = self.role or [str(name) for name in tests["role"].values]
        return role_shift(
            _opened(self.before),
            atlas,
            roles=roles,
            alpha=self.alpha,
            least=self.least,
            clusters=self.clusters,
        )

    def frames(self, atlas: Atlas) -> Frames:
        """Roles; then how many heads have each by tau, by layer, together, and shifts."""
        import pandas as pd

        from headscope.stats import COARSE, layer_shares, overlap_shares, role_table, tau_table

        tests = self.tests(atlas)
        roles = self.role or [str(name) for name in tests["role"].values]
        table, counts = role_table(atlas, tests), tau_table(atlas, **self.how)
        overlap = pd.DataFrame(
            {"of the paper's four roles": name, "share": value}
            for name, value in overlap_shares(tests).items()
        )
        shift = self.shift(atlas, tests)
        return {
            self.title: table[table["role"].isin(roles)],
            "How many heads get each role, by tau": counts[counts["role"].isin(roles)],
            "Share of each layer's heads that have a role": layer_shares(
                tests, self.role or COARSE
            ),
            "Heads with several roles": overlap,
            **({} if shift is None else {"Shift: after minus before": shift}),
        }

    def notes(self, atlas: Atlas) -> Iterable[str]:
        """What to be careful about."""
        from headscope.stats import cautions

        return (f"* {caution}" for caution in cautions(atlas, self.tests(atlas)))

    def page(self, atlas: Atlas) -> Callable[[Path], Path]:
        """Every table and figure about roles."""
        from headscope.page import roles_document, write_document

        tests = self.tests(atlas)
        document = roles_document(atlas, tests, shift=self.shift(atlas, tests))
        return lambda path: write_document(document, path)


class FrameTable(TableOptions):
    """Options of the table of frame links.

    Parameters
    ----------
    direction
        Which way of a link heads are sorted by.
    percentile
        Heads over this percentile of all heads stand out.
    top
        How many heads to show.
    """

    name = "frames"
    title = "The heads that attend most along frame links (Kovaleva et al. 2019)"
    needs = ("frame",)
    made_by = "frame_table"

    direction: Literal["both", "target to element", "element to target"] = "both"
    percentile: Annotated[float, Option(least=0, most=100)] = 99.0
    top: Annotated[int, Option(least=1, name="number of heads")] = 10


class PatternTable(TableOptions):
    """Options of the table of pattern classes.

    Parameters
    ----------
    beside
        Further results, such as those of other tasks.
    """

    name = "patterns"
    title = "Share of all maps by pattern class (Kovaleva et al. 2019)"
    needs = ("pattern",)

    beside: Annotated[Sequence[Path], Option(metavar="FILE")] = ()

    def frames(self, atlas: Atlas) -> Frames:
        """Shares by file; then by layer and by head."""
        import pandas as pd

        from headscope.stats.tables.patterns import leading_patterns, pattern_layers, shares_by_file

        files = pattern_files(atlas, self.beside)
        frames = {self.title: shares_by_file(files)}
        for name, results in files.items():
            layers = pattern_layers(results)
            classes = list(dict.fromkeys(layers["pattern"]))
            by_layer = layers.pivot(index="layer", columns="pattern", values="share")[classes]
            frames[f"{name}: share of each layer's maps"] = by_layer.reset_index()
            heads = leading_patterns(results).sort_values(
                ["share", "layer", "head"], ascending=[False, True, True]
            )
            frames[f"{name}: heads by their leading class"] = pd.DataFrame(
                {
                    "leading class": str(pattern),
                    "heads": len(group),
                    "which, the surest first": ", ".join(group["name"].head(10))
                    + (" …" if len(group) > 10 else ""),
                }
                for pattern, group in heads.groupby("pattern", sort=False)
            )
        return frames

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """How intervals were made, long texts, and the published shares."""
        from headscope.measures.patterns import RELIABLE
        from headscope.stats.tables.patterns import HETEROGENEOUS, shares_by_file

        files = pattern_files(atlas, self.beside)
        few = shares_by_file(files)["low"].isna().any()
        yield (
            "95 % intervals by jackknife (groups of documents left out in turn)"
            + (": needs at least two documents" if few else "")
        )
        if any(one.provenance["settings"]["max_length"] > RELIABLE for one in files.values()):
            yield (
                f"warning: the built-in network is often wrong on maps of more than {RELIABLE} "
                f"tokens (see headscope label --check): survey with --max-length {RELIABLE}, or "
                "label longer maps and retrain"
            )
        published = ", ".join(f"{share:.0%} ({task})" for task, share in HETEROGENEOUS.items())
        yield (
            f"published: heterogeneous {published}, BERT base fine-tuned (Kovaleva et al. 2019, "
            "Figure 2)"
        )


class ProbeTable(TableOptions):
    """Options of the table of probes.

    Parameters
    ----------
    n
        How many heads together. Default: as many as a layer has.
    task
        The best heads of one task instead.
    top
        How many heads of that task.
    """

    name = "probes"
    title = "Test scores in percent; layers and heads are chosen by validation scores"
    needs = ("probe",)

    n: Annotated[int | None, Option(short="-n", least=1, name="number of heads")] = None
    task: Annotated[str, Option(metavar="NAME", completes="tasks")] = ""
    top: Annotated[int, Option(least=1, name="number of heads")] = 10

    def frames(self, atlas: Atlas) -> Frames:
        """Scores by task, and means over splits where there are any; or the heads of a task."""
        from headscope.stats.tables.probing import TOP, head_table, split_table, top_table

        if self.task:
            return {f"{self.task}: the best heads": head_table(atlas, self.task, count=self.top)}
        means = {"Means over random splits": split_table(atlas)} if TOP in atlas.measures else {}
        return {self.title: top_table(atlas, n=self.n)} | means

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """Remarks on the probes."""
        from headscope.stats.tables.probing import probing_remarks, small_test_text, small_tests

        small = small_test_text(small_tests(atlas))
        yield from (f"* {remark}" for remark in [*probing_remarks(atlas), small] if remark)


class AblationTable(TableOptions):
    """Options of the table of disabled heads.

    Parameters
    ----------
    off
        What is disabled. Default: the first of head, layer and set that the results have.
    """

    name = "ablation"
    title = "disabled, the largest gain first"
    needs = ("ablation", "ablation_layer", "ablation_set")

    off: Literal["", "head", "layer", "set"] = ""

    def frames(self, atlas: Atlas) -> Frames:
        """Every head, layer or set."""
        from headscope.stats.tables.ablation import KINDS, change_table

        kinds = [kind for kind, name in KINDS.items() if name in atlas.measures]
        if self.off and self.off not in kinds:
            raise unknown("kind of what is disabled", self.off, kinds)
        kind = self.off or (kinds or ["head"])[0]
        return {f"{kind.capitalize()}s {self.title}": change_table(atlas, kind)}


class SimilarityTable(TableOptions):
    """Options of the table of two models' maps."""

    name = "similarity"
    title = "Cosine between two models' maps, by layer (Kovaleva et al. 2019)"
    needs = ("change",)

    def frames(self, atlas: Atlas) -> Frames:
        """Cosines by layer; and the paired differences, where measures were compared."""
        from headscope.stats import cosine_table, paired_table

        paired = [name for name in atlas.measures if name not in self.needs]
        more = {"Paired differences": paired_table(atlas)} if paired else {}
        return {self.title: cosine_table(atlas)} | more


class EmergenceTable(TableOptions):
    """Options of the table of checkpoints.

    Parameters
    ----------
    by
        Follow this value instead of roles, such as synthetic:induction.
    threshold
        From which value on a head counts. Default: 0.1 for roles; with a value it must be given.
    """

    name = "emergence"
    title = "The first checkpoint from which each head stays past the threshold"
    needs = ("track",)
    made_by = "emergence"

    by: Annotated[str, Option(metavar="VALUE", completes="statistics")] = ""
    threshold: float | None = None


class Strongest(TableOptions):
    """How much of a table is shown.

    Parameters
    ----------
    top
        How many rows.
    """

    top: Annotated[int, Option(least=1, name="number of rows")] = 10


class RetrievalTable(Strongest):
    """Options of the table of retrieval heads."""

    name = "retrieval"
    title = "Retrieval heads: share of the answer's tokens copied (Wu et al. 2024)"
    needs = ("retrieval",)

    def frames(self, atlas: Atlas) -> Frames:
        """Heads; then the answers recovered, with all heads and with some disabled."""
        from headscope.stats.tables.circuits import (
            retrieval_heads,
            retrieval_masking,
            retrieval_recovery,
        )

        return {
            self.title: retrieval_heads(atlas, top=self.top),
            "Answers recovered (more than half of their words)": retrieval_recovery(atlas),
            "Recovered answers with heads disabled: recall of their words": retrieval_masking(
                atlas
            ),
        }


PLAIN: tuple[tuple[type[TableOptions], str, str, tuple[str, ...], str], ...] = (
    (Strongest, "copying", "Copying heads (Elhage et al. 2021)", ("copying",),
     "copying_heads"),
    (Strongest, "composition",
     "Strongest composition of two heads, over random heads (Elhage et al. 2021)",
     ("composition",), "strongest_compositions"),
    (TableOptions, "sinks", "Attention sinks: on which tokens heads rest", ("sink_places",),
     "sink_table"),
    (TableOptions, "nulls", "Each statistic beside the bands of null models", (),
     "null_table"),
    (TableOptions, "thresholds",
     "Thresholds behind roles and sentences, and how many heads change with each", (),
     "threshold_table"),
)  # fmt: skip
"""Tables that a function of :mod:`headscope.stats` makes whole: whose options they take, name,
title, what they need, and the function."""
KINDS: tuple[type[TableOptions], ...] = (
    *(StatisticsTable, RelationTable, CoreferenceTable, RoleTable, FrameTable, PatternTable),
    *(ProbeTable, AblationTable, SimilarityTable, EmergenceTable, RetrievalTable),
    *(type("PlainTable", (kind,), dict(zip(ABOUT, about, strict=True))) for kind, *about in PLAIN),
)
TABLES = {kind.name: kind for kind in KINDS}


@command(FILES, {"": TableOptions} | TABLES)
def table(
    results: ResultsFile,
    name: Annotated[
        str,
        Parameter(
            name="NAME",
            help=f"One of {', '.join(TABLES)}. Its own options: headscope table NAME --help.",
            completer=lambda context: tuple(TABLES),
        ),
    ],
    options: TableOptions,
    console: Console,
) -> None:
    """Print a table of results, or write it as LaTeX, CSV or HTML.

    Example: headscope table demo.nc relations -o relations.tex
    """
    from headscope.results import Atlas

    if name not in TABLES:
        raise unknown("table", name, TABLES)
    atlas = Atlas.open(results)
    if options.needs and not any(group in atlas for group in options.needs):
        there = [kind.name for kind in KINDS if any(group in atlas for group in kind.needs)]
        raise UserError(
            f"{results} has no table {name!r}: it holds no {options.needs[0]!r}; it has "
            f"{', '.join(['statistics', *there])}",
            hint="see what it holds with: headscope ls " + str(results),
        )
    frames = options.frames(atlas)
    title, first = next(iter(frames.items()))
    if options.output is not None:
        _write(atlas, options, title, first)
        console.result(str(options.output))
        return
    console.frame(first if console.as_json else options.for_people(first, screen=True), title=title)
    if not (console.as_json or console.quiet):
        for more, frame in list(frames.items())[1:]:
            console.frame(frame, title=more)
    for note in filter(None, options.notes(atlas)):
        console.say(note)


def _write(atlas: Atlas, options: TableOptions, title: str, frame: pd.DataFrame) -> None:
    """Write a table: people's columns, but all of them for a spreadsheet."""
    from headscope.results.export import write_table

    path = options.output
    assert path is not None
    page = options.page(atlas) if path.suffix == ".html" else None
    if page is not None:
        page(path)
    else:
        shown = frame if path.suffix == ".csv" else options.for_people(frame)
        write_table(shown, path, title=title, notes=[*filter(None, options.notes(atlas))])


def pattern_files(atlas: Atlas, beside: Iterable[Path]) -> dict[str, Atlas]:
    """Results with pattern classes by a short name; a file without them is an error naming it."""
    from headscope.errors import ResultsError
    from headscope.results import Atlas as Results
    from headscope.stats.tables.patterns import pattern_data

    files = {atlas.provenance["corpus"]["name"]: atlas}
    pattern_data(atlas)
    for path in beside:
        results = Results.open(path)
        try:
            pattern_data(results)
        except ResultsError as error:
            raise ResultsError(f"{path}: {error.message}", hint=error.hint) from None
        files[path.stem if path.stem not in files else str(path)] = results
    return files


def _opened(path: Path | None) -> Any:
    from headscope.results import Atlas

    return None if path is None else Atlas.open(path)


def _intervals(frame: pd.DataFrame) -> list[str]:
    from headscope.numbers import interval, share

    ends = zip(frame["low"], frame["high"], strict=True)
    return [interval(low, high, form=share) for low, high in ends]
