import type { Units } from "../../data/sparse";
import type { Text } from "../../data/types";

/** For and against: where a head's strongest link follows an arc that is in the corpus. */

export interface GoldArc {
  /** Words: the query and the key that it should attend to. */
  from: number;
  to: number;
}

export interface Verdict extends GoldArc {
  found: boolean;
  /** The attention along the arc. */
  weight: number;
}

const SIMPLE: Record<string, number> = { previous: -1, next: 1 };

/** What can be chosen for some texts: positions, and relations in both directions. */
export function choices(
  texts: readonly Text[],
): { id: string; relation: string; down: boolean; n: number }[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    text.relation.forEach((relation, word) => {
      const head = text.head[word] ?? -2;
      if (relation && head >= 0 && head !== word)
        counts.set(relation, (counts.get(relation) ?? 0) + 1);
    });
  }
  return [...counts.keys()].sort().flatMap((relation) =>
    [false, true].map((down) => ({
      id: down ? `${relation}>` : relation,
      relation,
      down,
      n: counts.get(relation)!,
    })),
  );
}

/** The arcs of a choice: "previous", "next", "det" (word to head), "det>" (head to word). */
export function goldArcs(text: Text, choice: string): GoldArc[] {
  const step = SIMPLE[choice];
  const words = text.words.map((_, word) => word);
  if (step !== undefined) {
    return words
      .filter((word) => word + step >= 0 && word + step < words.length)
      .map((word) => ({ from: word, to: word + step }));
  }
  const down = choice.endsWith(">");
  const relation = down ? choice.slice(0, -1) : choice;
  return words
    .filter((word) => text.relation[word] === relation)
    .map((word) => ({ word, head: text.head[word] ?? -2 }))
    .filter(({ word, head }) => head >= 0 && head < words.length && head !== word)
    .map(({ word, head }) => (down ? { from: head, to: word } : { from: word, to: head }));
}

/**
 * Whether each arc is found: the query's strongest other word, special tokens ignored, is the key.
 * A head word with several such dependents finds those that are its strongest.
 */
export function verdicts(
  text: Text,
  choice: string,
  weights: Float32Array,
  units: Units,
): Verdict[] {
  const columns = units.labels.length;
  const unit = new Map<number, number>();
  units.word.forEach((word, at) => {
    if (word >= 0 && !unit.has(word)) unit.set(word, at);
  });
  return goldArcs(text, choice).flatMap((arc) => {
    const [from, to] = [unit.get(arc.from), unit.get(arc.to)];
    if (from === undefined || to === undefined) return [];
    const weight = weights[from * columns + to] ?? 0;
    let best = -1;
    let most = 0;
    for (let key = 0; key < columns; key++) {
      if (key === from || units.word[key]! < 0) continue;
      const one = weights[from * columns + key] ?? 0;
      if (one > most) [most, best] = [one, key];
    }
    return [{ from: arc.from, to: arc.to, weight, found: best === to }];
  });
}

/** The stretch of a long text with the most attention between its words: [first, last). */
export function passage(
  sums: readonly number[],
  stops: readonly boolean[],
  most: number,
): [number, number] {
  const n = sums.length;
  if (n <= most) return [0, n];
  let best: [number, number] = [0, most];
  let highest = -1;
  for (let first = 0; first < n; first++) {
    if (first > 0 && !stops[first - 1]) continue;
    const last = Math.min(n, first + most);
    let sum = 0;
    for (let at = first; at < last; at++) sum += sums[at]!;
    if (sum > highest) [highest, best] = [sum, [first, last]];
  }
  let [first, last] = best;
  for (let at = last; at > first + most / 2; at--) {
    if (stops[at - 1]) {
      last = at;
      break;
    }
  }
  return [first, last];
}

/** The share of arcs that are found. */
export function foundShare({ verdicts }: { verdicts: readonly Verdict[] }): number {
  return verdicts.filter((one) => one.found).length / verdicts.length;
}
