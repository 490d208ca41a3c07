/* Written by tools/page_types.py from src/headscope/page/schema.py: change that file. */

/** The model, and the shape of its grid of heads. */
export interface Model {
  name: string;
  type: string;
  stack: string;
  layers: number;
  heads: number;
  /** The model's own numbers of its layers, from 1. */
  numbers: number[];
  causal: boolean;
}

/** What was read. */
export interface Corpus {
  name: string;
  examples: number;
}

/** Where the middle 95 % of the heads of a null model are. */
export interface NullBand {
  /** The null model in words: "random weights". */
  null: string;
  low: number;
  high: number;
}

/** One statistic of every head: a row of the arrays value, low and high, (statistic, layer, head). */
export interface Statistic {
  /** As a query names it: "position:previous". */
  id: string;
  measure: string;
  /** Under what it stands in menus. */
  group: string;
  /** In plain words. */
  title: string;
  unit: string;
  /** How numbers are shown: a share as per cent, times uniform, a plain number. */
  kind: "share" | "times" | "number";
  /** The paper it comes from. */
  source: string;
  /** Examples it rests on. */
  n: number;
  /** Whether small tables and the head page show it without being asked. */
  listed: boolean;
  /** Where even attention would be, if it is one number for all heads. */
  reference: number | null;
  /** Absent without null models. */
  nulls?: NullBand[];
}

/** A role of the active attention, with arrays work/value, work/half, work/p, work/has (role, layer, head). */
export interface WorkRole {
  id: string;
  title: string;
  family: string;
  /** Absent without null models. */
  nulls?: NullBand[];
}

/** A tested role (Pande et al. 2021), with arrays tests/mean, low, high, p, effect, has, position (role, layer, head). */
export interface TestedRole {
  id: string;
  title: string;
}

/** A dependency relation in one direction, with arrays relations/accuracy, low, high, p (relation, layer, head). */
export interface Relation {
  id: string;
  title: string;
  /** What a head finds that follows its arcs: "the noun of a determiner". */
  words: string;
  relation: string;
  direction: string;
  /** Share right of the best fixed offset, and that offset. */
  baseline: number;
  offset: number;
  n: number;
  family: string;
  /** Absent without null models. */
  nulls?: NullBand[];
}

/** What a head does, in a sentence, and the evidence. */
export interface HeadText {
  lead: string;
  evidence: string;
}

/** A part of a sentence, with the heads that it speaks of. */
export interface Part {
  text: string;
  heads?: string[];
  strong?: boolean;
}

/** A sentence of the model's summary. */
export interface SummaryLine {
  /** A family of roles, or "lead", "finding", "fact", "warning". */
  family: string;
  parts: Part[];
}

/** The head of a column. */
export interface TableColumn {
  title: string;
  /** Right-aligned numbers. */
  number: boolean;
}

/** A table, its cells written as they are shown. */
export interface Table {
  id: string;
  title: string;
  note: string;
  columns: TableColumn[];
  rows: (string | null)[][];
  /** Whether readers can sort it; a long one then scrolls in a box. */
  sortable: boolean;
}

/**
 * A chart of some statistics: "layers", one point per head by layer (as in Clark et al. 2019,
 * Figure 2), or "grids", one small grid of heads per statistic.
 */
export interface PaperChart {
  id: string;
  kind: "layers" | "grids";
  title: string;
  caption: string;
  unit: string;
  statistics: string[];
}

/** A reference across a chart of layers: a value per layer, null where it is not defined. */
export interface ChartLine {
  name: string;
  values: (number | null)[];
}

/**
 * A chart with numbers of its own: the array chart/ID (part, layer, head), with intervals also
 * chart/ID/low and high. Heads are framed where chart/ID/framed is 1.
 */
export interface HeadsChart {
  id: string;
  kind: "layers" | "grids";
  title: string;
  /** Which results it is of: "demo on texts, 40 examples". */
  about: string;
  caption: string;
  unit: string;
  /** Titles of the panels. */
  parts: string[];
  /** How numbers are shown. */
  value: "share" | "times" | "number";
  /** Whether 0 is in the middle of the colours. */
  diverging: boolean;
  /** Whether all grids have one scale. */
  shared: boolean;
  lines: ChartLine[];
}

/** A row of a chart: the best head, its value with the interval, and what it is held against. */
export interface ChartRow {
  name: string;
  /** What stands beside: the head. */
  beside: string;
  value: number | null;
  low: number | null;
  high: number | null;
  baseline: number | null;
}

/** A chart of shares, one row per label. */
export interface RowsChart {
  id: string;
  kind: "rows";
  title: string;
  /** Which results it is of: "demo on texts, 40 examples". */
  about: string;
  caption: string;
  unit: string;
  rows: ChartRow[];
}

