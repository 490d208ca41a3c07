import { scaleDiverging, scaleSequential } from "d3-scale";

import type { Atlas } from "./data/atlas";
import { extent, type Field } from "./data/fields";
import { fill, mix } from "./families";
import { number, placesOf } from "./format";

/** Stops of the sequential map, from little to much; and of the diverging map. */
const SEQUENTIAL = {
  light: ["#f1f3f5", "#b9d2ea", "#6ba3d3", "#1f5fa0", "#0b2f5c"],
  dark: ["#26282b", "#20405f", "#2e6ca8", "#7db5ea", "#d6eaff"],
};
const DIVERGING = {
  light: ["#0f4f8f", "#6aa5d8", "#f1f0ee", "#e59a66", "#9c3d08"],
  dark: ["#8cc6f7", "#2f6796", "#2a2b2e", "#96562a", "#f7b182"],
};
const NOTHING = ["#ffffff", "#1b1c1e"];

/** How cells and points are coloured. */
export interface Colouring {
  kind: "roles" | "sequential" | "diverging";
  title: string;
  field?: Field;
  domain: [number, number];
  /** A head's colour. */
  of(place: number): string;
  /** What a head's cell says besides: a number; "" for roles. */
  text(place: number): string;
  /** What to sort by. */
  value(place: number): number;
  /** A colour of the map by value, for legends. */
  at(value: number): string;
}

/** Colours between stops, from 0 to 1. */
export function ramp(stops: string[], share: number): string {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  return mix(stops[first + 1]!, stops[first]!, place - first);
}

/** Colours are steps, so that cells of one colour can be drawn as one path; 0.5 is one of them. */
const COLOURS = 64;

function stepped(stops: string[]): (share: number) => string {
  const steps = Array.from({ length: COLOURS + 1 }, (_, at) => ramp(stops, at / COLOURS));
  return (share) => steps[Math.round(Math.min(Math.max(share, 0), 1) * COLOURS)]!;
}

/** By main role: a family's colour in three tints. */
export function roleColouring(atlas: Atlas, dark: boolean): Colouring {
  return {
    kind: "roles",
    title: "main role",
    domain: [0, 1],
    of: (place) => fill(atlas.family(place), atlas.excess(place), dark),
    text: () => "",
    value: (place) => atlas.excess(place),
    at: () => NOTHING[dark ? 1 : 0]!,
  };
}

/** By a field: a sequential map, or a diverging one around 0. */
export function fieldColouring(field: Field, dark: boolean): Colouring {
  const name = dark ? "dark" : "light";
  const [low, high] = extent(field.values);
  const largest = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const map = field.diverging
    ? scaleDiverging(stepped(DIVERGING[name])).domain([-largest, 0, largest])
    : scaleSequential(stepped(SEQUENTIAL[name])).domain(span(field, low, high));
  const nothing = NOTHING[dark ? 1 : 0]!;
  const pale = field.faded ? nothing : ramp(SEQUENTIAL[name], 0);
  const at = (value: number) => (Number.isNaN(value) ? nothing : String(map(value)));
  const fails = (place: number) => field.passes !== undefined && field.passes[place] !== 1;
  const value = (place: number) => field.values[place] ?? NaN;
  return {
    kind: field.diverging ? "diverging" : "sequential",
    title: field.title,
    field,
    domain: field.diverging ? [-largest, largest] : span(field, low, high),
    of: (place) => (fails(place) ? pale : at(value(place))),
    text: (place) => (fails(place) ? "" : compact(field, value(place), largest)),
    value,
    at,
  };
}

/** Shares begin at 0 unless they are far from it, so that colours mean amounts. */
function span(field: Field, low: number, high: number): [number, number] {
  if (!(high > low)) return [low || 0, (low || 0) + 1];
  return field.kind !== "number" && low >= 0 ? [0, high] : [low, high];
}

/** The difference of a field between two models. */
export function differenceField(first: Field, second: Field, name: string): Field {
  return {
    ...first,
    id: `change:${first.id}`,
    title: `${first.title}: difference to ${name}`,
    values: Float32Array.from(first.values, (one, place) => one - (second.values[place] ?? NaN)),
    low: undefined,
    high: undefined,
    passes: undefined,
    nulls: undefined,
    reference: undefined,
    diverging: true,
  };
}

/** A number that fits a cell: 54, 0.46, 3.1; shares in per cent, small ones with a digit more. */
function compact(field: Field, value: number, largest: number): string {
  if (Number.isNaN(value)) return "–";
  if (field.id === "layer") return String(value);
  if (field.kind === "share") return number(value * 100, largest < 0.1 ? 1 : 0);
  return number(value, Math.min(placesOf(value), 2));
}
