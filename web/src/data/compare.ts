import type { Atlas } from "./atlas";

/** The difference of one head between two results. */
export interface Change {
  place: number;
  head: string;
  a: number;
  b: number;
  difference: number;
  /** Half the width of the difference's 95 % interval. */
  half: number;
  /** Whether the difference passes the test, corrected for all heads. */
  sure: boolean;
}

export const TESTED =
  "B − A with its 95 % interval; filled: differs by more than chance, corrected (Holm) over heads";

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

/**
 * Every head's change in one statistic, the largest first. The two results are taken as
 * independent samples; half-widths are turned into standard errors by the normal quantile, the
 * difference is tested by z, and p is corrected by Holm's method over the heads.
 */
export function changes(first: Atlas, second: Atlas, id: string): Change[] {
  const [one, two] = [first.statistic(id), second.statistic(id)];
  if (!one || !two || first.size !== second.size) return [];
  const found: Change[] = [];
  const z: number[] = [];
  for (let place = 0; place < first.size; place++) {
    const [a, b] = [first.number("value", place, one.at), second.number("value", place, two.at)];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    const half = Math.hypot(halfWidth(first, place, one.at), halfWidth(second, place, two.at));
    const difference = b - a;
    z.push(Math.abs(difference) / (half / 1.959964));
    found.push({ place, head: first.name(place), a, b, difference, half, sure: false });
  }
  const order = found.map((_, at) => at).sort((i, j) => (z[j] || 0) - (z[i] || 0));
  for (const [rank, at] of order.entries()) {
    if (!(twoSided(z[at]!) * (found.length - rank) < 0.05)) break;
    found[at]!.sure = true;
  }
  return found.sort((i, j) => Math.abs(j.difference) - Math.abs(i.difference));
}

function halfWidth(atlas: Atlas, place: number, at: number): number {
  return (atlas.number("high", place, at) - atlas.number("low", place, at)) / 2;
}

/** The two-sided p of a z score (Abramowitz and Stegun 7.1.26; error below 2e-7). */
export function twoSided(z: number): number {
  if (Number.isNaN(z)) return 1;
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const poly =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return poly * Math.exp(-x * x);
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
