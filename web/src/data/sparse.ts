import type { Numbers } from "./pack";
import type { Text } from "./types";

/** Weights are stored as fixed point, this is 1; or as square roots in a byte. */
const ONE = 65535;

/** A map of attention of which only the largest keys of each row are known. */
export interface SparseMap {
  /** Query rows, and tokens that can be keys. */
  rows: number;
  tokens: number;
  /** Row r has the links starts[r] … starts[r + 1]. */
  starts: Uint32Array;
  keys: Uint16Array;
  weights: Float32Array;
}

/** A line between two tokens or words: from a query to a key. */
export interface Link {
  from: number;
  to: number;
  weight: number;
}

/**
 * The map of one example of a head's pack. Input that does not fit together (counts that overrun,
 * keys beyond the text) gives a shorter map, never an error: a damaged example must not take the
 * page with it.
 */
export function sparseMap(
  arrays: Record<string, Numbers | undefined>,
  where: { row: number; rows: number; link: number },
  tokens: number,
): SparseMap {
  const counts = arrays.counts ?? new Uint8Array(0);
  const allKeys = arrays.keys ?? new Uint16Array(0);
  const allWeights = arrays.weights ?? new Uint16Array(0);
  const roots = allWeights instanceof Uint8Array;
  const available = Math.min(allKeys.length, allWeights.length);
  const first = within(where.row, counts.length);
  const rows = Math.min(within(where.rows, counts.length - first), within(tokens, tokens));
  const starts = new Uint32Array(rows + 1);
  const keys: number[] = [];
  const weights: number[] = [];
  let at = within(where.link, available);
  for (let row = 0; row < rows; row++) {
    const end = Math.min(at + counts[first + row]!, available);
    for (; at < end; at++) {
      if (allKeys[at]! >= tokens) continue;
      keys.push(allKeys[at]!);
      weights.push(roots ? (allWeights[at]! / 255) ** 2 : allWeights[at]! / ONE);
    }
    starts[row + 1] = keys.length;
  }
  return {
    rows,
    tokens,
    starts,
    keys: Uint16Array.from(keys),
    weights: Float32Array.from(weights),
  };
}

function within(value: number, most: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.min(Math.floor(value), most)) : 0;
}

/** All weights, row by row; what is not known is 0. */
export function dense(map: SparseMap): Float32Array {
  const full = new Float32Array(map.rows * map.tokens);
  for (let row = 0; row < map.rows; row++) {
    for (let at = map.starts[row]!; at < map.starts[row + 1]!; at++) {
      full[row * map.tokens + map.keys[at]!] = map.weights[at]!;
    }
  }
  return full;
}

/** What is drawn in a line of text: words, or pieces. */
export interface Units {
  labels: string[];
  /** The unit of each token, in order of the text. */
  of: number[];
  /** The word number of each unit, -1 for special tokens. */
  word: number[];
  special: boolean[];
  /** Whether all tokens of the unit are sinks. */
  sink: boolean[];
}

/** Every token by itself. */
export function pieces(text: Text): Units {
  return {
    labels: text.tokens,
    of: text.tokens.map((_, at) => at),
    word: text.tokens.map((_, at) => text.unit[at] ?? -1),
    special: text.tokens.map((_, at) => Boolean(text.special[at])),
    sink: text.tokens.map((_, at) => Boolean(text.sink[at])),
  };
}

/** Scripts that put no spaces between words: what stands between spaces is a whole clause. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}]/u;

/** Tokens joined to words; special tokens, and those of scripts without spaces, by themselves. */
export function words(text: Text): Units {
  const units: Units = { labels: [], of: [], word: [], special: [], sink: [] };
  let before = -1;
  text.tokens.forEach((token, at) => {
    const word = text.unit[at] ?? -1;
    const unspaced = UNSPACED.test(text.words[word] ?? "");
    const starts = word < 0 || word !== before || unspaced;
    if (starts) {
      units.labels.push(word < 0 || unspaced ? token : (text.words[word] ?? token));
      units.word.push(word);
      units.special.push(Boolean(text.special[at]));
      units.sink.push(true);
    }
    units.of.push(units.labels.length - 1);
    if (!text.sink[at]) units.sink[units.labels.length - 1] = false;
    before = word;
  });
  return units;
}

/**
 * Attention between units: the sum over the pieces of a key, the mean over the pieces of a query
 * (Clark et al. 2019, §4.1). Units whose pieces have no row are rows of zeros.
 */
export function between(map: SparseMap, units: Units): Float32Array {
  const columns = units.labels.length;
  const full = new Float32Array(columns * columns);
  const seen = new Float32Array(columns);
  for (let row = 0; row < map.rows; row++) {
    const from = units.of[row];
    if (from === undefined) continue;
    seen[from] = seen[from]! + 1;
    for (let at = map.starts[row]!; at < map.starts[row + 1]!; at++) {
      const to = units.of[map.keys[at]!];
      if (to !== undefined) full[from * columns + to]! += map.weights[at]!;
    }
  }
  for (let from = 0; from < columns; from++) {
    if (seen[from]! <= 1) continue;
    for (let to = 0; to < columns; to++) full[from * columns + to]! /= seen[from]!;
  }
  return full;
}

/** The share of each unit's attention that rests on sinks. */
export function resting(map: SparseMap, units: Units, sink: readonly number[]): number[] {
  const rest = new Array<number>(units.labels.length).fill(0);
  const seen = new Array<number>(units.labels.length).fill(0);
  for (let row = 0; row < map.rows; row++) {
    const from = units.of[row];
    if (from === undefined) continue;
    seen[from]!++;
    for (let at = map.starts[row]!; at < map.starts[row + 1]!; at++) {
      if (sink[map.keys[at]!]) rest[from]! += map.weights[at]!;
    }
  }
  return rest.map((sum, at) => (seen[at]! > 0 ? Math.min(1, sum / seen[at]!) : 0));
}

/** Keep some units of a square map: a line of words without [CLS] and [SEP]. */
export function part(
  weights: Float32Array,
  columns: number,
  keep: readonly number[],
): Float32Array {
  const smaller = new Float32Array(keep.length * keep.length);
  keep.forEach((row, at) => {
    keep.forEach((column, to) => {
      smaller[at * keep.length + to] = weights[row * columns + column] ?? 0;
    });
  });
  return smaller;
}

/** A word as it can be drawn: no marks that change direction or hide, not longer than `most`. */
export function visible(word: string, most = 24): string {
  const plain = word
    .slice(0, most * 4)
    .replace(/[\r\n]+/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "·");
  const letters = Array.from(plain);
  if (letters.length > most) return `${letters.slice(0, most - 1).join("")}…`;
  return plain.trim() === "" ? "␣" : plain;
}
