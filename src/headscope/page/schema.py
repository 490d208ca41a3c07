"""What the page is given: the one description of its documents, for Python and TypeScript.

``tools/page_types.py`` writes ``web/src/data/types.ts`` from this file: docstrings and the comments
above a field go with it. A field that may be absent is ``NotRequired``.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Model(TypedDict):
    """The model, and the shape of its grid of heads."""

    name: str
    type: str
    stack: str
    layers: int
    heads: int
    # The model's own numbers of its layers, from 1.
    numbers: list[int]
    causal: bool


class Corpus(TypedDict):
    """What was read."""

    name: str
    examples: int


class NullBand(TypedDict):
    """Where the middle 95 % of the heads of a null model are."""

    # The null model in words: "random weights".
    null: str
    low: float
    high: float


class Statistic(TypedDict):
    """One statistic of every head: a row of the arrays value, low and high, (statistic, layer, head)."""  # noqa: E501

    # As a query names it: "position:previous".
    id: str
    measure: str
    # Under what it stands in menus.
    group: str
    # In plain words.
    title: str
    unit: str
    # How numbers are shown: a share as per cent, times uniform, a plain number.
    kind: Literal["share", "times", "number"]
    # The paper it comes from.
    source: str
    # Examples it rests on.
    n: int
    # Whether small tables and the head page show it without being asked.
    listed: bool
    # Where even attention would be, if it is one number for all heads.
    reference: float | None
    # Absent without null models.
    nulls: NotRequired[list[NullBand]]


class WorkRole(TypedDict):
    """A role of the active attention, with arrays work/value, work/half, work/p, work/has (role, layer, head)."""  # noqa: E501

    id: str
    title: str
    family: str
    # Absent without null models.
    nulls: NotRequired[list[NullBand]]


class TestedRole(TypedDict):
    """A tested role (Pande et al. 2021), with arrays tests/mean, low, high, p, effect, has, position (role, layer, head)."""  # noqa: E501

    id: str
    title: str


class Relation(TypedDict):
    """A dependency relation in one direction, with arrays relations/accuracy, low, high, p (relation, layer, head)."""  # noqa: E501

    id: str
    title: str
    # What a head finds that follows its arcs: "the noun of a determiner".
    words: str
    relation: str
    direction: str
    # Share right of the best fixed offset, and that offset.
    baseline: float
    offset: int
    n: int
    family: str
    # Absent without null models.
    nulls: NotRequired[list[NullBand]]


class HeadText(TypedDict):
    """What a head does, in a sentence, and the evidence."""

    lead: str
    evidence: str


class Part(TypedDict):
    """A part of a sentence, with the heads that it speaks of."""

    text: str
    heads: NotRequired[list[str]]
    strong: NotRequired[bool]


class SummaryLine(TypedDict):
    """A sentence of the model's summary."""

    # A family of roles, or "lead", "finding", "fact", "warning".
    family: str
    parts: list[Part]


class TableColumn(TypedDict):
    """The head of a column."""

    title: str
    # Right-aligned numbers.
    number: bool


class Table(TypedDict):
    """A table, its cells written as they are shown."""

    id: str
    title: str
    note: str
    columns: list[TableColumn]
    rows: list[list[str | None]]
    # Whether readers can sort it; a long one then scrolls in a box.
    sortable: bool


class PaperChart(TypedDict):
    """A chart of some statistics: "layers", one point per head by layer (as in Clark et al. 2019,
    Figure 2), or "grids", one small grid of heads per statistic.
    """

    id: str
    kind: Literal["layers", "grids"]
    title: str
    caption: str
    unit: str
    statistics: list[str]


class ChartLine(TypedDict):
    """A reference across a chart of layers: a value per layer, null where it is not defined."""

    name: str
    values: list[float | None]


class HeadsChart(TypedDict):
    """A chart with numbers of its own: the array chart/ID (part, layer, head), with intervals also
    chart/ID/low and high. Heads are framed where chart/ID/framed is 1.
    """

    id: str
    kind: Literal["layers", "grids"]
    title: str
    # Which results it is of: "demo on texts, 40 examples".
    about: str
    caption: str
    unit: str
    # Titles of the panels.
    parts: list[str]
    # How numbers are shown.
    value: Literal["share", "times", "number"]
    # Whether 0 is in the middle of the colours.
    diverging: bool
    # Whether all grids have one scale.
    shared: bool
    lines: list[ChartLine]


class ChartRow(TypedDict):
    """A row of a chart: the best head, its value with the interval, and what it is held against."""

    name: str
    # What stands beside: the head.
    beside: str
    value: float | None
    low: float | None
    high: float | None
    baseline: float | None


