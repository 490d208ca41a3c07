import type { Atlas } from "./atlas";

/** The difference of one head between two results. */
export interface Change {
  place: number;
  head: string;
  a: number;
  b: number;
  difference: number;
  /** Half the widths of both 95 % intervals together. */
  half: number;
  /** Whether the intervals of A and B have nothing in common. No test: see headscope compare. */
  apart: boolean;
}

/** What two results share: statistics by measure, and what only one has. */
export function shared(first: Atlas, second: Atlas) {
  const has = new Set(second.document.statistics.map((one) => one.id));
  const groups = new Map<string, string[]>();
  const ids: string[] = [];
  for (const one of first.document.statistics) {
    if (!has.has(one.id)) continue;
    ids.push(one.id);
    groups.set(one.measure, [...(groups.get(one.measure) ?? []), one.id]);
  }
  const mine = new Set(first.document.statistics.map((one) => one.id));
  const only = [
    ...first.document.statistics.filter((one) => !has.has(one.id)).map((one) => one.title),
    ...second.document.statistics.filter((one) => !mine.has(one.id)).map((one) => one.title),
  ];
  const sameShape = first.layers === second.layers && first.heads === second.heads;
  return { ids, groups: [...groups], only, sameShape };
}

/** Every head's change in one statistic, the largest first. */
export function changes(first: Atlas, second: Atlas, id: string): Change[] {
  const [one, two] = [first.statistic(id), second.statistic(id)];
  if (!one || !two || first.size !== second.size) return [];
  const found: Change[] = [];
  for (let place = 0; place < first.size; place++) {
    const [a, b] = [first.number("value", place, one.at), second.number("value", place, two.at)];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    const half = halfWidth(first, place, one.at) + halfWidth(second, place, two.at);
    const difference = b - a;
    const apart = Math.abs(difference) > half;
    found.push({ place, head: first.name(place), a, b, difference, half, apart });
  }
  return found.sort((i, j) => Math.abs(j.difference) - Math.abs(i.difference));
}

function halfWidth(atlas: Atlas, place: number, at: number): number {
  return (atlas.number("high", place, at) - atlas.number("low", place, at)) / 2;
}

/** The statistic that changed most: by the mean change over the range of its values. */
export function mostChanged(first: Atlas, second: Atlas, ids: readonly string[]): string | undefined {
  let [best, most] = [ids[0], 0];
  for (const id of ids) {
    const all = changes(first, second, id);
    const values = all.flatMap(({ a, b }) => [a, b]);
    const range = Math.max(...values) - Math.min(...values);
    const mean = all.reduce((sum, one) => sum + Math.abs(one.difference), 0) / all.length;
    if (mean / range > most) [best, most] = [id, mean / range];
  }
  return best;
}

/** Heads whose main role differs; null where one of them has no main roles. */
export function roleChanges(first: Atlas, second: Atlas): number[] | null {
  if (!first.hasRoles || !second.hasRoles || first.size !== second.size) return null;
  const found: number[] = [];
  for (let place = 0; place < first.size; place++) {
    if (first.family(place) !== second.family(place)) found.push(place);
  }
  return found;
}
