import type { ArcLink } from "../../components/arcs-layout";
import type { Numbers } from "../../data/pack";
import { between, part, pieces, resting, type Units, sparseMap, words } from "../../data/sparse";
import type { HeadExample, Text } from "../../data/types";
import { type Verdict, passage, verdicts } from "./gold";

/** Lines are drawn from this share of attention on; the word under the pointer has weaker ones. */
export const LEAST = 0.1;
const FAINT = 0.03;
/** Longer texts show a passage first. */
export const LONG = 36;

/** An example as it is drawn. */
export interface Prepared {
  example: HeadExample;
  text: Text;
  labels: string[];
  links: ArcLink[];
  more: ArcLink[];
  rest: number[];
  /** Units of the whole text and the weights between all of them, for the map. */
  units: Units;
  weights: Float32Array;
  /** The units that the line shows. */
  shown: number[];
  /** Of how many. */
  total: number;
  verdicts: Verdict[];
}

export interface Options {
  pieces: boolean;
  /** A relation to look for, or "". */
  relation: string;
  /** The colour of links that follow it. */
  colour: string;
  whole: boolean;
}

/** Decode an example and choose what is drawn of it. */
export function prepare(
  arrays: Record<string, Numbers>,
  example: HeadExample,
  text: Text,
  options: Options,
): Prepared {
  const map = sparseMap(arrays, example, text.tokens.length);
  const units = options.pieces ? pieces(text) : words(text);
  const weights = between(map, units);
  const rest = resting(map, units, text.sink);
  const found = options.relation ? verdicts(text, options.relation, weights, units) : [];
  const plain = units.labels.map((_, at) => at).filter((at) => !units.special[at]);
  const [first, last] = options.whole
    ? [0, plain.length]
    : passage(
        activity(weights, units, plain, found),
        plain.map((at) => /^[.!?;:]$/.test(units.labels[at]!)),
        LONG,
      );
  const shown = plain.slice(first, last);
  const here = part(weights, units.labels.length, shown);
  const { links, more } = lines(here, units, shown);
  const gold = marked(links, found, units, shown, options.colour);
  return {
    example,
    text,
    units,
    weights,
    shown,
    more,
    labels: shown.map((at) => units.labels[at]!),
    links: gold,
    rest: shown.map((at) => rest[at]!),
    total: plain.length,
    verdicts: found,
  };
}

/** How much each unit has to do with lines that would be drawn. */
function activity(
  weights: Float32Array,
  units: Units,
  plain: number[],
  found: Verdict[],
): number[] {
  const columns = units.labels.length;
  const sums = plain.map((from) => {
    let sum = 0;
    for (const to of plain) {
      const weight = weights[from * columns + to]!;
      if (to !== from && !units.sink[to] && weight >= LEAST) sum += weight;
    }
    return sum;
  });
  const asked = new Set(found.map((one) => one.from));
  return asked.size ? plain.map((at) => (asked.has(units.word[at]!) ? 1 : 0)) : sums;
}

/** Links between the shown units; sinks are not drawn as keys, the underline tells of them. */
function lines(
  weights: Float32Array,
  units: Units,
  shown: number[],
): { links: ArcLink[]; more: ArcLink[] } {
  const n = shown.length;
  const links: ArcLink[] = [];
  const more: ArcLink[] = [];
  for (let from = 0; from < n; from++) {
    for (let to = 0; to < n; to++) {
      const weight = weights[from * n + to]!;
      if (weight < FAINT || units.sink[shown[to]!]) continue;
      (weight >= LEAST ? links : more).push({ from, to, weight });
    }
  }
  return { links, more };
}

/** With a relation chosen: links that follow it in its colour, missed arcs as dashed outlines. */
function marked(
  links: ArcLink[],
  found: Verdict[],
  units: Units,
  shown: number[],
  colour: string,
): ArcLink[] {
  if (!found.length) return links;
  const at = new Map<number, number>();
  shown.forEach((unit, place) => {
    const word = units.word[unit]!;
    if (!at.has(word)) at.set(word, place);
  });
  const wanted = new Map(
    found.map((one) => [`${at.get(one.from)} ${at.get(one.to)}`, one] as const),
  );
  const drawn = links.map((link) => {
    const one = wanted.get(`${link.from} ${link.to}`);
    if (one) wanted.delete(`${link.from} ${link.to}`);
    return one?.found ? { ...link, colour } : link;
  });
  for (const one of wanted.values()) {
    const [from, to] = [at.get(one.from), at.get(one.to)];
    if (from === undefined || to === undefined) continue;
    drawn.push({ from, to, weight: one.weight, colour, dashed: !one.found });
  }
  for (const one of found) {
    const [from, to] = [at.get(one.from), at.get(one.to)];
    const there = drawn.some((link) => link.from === from && link.to === to && link.dashed);
    if (!one.found && !there && from !== undefined && to !== undefined) {
      drawn.push({ from, to, weight: one.weight, colour, dashed: true });
    }
  }
  return drawn;
}