class RowsChart(TypedDict):
    """A chart of shares, one row per label."""

    id: str
    kind: Literal["rows"]
    title: str
    # Which results it is of: "demo on texts, 40 examples".
    about: str
    caption: str
    unit: str
    rows: list[ChartRow]


class Figure(TypedDict):
    """A figure drawn beforehand."""

    id: str
    kind: Literal["picture"]
    title: str
    # Which results it is of: "demo on texts, 40 examples".
    about: str
    caption: str
    # SVG text; the page takes from it only what draws.
    svg: str


class Section(TypedDict):
    """A heading, and what stands below it."""

    id: str
    title: str
    text: str
    plots: list[PaperChart | HeadsChart | RowsChart | Figure]
    tables: list[Table]
    # The command that runs a paper's whole recipe; absent where there is none.
    command: NotRequired[str]


class Fact(TypedDict):
    """A number with its meaning."""

    value: str
    about: str


class PageDocument(TypedDict):
    """The pack "document": a paper's page, a portrait, the page of a table."""

    # What the navigation calls it: "Clark et al. 2019".
    label: str
    title: str
    subtitle: str
    facts: list[Fact]
    # Sentences on what stands out.
    remarks: list[str]
    # For each row of the section "claims": yes, no, undecided or not tested.
    verdicts: list[str]
    sections: list[Section]
    # What could not be run, and why.
    missing: list[str]
    # What was run on what.
    runs: Table | None
    # Whether heads that are named are those of the page's first atlas.
    linked: bool
    provenance: str


class GalleryPaper(TypedDict):
    """A paper's page about a model of a gallery."""

    title: str
    href: str
    verdicts: list[str]


class GalleryModel(TypedDict):
    """A model of a gallery: the folder of its report, and its papers."""

    folder: str
    papers: list[GalleryPaper]


class Claim(TypedDict):
    """What a paper says, and for each model: yes, no, undecided, not tested, or ""."""

    text: str
    verdicts: list[str]


class Claims(TypedDict):
    """The claims of a paper across models."""

    paper: str
    claims: list[Claim]


class Gallery(TypedDict):
    """The pack "gallery": what the front page of a site says beside its atlases."""

    models: list[GalleryModel]
    claims: list[Claims]
    # BibTeX.
    citation: str


class Composition(TypedDict):
    """Which heads compose with which, from weights alone (Elhage et al. 2021)."""

    # "Q", "K", "V": what the later head computes from what the earlier one wrote.
    kinds: list[str]
    # By kind: the mean ratio of random heads, which excess is over, and its deviation.
    baseline: list[float]
    deviation: list[float]
    # What the matrices leave out, in sentences.
    notes: list[str]


class Appearance(TypedDict):
    """When a head got a role that it has at the last checkpoint."""

    head: str
    role: str
    family: str
    # Index of the first checkpoint from which on the head keeps the role.
    checkpoint: int
    # Excess over even attention there, and at the last checkpoint.
    value: float
    last: float
    # Whether it is the head's main role at the end.
    main: bool


class Track(TypedDict):
    """The checkpoints of a training; the rest of the document is about the last one."""

    names: list[str]
    # Training steps, where all names tell them.
    steps: list[int] | None
    # Ids of the statistics in the array track/value.
    statistics: list[str]
    # The smallest excess that counts as a role.
    least: float
    # Earliest first.
    appear: list[Appearance]


class Kept(TypedDict):
    """Examples kept per head."""

    kept: int
    strongest: int
    # Why there are none.
    why: str
    # What is left out of them, in a sentence; "" for nothing.
    cut: str


class AtlasDocument(TypedDict):
    """The pack of an atlas. Its arrays:

    value, low, high          f4 (statistic, layer, head); NaN where not defined
    roles/family, roles/second u1 (layer, head): index into families; second 255 = none
    roles/excess, low, high, p f4 (layer, head); roles/borderline u1
    roles/activity, spread     f4 (layer, head)
    activity                   f4 (kind, layer, head)
    work/value, half, p, position f4, work/has u1   (role, layer, head)
    tests/mean, low, high, p, effect, position f4, tests/has u1 (corrected), tests/positional u1;
    tests/plain u1 (not corrected, beyond position), tests/alone u1 (by position alone)
    relations/accuracy, low, high, p f4
    distance f4 (place, place)
    composition/earlier, composition/later i4 (kind, place, rank): places of other heads, -1 none;
    composition/earlier/excess, composition/later/excess f4
    track/value f4 (checkpoint, statistic, layer, head)
    track/family, second, borderline u1, track/excess, activity, main f4 (checkpoint, layer, head);
    main: the excess at the role that is the head's main one at the end
    """

    format: Literal[1]
    version: str
    model: Model
    corpus: Corpus
    # Warnings, in sentences.
    notes: list[str]
    statistics: list[Statistic]
    # Labels that queries may name: measure → dimension → labels.
    labels: dict[str, dict[str, list[str]]]
    # Families of main roles, in the order of roles/family (uint8); empty without main roles.
    families: list[str]
    work: list[WorkRole]
    tests: list[TestedRole]
    relations: list[Relation]
    # By place (layer index × heads + head).
    heads: list[HeadText]
    summary: list[SummaryLine]
    papers: list[Section]
    figures: list[Figure]
    # Kinds of rest in the order of the array activity (kind, layer, head), "at work" first.
    activity: list[str]
    # The same in words: "[CLS]", "first token".
    rests: list[str]
    examples: Kept
    # Whether the array distance (place, place) is there: Jensen–Shannon, nats.
    distance: bool
    # Null without circuits.
    composition: Composition | None
    # Null where the results are of one model.
    track: Track | None
    provenance: dict[str, Any]