/** A figure drawn beforehand. */
export interface Figure {
  id: string;
  kind: "picture";
  title: string;
  /** Which results it is of: "demo on texts, 40 examples". */
  about: string;
  caption: string;
  /** SVG text; the page takes from it only what draws. */
  svg: string;
}

/** A heading, and what stands below it. */
export interface Section {
  id: string;
  title: string;
  text: string;
  plots: (PaperChart | HeadsChart | RowsChart | Figure)[];
  tables: Table[];
  /** The command that runs a paper's whole recipe; absent where there is none. */
  command?: string;
}

/** A number with its meaning. */
export interface Fact {
  value: string;
  about: string;
}

/** The pack "document": a paper's page, a portrait, the page of a table. */
export interface PageDocument {
  /** What the navigation calls it: "Clark et al. 2019". */
  label: string;
  title: string;
  subtitle: string;
  facts: Fact[];
  /** Sentences on what stands out. */
  remarks: string[];
  /** For each row of the section "claims": yes, no, undecided or not tested. */
  verdicts: string[];
  sections: Section[];
  /** What could not be run, and why. */
  missing: string[];
  /** What was run on what. */
  runs: Table | null;
  /** Whether heads that are named are those of the page's first atlas. */
  linked: boolean;
  provenance: string;
}

/** A paper's page about a model of a gallery. */
export interface GalleryPaper {
  title: string;
  href: string;
  verdicts: string[];
}

/** A model of a gallery: the folder of its report, and its papers. */
export interface GalleryModel {
  folder: string;
  papers: GalleryPaper[];
}

/** What a paper says, and for each model: yes, no, undecided, not tested, or "". */
export interface Claim {
  text: string;
  verdicts: string[];
}

/** The claims of a paper across models. */
export interface Claims {
  paper: string;
  claims: Claim[];
}

/** The pack "gallery": what the front page of a site says beside its atlases. */
export interface Gallery {
  models: GalleryModel[];
  claims: Claims[];
  /** BibTeX. */
  citation: string;
}

/** Which heads compose with which, from weights alone (Elhage et al. 2021). */
export interface Composition {
  /** "Q", "K", "V": what the later head computes from what the earlier one wrote. */
  kinds: string[];
  /** By kind: the mean ratio of random heads, which excess is over, and its deviation. */
  baseline: number[];
  deviation: number[];
  /** What the matrices leave out, in sentences. */
  notes: string[];
}

/** When a head got a role that it has at the last checkpoint. */
export interface Appearance {
  head: string;
  role: string;
  family: string;
  /** Index of the first checkpoint from which on the head keeps the role. */
  checkpoint: number;
  /** Excess over even attention there, and at the last checkpoint. */
  value: number;
  last: number;
  /** Whether it is the head's main role at the end. */
  main: boolean;
}

/** The checkpoints of a training; the rest of the document is about the last one. */
export interface Track {
  names: string[];
  /** Training steps, where all names tell them. */
  steps: number[] | null;
  /** Ids of the statistics in the array track/value. */
  statistics: string[];
  /** The smallest excess that counts as a role. */
  least: number;
  /** Earliest first. */
  appear: Appearance[];
}

/** Examples kept per head. */
export interface Kept {
  kept: number;
  strongest: number;
  /** Why there are none. */
  why: string;
  /** What is left out of them, in a sentence; "" for nothing. */
  cut: string;
}

/**
 * The pack of an atlas. Its arrays:
 *
 * value, low, high          f4 (statistic, layer, head); NaN where not defined
 * roles/family, roles/second u1 (layer, head): index into families; second 255 = none
 * roles/excess, low, high, p f4 (layer, head); roles/borderline u1
 * roles/activity, spread     f4 (layer, head)
 * activity                   f4 (kind, layer, head)
 * work/value, half, p, position f4, work/has u1   (role, layer, head)
 * tests/mean, low, high, p, effect, position f4, tests/has u1 (corrected), tests/positional u1;
 * tests/plain u1 (not corrected, beyond position), tests/alone u1 (by position alone)
 * relations/accuracy, low, high, p f4
 * distance f4 (place, place)
 * composition/earlier, composition/later i4 (kind, place, rank): places of other heads, -1 none;
 * composition/earlier/excess, composition/later/excess f4
 * track/value f4 (checkpoint, statistic, layer, head)
 * track/family, second, borderline u1, track/excess, activity, main f4 (checkpoint, layer, head);
 * main: the excess at the role that is the head's main one at the end
 */
