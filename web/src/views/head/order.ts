import type { Atlas } from "../../data/atlas";
import type { Relation, Statistic } from "../../data/types";

/** What the head page lists of a head, and in which order. Pure, so that it can be tested. */

/** Measures with a block of their own. */
export const BLOCKS = ["pattern", "probe", "head_off", "importance"];
const HEADLINE = [
  'activity:"at work"',
  "activity:start",
  "activity:stops",
  "entropy",
  "position:previous",
  "position:current",
  "position:next",
];

/** Statistics that are shown at first: headline ones, then those where the head stands out. */
export function chosenStatistics(atlas: Atlas, place: number, most: number): number[] {
  const all = atlas.document.statistics;
  const usable = (at: number) =>
    !BLOCKS.includes(all[at]!.measure) && Number.isFinite(atlas.number("value", place, at));
  const chosen = HEADLINE.map((id) => atlas.statistic(id)?.at ?? -1).filter(
    (at) => at >= 0 && usable(at),
  );
  const per = new Map<string, number>();
  const ranked = all
    .map((one, at) => ({
      one,
      at,
      extreme: usable(at) && one.listed ? extremity(atlas, at, place) : -1,
    }))
    .filter(({ at, extreme }) => extreme >= 0 && !chosen.includes(at))
    .sort((a, b) => b.extreme - a.extreme || a.at - b.at);
  const limit = Math.max(2, Math.ceil((most - chosen.length) / 3));
  const extra: number[] = [];
  const value = (at: number) => atlas.number("value", place, at);
  const twin = (at: number) =>
    [...chosen, ...extra].some(
      (other) => all[other]!.unit === all[at]!.unit && Math.abs(value(other) - value(at)) < 1e-4,
    );
  for (const { one, at } of ranked) {
    if (chosen.length + extra.length >= most) break;
    const used = per.get(one.measure) ?? 0;
    if (used >= limit || HEADLINE_MEASURES.has(one.measure) || twin(at)) continue;
    per.set(one.measure, used + 1);
    extra.push(at);
  }
  return [...chosen, ...extra.sort((a, b) => a - b)];
}

const HEADLINE_MEASURES = new Set(["activity", "entropy"]);

/** All statistics that are defined for a head, as the results have them. */
export function allStatistics(atlas: Atlas, place: number): number[] {
  return atlas.document.statistics
    .map((_, at) => at)
    .filter((at) => Number.isFinite(atlas.number("value", place, at)));
}

/** How near the first or the last rank a head is: 1 at the ends, 0 in the middle. */
export function extremity(atlas: Atlas, at: number, place: number): number {
  const [rank, n] = [atlas.rank(at, place), atlas.defined(at)];
  if (!Number.isFinite(rank) || n < 2) return -1;
  return Math.abs((2 * (rank - 1)) / (n - 1) - 1);
}

export interface RelationRow {
  at: number;
  relation: Relation;
  accuracy: number;
  low: number;
  high: number;
  gain: number;
  p: number;
  /** Rank by accuracy among all heads, 1 for the best. */
  rank: number;
  passes: boolean;
}

/** Relations that say nothing about grammar: they come last. */
const DULL = ["punct", "root", "ROOT", "dep", "p"];

/** Relations by gain over the best fixed offset. */
export function relationRows(atlas: Atlas, place: number): RelationRow[] {
  const rows: RelationRow[] = [];
  atlas.document.relations.forEach((relation, at) => {
    const accuracy = atlas.number("relations/accuracy", place, at);
    if (!Number.isFinite(accuracy)) return;
    const p = atlas.number("relations/p", place, at);
    const gain = accuracy - relation.baseline;
    let better = 0;
    for (const one of atlas.row("relations/accuracy", at)) if (one > accuracy) better++;
    rows.push({
      at,
      relation,
      accuracy,
      gain,
      p,
      low: atlas.number("relations/low", place, at),
      high: atlas.number("relations/high", place, at),
      rank: better + 1,
      passes: p < 0.05 && gain > 0,
    });
  });
  const dull = (row: RelationRow) => (DULL.includes(row.relation.relation) ? 1 : 0);
  return rows.sort((a, b) => dull(a) - dull(b) || b.gain - a.gain);
}

/** Measures that follow from weights alone. */
const CIRCUITS = ["copying", "ov_norm", "qk_norm", "vocabulary"];

/** Whether these are results of a survey, and not only of probes, an ablation or circuits. */
export function surveyed(atlas: Atlas): boolean {
  const { statistics, work, relations } = atlas.document;
  return (
    work.length > 0 ||
    relations.length > 0 ||
    statistics.some((one) => ![...BLOCKS, ...CIRCUITS].includes(one.measure))
  );
}

/** The nearest heads by a square matrix of distances. */
export function nearest(
  atlas: Atlas,
  place: number,
  most: number,
): { place: number; distance: number }[] {
  const row = atlas.arrays.distance?.subarray(place * atlas.size, (place + 1) * atlas.size);
  if (!row) return [];
  return Array.from(row, (distance, other) => ({ place: other, distance }))
    .filter((one) => one.place !== place && Number.isFinite(one.distance))
    .sort((a, b) => a.distance - b.distance || a.place - b.place)
    .slice(0, most);
}

/** The statistics of a measure that a head has, as (statistic, value, interval). */
export function ofMeasure(
  atlas: Atlas,
  place: number,
  measure: string,
): { at: number; about: Statistic; value: number }[] {
  return atlas.document.statistics
    .map((about, at) => ({ at, about, value: atlas.number("value", place, at) }))
    .filter((one) => one.about.measure === measure && Number.isFinite(one.value));
}
