import type { ArcLink } from "../../components/arcs-layout";
import type { Reading } from "../../data/live";

/** What is drawn as one: a word with its pieces, or a single token. */
export interface Unit {
  label: string;
  /** Its tokens. */
  tokens: number[];
  special: boolean;
  stop: boolean;
  masked: boolean;
}

/** Tokens that a window of a long text has. */
export const WINDOW = 128;
/** Texts of up to so many tokens are drawn whole. */
export const WHOLE = 192;

/** The window of tokens that is drawn. */
export function windowOf(length: number, from: number): [number, number] {
  if (length <= WHOLE) return [0, length];
  const first = Math.max(0, Math.min(from, length - WINDOW));
  return [first, first + WINDOW];
}

/** The words or tokens within a window. A word that the window cuts keeps the pieces inside. */
export function unitsOf(reading: Reading, by: "words" | "pieces", [first, last]: [number, number]): Unit[] {
  const special = new Set(reading.special);
  const stop = new Set(reading.stop);
  const masks = new Set(reading.masks);
  const units: Unit[] = [];
  let before = -1;
  for (let token = first; token < Math.min(last, reading.tokens.length); token++) {
    const word = reading.unit[token] ?? -1;
    if (by === "words" && word >= 0 && word === before) {
      units[units.length - 1]!.tokens.push(token);
      continue;
    }
    before = word;
    const label = by === "words" && word >= 0 ? reading.words[word] : reading.tokens[token];
    units.push({
      label: label ?? "",
      tokens: [token],
      special: special.has(token),
      stop: stop.has(token),
      masked: masks.has(token),
    });
  }
  return units;
}

/**
 * A map between units from one between tokens, (rows × keys) from `first` on: summed over the pieces
 * of the attended word, averaged over those of the attending one (Clark et al. 2019, Section 4.1).
 */
export function unitMap(weights: Float32Array, size: number, first: number, units: readonly Unit[]): Float32Array {
  const count = units.length;
  const result = new Float32Array(count * count);
  units.forEach((from, row) => {
    for (const query of from.tokens) {
      const start = (query - first) * size;
      units.forEach((to, column) => {
        let sum = 0;
        for (const key of to.tokens) sum += weights[start + key - first] ?? 0;
        result[row * count + column]! += sum / from.tokens.length;
      });
    }
  });
  return result;
}

/** Hidden units as keys at 0, and the rest of each row divided by its sum. */
export function renormalised(map: Float32Array, count: number, hidden: ReadonlySet<number>): Float32Array {
  const result = new Float32Array(map.length);
  for (let row = 0; row < count; row++) {
    let sum = 0;
    for (let column = 0; column < count; column++) if (!hidden.has(column)) sum += map[row * count + column]!;
    if (!(sum > 0)) continue;
    for (let column = 0; column < count; column++) {
      if (!hidden.has(column)) result[row * count + column] = map[row * count + column]! / sum;
    }
  }
  return result;
}

/** Which units are not drawn as ends of lines: special tokens and full stops; in causal models the first token too. */
export function hiddenUnits(units: readonly Unit[], causal: boolean): Set<number> {
  const hidden = new Set<number>();
  units.forEach((unit, at) => {
    if (unit.special || unit.stop || (causal && unit.tokens[0] === 0)) hidden.add(at);
  });
  return hidden;
}

/** At most so many lines of a head. */
const MOST = 400;

/** The links of a map over a weight, without those to itself and those of hidden units. */
export function linksOver(
  map: Float32Array, count: number, over: number, hidden: ReadonlySet<number>, drawn: Partial<ArcLink> = {},
): ArcLink[] {
  const links: ArcLink[] = [];
  for (let from = 0; from < count; from++) {
    if (hidden.has(from)) continue;
    for (let to = 0; to < count; to++) {
      const weight = map[from * count + to]!;
      if (from !== to && !hidden.has(to) && weight > over && weight > 0.004) links.push({ from, to, weight, ...drawn });
    }
  }
  if (links.length <= MOST) return links;
  return links.sort((a, b) => b.weight - a.weight).slice(0, MOST);
}

/** Where each word stands in the text; words that cannot be found have none. */
export function wordSpans(text: string, words: readonly string[]): ([number, number] | null)[] {
  let from = 0;
  return words.map((word) => {
    const at = text.indexOf(word, from);
    if (at < 0) return null;
    from = at + word.length;
    return [at, from];
  });
}

/** A text with one word replaced. */
export function replaceWord(text: string, words: readonly string[], word: number, by: string): string {
  const span = wordSpans(text, words)[word];
  return span ? text.slice(0, span[0]) + by + text.slice(span[1]) : text;
}

/**
 * Two heads to begin with: that with the clearest links between words, and that with the clearest links
 * between words that do not stand side by side. Pooled maps (side × side) of all heads are square roots.
 */
export function clearest(small: Uint8Array, heads: number, side: number, skipped: ReadonlySet<number>): number[] {
  const score = (head: number, least: number): number => {
    let sum = 0;
    for (let row = 0; row < side; row++) {
      if (skipped.has(row)) continue;
      let most = 0;
      for (let key = 0; key < side; key++) {
        const weight = (small[(head * side + row) * side + key]! / 255) ** 2;
        if (!skipped.has(key) && Math.abs(key - row) >= least && weight > most) most = weight;
      }
      sum += most;
    }
    return sum;
  };
  const best = (least: number, without: number): number => {
    let found = -1;
    let most = -1;
    for (let head = 0; head < heads; head++) {
      const value = head === without ? -1 : score(head, least);
      if (value > most) [found, most] = [head, value];
    }
    return found;
  };
  const far = best(2, -1);
  return [far, best(1, far)].filter((one) => one >= 0);
}
