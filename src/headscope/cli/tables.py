"""Tables of a results file: ``headscope table RESULTS NAME``.

A table is one class: its name, what it says, its options, and how it is made; its columns are in
:mod:`headscope.results.columns`. Files, JSON and the screen are the same for all of them, and
commands that make results show the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter

from headscope.cli.app import FILES, ResultsFile, command
from headscope.cli.console import Console, PrintedTable
from headscope.errors import UserError, unknown
from headscope.labels import CHANGE
from headscope.options import PYTHON, Option, Options, RoleTest, described

if TYPE_CHECKING:
    import pandas as pd

    from headscope.results import Atlas

Correction = Literal["none", "holm", "bh"]
ABOUT = ("name", "title", "needs", "made_by", "columns")
SHOWN_HEADS = 3
"""Of each probing task."""


class TableOptions(Options):
    """Options of every table.

    Parameters
    ----------
    results
        The file that the table is of.
    output
        Write the table to a file: .tex (LaTeX with booktabs), .csv, .html or .parquet.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    """Groups of which a results file must have one."""
    made_by: ClassVar[str] = ""
    """The function of :mod:`headscope.stats` that makes it, with these options as keywords."""
    columns: ClassVar[str] = ""
    """The columns of :mod:`headscope.results.columns` that people read."""

    results: Annotated[Path | None, PYTHON] = None
    output: Annotated[Path | None, Option(short="-o", metavar="FILE")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output is not None:
            from headscope.results.export import table_format

            table_format(self.output)

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """The table, and tables that are shown below it on a screen."""
        module, _, function = self.made_by.partition(":")
        make = getattr(import_module(f"headscope.stats.{module}"), function)
        own = described(type(self)).keys() - described(TableOptions).keys()
        frame = make(atlas, **{key: getattr(self, key) for key in own})
        return [PrintedTable(self.title, frame, self.columns)]

    def notes(self, atlas: Atlas) -> Iterable[str]:
        """Sentences below the table."""
        return ()

    def page(self, atlas: Atlas) -> Callable[[Path], Path] | None:
        """What writes the table as a page, where it has one of its own."""
        return None

    def show(self, console: Console, atlas: Atlas, *, is_result: bool = False) -> None:
        """Print it: what people read, or as JSON every row of the first table, and of those that
        have the same columns. If it is the command's result, "quiet" leaves the first table.
        """
        shown = self.frames(atlas)
        if console.as_json:
            alike = [table.frame for table in shown if table.columns == shown[0].columns]
            console.records(*alike)
        else:
            console.tables(shown[: int(is_result)] if console.quiet else shown)
        for note in filter(None, self.notes(atlas)):
            if is_result or not note.startswith("* "):
                console.say(note)
            else:
                console.paragraph(note.removeprefix("* "), mark="* ")

    def write(self, path: Path, atlas: Atlas) -> None:
        """Write the first table: a paper's or people's columns, but all of them for a
        spreadsheet.
        """
        from headscope.results.export import write_table

        if path.suffix == ".html" and (page := self.page(atlas)):
            page(path)
            return
        first = self.frames(atlas)[0]
        notes = [note.removeprefix("* ") for note in self.notes(atlas) if note]
        paper = path.suffix == ".tex"
        whole = path.suffix in (".csv", ".parquet")
        frame = first.frame if whole else first.for_people(paper=paper)
        write_table(frame, path, title=first.title, notes=notes, label=f"tab:{self.name}")


class StatisticsTable(TableOptions):
    """Options of the table of all statistics."""

    name = "statistics"
    title = "Every statistic: its mean over heads and its strongest head"

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """The summary of a survey."""
        return [PrintedTable(self.title, atlas.summary(), "SUMMARY")]


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

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
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
        return [PrintedTable(self.title, table, self.columns)]

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

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Scores of the head and the baselines."""
        from headscope.stats import antecedent_scores, antecedent_table

        make = antecedent_scores if self.kinds else antecedent_table
        table = make(atlas, candidates=self.candidates, train=_opened(self.train))
        return [PrintedTable(self.title, table, "ANTECEDENTS")]

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """How intervals were made."""
        from headscope.stats.inference.documents import interval_note

        yield interval_note(atlas["coreference"])


class RoleTable(TableOptions, RoleTest):
    """Options of the table of roles.

    Parameters
    ----------
    role
        Only this role.
    before
        The same corpus before fine-tuning: how the roles shift, by thirds of the layers.
    least
        The smallest shift that is of interest, in times uniform attention.
    """

    name = "roles"
    title = "Heads by role: mean sieve bias over tau, tested (Pande et al. 2021)"
    needs = ("role",)

    role: Annotated[Sequence[str], Option(metavar="NAME", completes="roles")] = ()
    before: Annotated[Path | None, Option(metavar="FILE")] = None
    least: float = 0.1

    def tests(self, atlas: Atlas) -> Any:
        """The tests of all roles."""
        tests = atlas.roles(**self.subset(RoleTest))
        known = [str(name) for name in tests["role"].values]
        for name in self.role:
            if name not in known:
                raise unknown("role", name, known)
        return tests

    def shift(self, atlas: Atlas, roles: Sequence[str]) -> pd.DataFrame | None:
        """The shift since the results before fine-tuning."""
        from headscope.stats import role_shift

        if self.before is None:
            return None
        how = self.subset(RoleTest)
        return role_shift(
            _opened(self.before),
            atlas,
            roles=roles,
            least=self.least,
            **{name: how[name] for name in ("alpha", "clusters")},
        )

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Roles; then how many heads have each by tau, by layer, together, and shifts."""
        from headscope.stats import COARSE, layer_shares, role_table, share_table, tau_table

        tests = self.tests(atlas)
        roles = self.role or [str(name) for name in tests["role"].values]
        table, taus = role_table(atlas, tests), tau_table(atlas, **self.subset(RoleTest))
        table, taus = table[table["role"].isin(roles)], taus[taus["role"].isin(roles)]
        layers, shift = layer_shares(tests, self.role or COARSE), self.shift(atlas, roles)
        of_layers = "Share of each layer's heads (%), and fine roles per head"
        title = "Shift: after minus before"
        shifted = [] if shift is None else [PrintedTable(title, shift, "SHIFTS")]
        return [
            PrintedTable(self.title, table, "ROLES"),
            PrintedTable("Number of heads with each role, by τ", taus, "TAUS"),
            PrintedTable(of_layers, layers, "LAYERS"),
            PrintedTable("Heads with several roles", share_table(tests), "SHARES"),
            *shifted,
        ]

    def notes(self, atlas: Atlas) -> Iterable[str]:
        """What to be careful about."""
        from headscope.stats import cautions

        return (f"* {caution}" for caution in cautions(atlas, self.tests(atlas)))

    def page(self, atlas: Atlas) -> Callable[[Path], Path]:
        """Every table and figure about roles."""
        from headscope.page import roles_document, write_document

        tests = self.tests(atlas)
        roles = self.role or [str(name) for name in tests["role"].values]
        document = roles_document(atlas, tests, shift=self.shift(atlas, roles))
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
    made_by = "tables.relations:frame_table"
    columns = "FRAMES"

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

    def files(self, atlas: Atlas) -> dict[str, Atlas]:
        """These results and those beside them, by name."""
        own = self.results or Path(atlas.provenance["corpus"]["name"])
        return pattern_files({own: atlas}, self.beside)

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Shares by file; then by layer and by head."""
        from headscope.stats.tables.patterns import class_heads, class_layers, shares_by_file

        files = self.files(atlas)
        shown = [PrintedTable(self.title, shares_by_file(files), "PATTERNS")]
        for name, results in files.items():
            layers, heads = class_layers(results), class_heads(results)
            shown.append(PrintedTable(f"{name}: share of each layer's maps", layers))
            shown.append(PrintedTable(f"{name}: heads by their leading class", heads))
        return shown

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """How intervals were made, long texts, and the published shares."""
        from headscope.measures.patterns import RELIABLE
        from headscope.stats.tables.patterns import HETEROGENEOUS, shares_by_file

        files = self.files(atlas)
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
    title = "layers and heads are chosen by validation scores"
    needs = ("probe",)

    n: Annotated[int | None, Option(short="-n", least=1, name="number of heads")] = None
    task: Annotated[str, Option(metavar="NAME", completes="tasks")] = ""
    top: Annotated[int, Option(least=1, name="number of heads")] = 10

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Scores by task, means over splits where there are any, and the best heads; or the heads
        of a task.
        """
        from headscope.stats.tables import probing

        if self.task:
            frame = probing.head_table(atlas, self.task, count=self.top)
            return [PrintedTable(f"{self.task}: the best heads", frame, "PROBED_HEADS")]
        title = f"Test scores in percent of {atlas.provenance['model']['name']}; {self.title}"
        shown = [PrintedTable(title, probing.top_table(atlas, n=self.n), "PROBES")]
        if probing.TOP in atlas.measures:
            splits = probing.split_table(atlas)
            title = f"Means over {splits['splits'][0]} random splits, with 95 % intervals"
            shown.append(PrintedTable(title, splits, "SPLITS"))
        heads = probing.best_of_tasks(atlas, count=SHOWN_HEADS)
        return [
            *shown,
            PrintedTable("Best heads, by their validation scores", heads, "PROBED_HEADS"),
        ]

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """Remarks on the probes."""
        from headscope.stats.tables import probing

        said = [probing.split_text(atlas)] if probing.TOP in atlas.measures else []
        said += [
            *probing.probing_remarks(atlas),
            probing.small_test_text(probing.small_tests(atlas)),
        ]
        yield from (f"* {remark}" for remark in said if remark)


class AblationTable(TableOptions):
    """Options of the table of disabled heads.

    Parameters
    ----------
    off
        What is disabled: head, layer or set. Default: all that the results have.
    few
        Of heads, only so many of the largest gains, and of the largest losses.
    """

    name = "ablation"
    needs = ("ablation", "ablation_layer", "ablation_set")

    off: Literal["", "head", "layer", "set"] = ""
    few: Annotated[int | None, PYTHON] = None

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Heads, layers and sets; and whether gradient importance agrees."""
        from headscope.stats.tables.ablation import KINDS, change_records

        kinds = [kind for kind, name in KINDS.items() if name in atlas.measures]
        if self.off and self.off not in kinds:
            raise unknown("kind of what is disabled", self.off, kinds)
        if not kinds:  # gradient importance alone
            return [PrintedTable("Gradient importance", atlas.heads(by="importance", top=self.few))]
        shown = []
        for kind in [self.off] if self.off else kinds:
            frame, few = change_records(atlas, kind), self.few
            if kind != "head" or few is None or len(frame) <= 2 * few:
                title = f"{kind.capitalize()}s disabled, the largest gain first"
                shown.append(PrintedTable(title, frame, "ABLATION"))
            else:
                shown.append(PrintedTable("Largest gains", frame.head(few), "ABLATION"))
                shown.append(PrintedTable("Largest losses", frame.tail(few)[::-1], "ABLATION"))
        if "importance_agreement" in atlas.measures and not self.off:
            agreement = atlas["importance_agreement"].to_dataframe().reset_index()
            shown.append(PrintedTable("Gradient importance and disabling", agreement, "IMPORTANCE"))
        return shown

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """The baseline, how many heads differ from it, and what to be careful about."""
        from headscope.labels import lost_tokens
        from headscope.stats.tables.ablation import ablation_notes

        yield from ablation_notes(atlas)
        if lost := lost_tokens(atlas.provenance, split=False):
            yield f"* {lost}"


class SimilarityTable(TableOptions):
    """Options of the table of two models' maps."""

    name = "similarity"
    title = "Cosine between two models' maps, by layer (Kovaleva et al. 2019)"
    needs = ("change",)

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Cosines by layer; and the paired differences, where measures were compared."""
        from headscope.stats import cosine_table, paired_table

        shown = [PrintedTable(self.title, cosine_table(atlas), "SIMILARITY")]
        if any(name.endswith(CHANGE) for name in atlas.measures):
            shown.append(PrintedTable("Paired differences", paired_table(atlas)))
        return shown


class MatchTable(TableOptions):
    """Options of the table of partners."""

    name = "matches"
    title = "Each head's partner in the second model, by the cosine of their maps"
    needs = ("match",)
    made_by = "tables.change:matched_heads"
    columns = "MATCHES"

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """How many partners stand in the same place."""
        from headscope.stats import matched_heads

        pairs = matched_heads(atlas)
        same = int((pairs["head"] == pairs["partner"]).sum())
        means = pairs[["cosine", "same place"]].mean()
        yield (
            f"{same} of {len(pairs)} partners stand in the same place; mean cosine of partners "
            f"{means['cosine']:.2f}, of heads in the same place {means['same place']:.2f}"
        )


class Following(Options):
    """When heads get what they have at the last checkpoint.

    Parameters
    ----------
    by
        Follow this value, such as synthetic:induction. Default: every role, by how far it is above
        chance and its test.
    threshold
        What a value must pass for good. Default: 0.1 above chance; with a value it must be given.
    top
        Rows of the table.
    """

    by: Annotated[str, Option(metavar="VALUE", completes="statistics")] = ""
    threshold: float | None = None
    top: Annotated[int | None, Option(least=1, metavar="N", name="number of rows")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.by.strip():
            return
        from headscope.results.query import split_value

        split_value(self.by)
        if self.threshold is None:
            raise UserError(
                f"the threshold of {self.by} is missing: values differ too much for one default",
                hint=f"e.g. by={self.by!r} with threshold=0.5",
            )


class EmergenceTable(TableOptions, Following):
    """Options of the table of checkpoints."""

    name = "emergence"
    title = "The first checkpoint from which each head stays past the threshold"
    needs = ("track",)

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """The earliest first."""
        from headscope.stats import emergence

        table = emergence(atlas, by=self.by, threshold=self.threshold)
        return [PrintedTable(self.title, table[: self.top], "EMERGENCE")]


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

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Heads; then the answers recovered, with all heads and with some disabled."""
        from headscope.stats.tables.circuits import (
            FOCUS,
            retrieval_heads,
            retrieval_masking,
            retrieval_recovery,
        )

        focused: list[PrintedTable] = []
        if FOCUS in atlas:
            title = (
                "Query-focused heads: the needle's attention from its question (Zhang et al. 2025)"
            )
            frame = retrieval_heads(atlas, top=self.top, by=FOCUS)
            focused.append(PrintedTable(title, frame, "RETRIEVED"))
        answers = "Answers recovered (more than half of their words)"
        disabled = "Recovered answers with heads disabled: recall of their words"
        return [
            PrintedTable(self.title, retrieval_heads(atlas, top=self.top), "RETRIEVED"),
            PrintedTable(answers, retrieval_recovery(atlas), "RECOVERED"),
            PrintedTable(disabled, retrieval_masking(atlas), "MASKED"),
            *focused,
        ]


class CacheTable(TableOptions):
    """Options of the table of a cut cache."""

    name = "cache"
    title = "Loss and recall with the cache of KV heads cut"
    needs = ("cache",)
    made_by = "tables.cache:cache_table"
    columns = "CACHE"

    def notes(self, atlas: Atlas) -> Iterator[str]:
        """What cutting costs, and the best choice."""
        from headscope.stats.tables.cache import cache_sentences

        yield from (f"* {said}" for said in cache_sentences(atlas))


class NullTable(TableOptions):
    """Options of the table of null models.

    Parameters
    ----------
    top
        Of each null model only the N statistics in which most heads are beyond its band.
    """

    name = "nulls"
    title = "Heads beyond the middle 95 % of the heads of null models"
    needs = ("null",)

    top: Annotated[int | None, Option(least=1, name="number of rows")] = None

    def frames(self, atlas: Atlas) -> list[PrintedTable]:
        """Those first in which most heads are beyond."""
        import pandas as pd

        from headscope.stats import null_table

        table = null_table(atlas).sort_values("beyond", ascending=False, kind="stable")
        parts = [table[table["null"] == null][: self.top] for null in atlas.nulls]
        return [PrintedTable(self.title, pd.concat(parts, ignore_index=True), "NULLS")]


PLAIN: tuple[tuple[type[TableOptions], str, str, tuple[str, ...], str, str], ...] = (
    (Strongest, "copying", "Copying heads (Elhage et al. 2021)", ("copying",),
     "tables.circuits:copying_heads", ""),
    (Strongest, "composition",
     "Strongest composition of two heads, over random heads (Elhage et al. 2021)",
     ("composition",), "tables.circuits:strongest_compositions", ""),
    (Strongest, "vocabulary", "Relations between words in the weights (Elhelo and Geva 2025)",
     ("vocabulary",), "tables.circuits:vocabulary_heads", "VOCABULARY"),
    (TableOptions, "sinks", "Attention sinks: on which tokens heads rest", ("sink_places",),
     "tables.circuits:sink_table", "SINKS"),
    (TableOptions, "thresholds",
     "Thresholds behind roles and sentences, and how many heads change with each", (),
     "heads.thresholds:threshold_table", ""),
)  # fmt: skip
"""Tables that a function of :mod:`headscope.stats` makes whole: whose options they take, name,
title, what they need, the function, and their columns."""
KINDS: tuple[type[TableOptions], ...] = (
    *(StatisticsTable, RelationTable, CoreferenceTable, RoleTable, FrameTable, PatternTable),
    *(
        ProbeTable,
        AblationTable,
        SimilarityTable,
        MatchTable,
        EmergenceTable,
        RetrievalTable,
        NullTable,
    ),
    CacheTable,
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
    if options.needs and not any(group in atlas.tree.children for group in options.needs):
        groups = atlas.tree.children
        there = [kind.name for kind in KINDS if any(group in groups for group in kind.needs)]
        raise UserError(
            f"{results} has no table {name!r}: it holds no {options.needs[0]!r}; it has "
            f"{', '.join(['statistics', *there])}",
            hint="see what it holds with: headscope ls " + str(results),
        )
    if options.output is None:
        options.show(console, atlas, is_result=True)
    else:
        options.write(options.output, atlas)
        console.result(str(options.output))


def pattern_files(own: Mapping[Path, Atlas], beside: Iterable[Path]) -> dict[str, Atlas]:
    """Results with pattern classes, each by the name of its file, or by its whole path where two
    have the same name; a file without any classes is an error naming it.
    """
    from headscope.errors import ResultsError
    from headscope.stats.tables.patterns import pattern_data

    files = {**own, **{path: _opened(path) for path in beside}}
    stems = [path.stem for path in files]
    for path, results in files.items():
        try:
            pattern_data(results)
        except ResultsError as error:
            raise ResultsError(f"{path}: {error.message}", hint=error.hint) from None
    return {
        path.stem if stems.count(path.stem) == 1 else str(path): results
        for path, results in files.items()
    }


def _opened(path: Path | None) -> Any:
    from headscope.results import Atlas

    return None if path is None else Atlas.open(path)
