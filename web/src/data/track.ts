import { scaleLinear, scaleSymlog } from "d3-scale";

import { type Colouring, fieldColouring, roleColouring } from "../colour";
import { Atlas } from "./atlas";
import { type Field, field } from "./fields";
import type { Numbers } from "./pack";
import type { Appearance, Track } from "./types";

/** From this ratio of steps on, the axis is logarithmic. */
const WIDE = 20;

/** The results as they were at a checkpoint, as far as the page knows them. */
export function atCheckpoint(atlas: Atlas, at: number): Atlas {
  const { size } = atlas;
  const slice = (name: string): Numbers | undefined =>
    atlas.arrays[`track/${name}`]?.subarray(at * size, (at + 1) * size);
  const arrays: Record<string, Numbers> = {};
  for (const name of ["family", "second", "borderline", "excess", "activity"]) {
    const found = slice(name);
    if (found) arrays[`roles/${name}`] = found;
  }
  return new Atlas({ document: atlas.document, arrays, shapes: {} });
}

/** One statistic of all checkpoints, (checkpoint, place); undefined if the track lacks it. */
export function statisticOver(atlas: Atlas, id: string): Float32Array | undefined {
  const { track } = atlas.document;
  const at = track?.statistics.indexOf(id) ?? -1;
  const all = atlas.arrays["track/value"];
  if (!track || at < 0 || !all) return undefined;
  const { size } = atlas;
  const found = new Float32Array(track.names.length * size);
  for (let checkpoint = 0; checkpoint < track.names.length; checkpoint++) {
    const from = (checkpoint * track.statistics.length + at) * size;
    found.set(all.subarray(from, from + size), checkpoint * size);
  }
  return found;
}

/** Colours of one checkpoint, on a scale that all checkpoints share. */
export function colouringAt(
  atlas: Atlas,
  id: string,
  checkpoint: number,
  dark: boolean,
): Colouring {
  const about = field(atlas, id);
  const all = statisticOver(atlas, id);
  if (!about || !all) return roleColouring(atCheckpoint(atlas, checkpoint), dark);
  const { size } = atlas;
  const whole: Field = { ...about, values: all, low: undefined, high: undefined, passes: undefined };
  const base = fieldColouring(whole, dark);
  const from = checkpoint * size;
  return {
    ...base,
    field: { ...whole, values: all.subarray(from, from + size) },
    of: (place) => base.of(from + place),
    text: (place) => base.text(from + place),
    value: (place) => base.value(from + place),
  };
}

/** What the lines show: a statistic, or the excess at the role that a head has at the end. */
export function linesOver(atlas: Atlas, id: string): ArrayLike<number> {
  return statisticOver(atlas, id) ?? atlas.arrays["track/main"] ?? [];
}

/** Where checkpoints are on an axis: their steps, or 1, 2, 3 … */
export function places(track: Track): number[] {
  return track.steps ?? track.names.map((_, at) => at + 1);
}

/** The axis of checkpoints: logarithmic where steps span a wide range. */
export function stepScale(track: Track, range: [number, number]): (place: number) => number {
  const all = places(track);
  const ends: [number, number] = [all[0] ?? 0, all[all.length - 1] ?? 1];
  const positive = all.filter((one) => one > 0);
  const least = Math.min(...positive);
  if (track.steps && positive.length > 0 && Math.max(...positive) / least >= WIDE) {
    return scaleSymlog().constant(least).domain(ends).range(range);
  }
  return scaleLinear().domain(ends).range(range);
}

/** Which checkpoints are labelled: from the last one back, as far apart as the labels need. */
export function labelled(at: number[], apart: number): number[] {
  const chosen: number[] = [];
  for (let index = at.length - 1; index >= 0; index--) {
    const last = chosen[chosen.length - 1];
    if (last === undefined || at[last]! - at[index]! >= apart) chosen.push(index);
  }
  return chosen.reverse();
}

/** A checkpoint in words: "step 485" or its name. */
export function checkpointText(track: Track, at: number): string {
  const step = track.steps?.[at];
  return step === undefined ? (track.names[at] ?? "") : `step ${step.toLocaleString("en-US")}`;
}

/** Main roles by the checkpoint at which they appear, in order. */
export function appearances(track: Track): { checkpoint: number; rows: Appearance[] }[] {
  const found = new Map<number, Appearance[]>();
  for (const one of track.appear) {
    if (one.main) found.set(one.checkpoint, [...(found.get(one.checkpoint) ?? []), one]);
  }
  return [...found].sort(([a], [b]) => a - b).map(([checkpoint, rows]) => ({ checkpoint, rows }));
}

/** The index that an address names, from 1; the last checkpoint by default. */
export function checkpointOf(option: string | undefined, count: number): number {
  const asked = Number(option);
  return Number.isInteger(asked) && asked >= 1 && asked <= count ? asked - 1 : count - 1;
}