class Text(TypedDict):
    """A text of the pack "texts"."""

    id: str
    tokens: list[str]
    # The word of each token, -1 for special tokens.
    unit: list[int]
    words: list[str]
    special: list[int]
    sink: list[int]
    # Dependency head of each word (-1 root, -2 unknown), and its relation.
    head: list[int]
    relation: list[str]
    # Tokens before the window was cut.
    length: int


class TextsDocument(TypedDict):
    """The pack "texts"."""

    texts: list[Text]
    # All heads of a card, as SVG.
    grid: str


class TokensDocument(TypedDict):
    """The pack "tokens": by place, the words that a head links most, for the search."""

    tokens: list[list[str]]


ExampleKind = Literal["strong", "typical", "weak", "random"]


class HeadExample(TypedDict):
    """One kept example of a head; its sparse map is rows first … first + rows of the pack's arrays."""  # noqa: E501

    # Index into the pack "texts".
    text: int
    kind: ExampleKind
    # Share of attention off sinks and off itself.
    score: float
    # Rank among the kept sample, or of all examples for the strongest.
    rank: int
    # Where its rows begin in counts, and its links in keys and weights.
    row: int
    rows: int
    link: int


class Pair(TypedDict):
    """A pair of words with its mean attention."""

    query: str
    key: str
    mean: float
    n: int


class TokenShare(TypedDict):
    """A word with its share of a head's attention."""

    token: str
    share: float


class HeadDocument(TypedDict):
    """The pack "head/3-9". Arrays: counts u1 (row), keys u2, weights u2 (link; 65535 = 1), histogram, uniform f4 (33). Of many heads in one file, keys may be u1, and weights u1: 255 times the square root."""  # noqa: E501

    examples: list[HeadExample]
    pairs: list[Pair]
    queries: list[TokenShare]
    keys: list[TokenShare]
    # Texts in the sample.
    sample: int
    # The head's card as SVG, with a mark where the grid goes; large reports of one file have none.
    card: NotRequired[str]


class TextDocument(TypedDict):
    """The pack "text" of a notebook: one text. Its maps are packs "text/3-9": weights u2 (query, key; 65535 = 1)."""  # noqa: E501

    model: str
    # "tokens" or "words".
    units: str
    tokens: list[str]
    # Places of special tokens.
    special: list[int]
    # All heads whose maps are known, by their strongest link.
    heads: list[str]
    # Those that are offered first.
    shown: list[str]
    # The strongest link between two words of these heads: "barked → dog 0.79".
    strongest: dict[str, str]


class LiveModel(TypedDict):
    """The explorer's model."""

    name: str
    type: str
    layers: int
    heads: int
    numbers: list[int]
    # The most tokens that a text may have.
    longest: int
    causal: bool
    # What it predicts: next or masked tokens, a class, or nothing.
    predicts: Literal["next", "masked", "class", ""]
    # The mask token, where masked tokens are predicted.
    mask: NotRequired[str]


class Beside(TypedDict):
    """Another page."""

    title: str
    href: str


class Boot(TypedDict):
    """The document in the page itself: which packs there are and how they are reached."""

    title: str
    # In script elements; in files beside the page; from the explorer; from a notebook's kernel.
    source: Literal["embedded", "folder", "server", "notebook"]
    # Names of the atlases, the main one first; none in an explorer without results.
    atlases: list[str]
    # Absent in reports.
    live: NotRequired[LiveModel]
    # What the navigation calls the pack "document", where there is one.
    document: NotRequired[str]
    # Pages about the same weights, in files beside this one.
    beside: NotRequired[list[Beside]]
    # Whether it is the front page of a site of several models, with a pack "gallery".
    gallery: NotRequired[bool]