export interface AtlasDocument {
  format: 1;
  version: string;
  model: Model;
  corpus: Corpus;
  /** Warnings, in sentences. */
  notes: string[];
  statistics: Statistic[];
  /** Labels that queries may name: measure → dimension → labels. */
  labels: Record<string, Record<string, string[]>>;
  /** Families of main roles, in the order of roles/family (uint8); empty without main roles. */
  families: string[];
  work: WorkRole[];
  tests: TestedRole[];
  relations: Relation[];
  /** By place (layer index × heads + head). */
  heads: HeadText[];
  summary: SummaryLine[];
  papers: Section[];
  figures: Figure[];
  /** Kinds of rest in the order of the array activity (kind, layer, head), "at work" first. */
  activity: string[];
  /** The same in words: "[CLS]", "first token". */
  rests: string[];
  examples: Kept;
  /** Whether the array distance (place, place) is there: Jensen–Shannon, nats. */
  distance: boolean;
  /** Null without circuits. */
  composition: Composition | null;
  /** Null where the results are of one model. */
  track: Track | null;
  provenance: Record<string, unknown>;
}

/** A text of the pack "texts". */
export interface Text {
  id: string;
  tokens: string[];
  /** The word of each token, -1 for special tokens. */
  unit: number[];
  words: string[];
  special: number[];
  sink: number[];
  /** Dependency head of each word (-1 root, -2 unknown), and its relation. */
  head: number[];
  relation: string[];
  /** Tokens before the window was cut. */
  length: number;
}

/** The pack "texts". */
export interface TextsDocument {
  texts: Text[];
  /** All heads of a card, as SVG. */
  grid: string;
}

/** The pack "tokens": by place, the words that a head links most, for the search. */
export interface TokensDocument {
  tokens: string[][];
}

export type ExampleKind = "strong" | "typical" | "weak" | "random";

/** One kept example of a head; its sparse map is rows first … first + rows of the pack's arrays. */
export interface HeadExample {
  /** Index into the pack "texts". */
  text: number;
  kind: ExampleKind;
  /** Share of attention off sinks and off itself. */
  score: number;
  /** Rank among the kept sample, or of all examples for the strongest. */
  rank: number;
  /** Where its rows begin in counts, and its links in keys and weights. */
  row: number;
  rows: number;
  link: number;
}

/** A pair of words with its mean attention. */
export interface Pair {
  query: string;
  key: string;
  mean: number;
  n: number;
}

/** A word with its share of a head's attention. */
export interface TokenShare {
  token: string;
  share: number;
}

/** The pack "head/3-9". Arrays: counts u1 (row), keys u2, weights u2 (link; 65535 = 1), histogram, uniform f4 (33). Of many heads in one file, keys may be u1, and weights u1: 255 times the square root. */
export interface HeadDocument {
  examples: HeadExample[];
  pairs: Pair[];
  queries: TokenShare[];
  keys: TokenShare[];
  /** Texts in the sample. */
  sample: number;
  /** The head's card as SVG, with a mark where the grid goes; large reports of one file have none. */
  card?: string;
}

/** The pack "text" of a notebook: one text. Its maps are packs "text/3-9": weights u2 (query, key; 65535 = 1). */
export interface TextDocument {
  model: string;
  /** "tokens" or "words". */
  units: string;
  tokens: string[];
  /** Places of special tokens. */
  special: number[];
  /** All heads whose maps are known, by their strongest link. */
  heads: string[];
  /** Those that are offered first. */
  shown: string[];
  /** The strongest link between two words of these heads: "barked → dog 0.79". */
  strongest: Record<string, string>;
}

/** The explorer's model. */
export interface LiveModel {
  name: string;
  type: string;
  layers: number;
  heads: number;
  numbers: number[];
  /** The most tokens that a text may have. */
  longest: number;
  causal: boolean;
  /** What it predicts: next or masked tokens, a class, or nothing. */
  predicts: "next" | "masked" | "class" | "";
  /** The mask token, where masked tokens are predicted. */
  mask?: string;
}

/** Another page. */
export interface Beside {
  title: string;
  href: string;
}

/** The document in the page itself: which packs there are and how they are reached. */
export interface Boot {
  title: string;
  /** In script elements; in files beside the page; from the explorer; from a notebook's kernel. */
  source: "embedded" | "folder" | "server" | "notebook";
  /** Names of the atlases, the main one first; none in an explorer without results. */
  atlases: string[];
  /** Absent in reports. */
  live?: LiveModel;
  /** What the navigation calls the pack "document", where there is one. */
  document?: string;
  /** Pages about the same weights, in files beside this one. */
  beside?: Beside[];
  /** Whether it is the front page of a site of several models, with a pack "gallery". */
  gallery?: boolean;
}
