import { relationId } from "../query/complete";
import { number, percent, shown } from "../format";
import type { Atlas } from "./atlas";
import type { NullBand, Statistic } from "./types";

/** A number of every head that a reader can pick as colour, axis or size. */
export interface Field {
  /** As the address names it. */
  id: string;
  /** As a query names it; "" where the query language has no name for it. */
  query: string;
  group: string;
  title: string;
  /** For the heads of columns, where the title is long. */
  short?: string;
  unit: string;
  kind: Statistic["kind"];
  values: ArrayLike<number>;
  low?: ArrayLike<number>;
  high?: ArrayLike<number>;
  /** Which heads pass the test that belongs to it. */
  passes?: ArrayLike<number>;
  /** Which heads are framed in small grids. */
  framed?: ArrayLike<number>;
  /** The bands of null models; and the one inside which heads are faded: they do not pass. */
  nulls?: NullBand[];
  faded?: NullBand;
  /** Where even attention would be. */
  reference?: number;
  /** The largest value that is possible. */
  most?: number;
  /** Whether 0 is in the middle: an excess or a change. */
  diverging?: boolean;
}

const known = new WeakMap<Atlas, Field[]>();

/** Everything that can be picked, group by group. */
export function fields(atlas: Atlas): Field[] {
  let found = known.get(atlas);
  if (!found) {
    found = [...mainFields(atlas), ...workFields(atlas), ...statisticFields(atlas)];
    found.push(...testFields(atlas), ...relationFields(atlas), layerField(atlas));
    known.set(atlas, found);
  }
  return found;
}

export function field(atlas: Atlas, id: string | undefined): Field | undefined {
  return id ? fields(atlas).find((one) => one.id === id) : undefined;
}

/** A value of a field, as it is read. */
export function fieldText(one: Field, value: number): string {
  if (one.id === "layer") return String(value);
  if (one.kind === "number") return number(value);
  return one.kind === "share" ? percent(value) : shown(value, one);
}

/** What the numbers are, for axes: "share of attention, 0–1". */
export function unitText(one: Field): string {
  const over = one.id.startsWith("work:") ? ", above chance" : "";
  return one.unit + over;
}

function mainFields(atlas: Atlas): Field[] {
  if (!atlas.hasRoles) return [];
  const group = "Main role";
  const row = (name: string) => atlas.row(name, 0);
  return [
    {
      id: "main:excess",
      query: "",
      group,
      title: "main role, above chance",
      short: "above chance",
      unit: "share of the active attention",
      kind: "share",
      values: row("roles/excess"),
      low: row("roles/low"),
      high: row("roles/high"),
    },
    {
      id: "main:activity",
      query: atlas.statistic('activity:"at work"') ? 'activity:"at work"' : "",
      group,
      title: "active share",
      unit: "share of attention, 0–1",
      kind: "share",
      values: row("roles/activity"),
    },
    {
      id: "main:spread",
      query: "",
      group,
      title: "spread over the words",
      unit: "entropy ÷ uniform, sinks removed",
      kind: "number",
      values: row("roles/spread"),
      most: 1,
    },
  ];
}

function workFields(atlas: Atlas): Field[] {
  return atlas.document.work.map((role, at) => {
    const [values, half] = [atlas.row("work/value", at), atlas.row("work/half", at)];
    return {
      id: `work:${role.id}`,
      query: "",
      group: "Roles, above chance",
      title: workTitle(role.title),
      short: `above chance: ${role.title}`,
      unit: "share of the active attention",
      kind: "share" as const,
      values,
      diverging: true,
      nulls: role.nulls,
      low: Float32Array.from(values, (one, place) => one - half[place]!),
      high: Float32Array.from(values, (one, place) => one + half[place]!),
    };
  });
}

/** "active attention from a modifier to its noun", "active attention on near tokens". */
function workTitle(title: string): string {
  return `active attention ${/^(from|to|on|between) /.test(title) ? "" : "on "}${title}`;
}

function statisticFields(atlas: Atlas): Field[] {
  return atlas.document.statistics.map((one, at) => {
    const values = atlas.values(at);
    return {
      id: one.id,
      query: one.id,
      group: one.group,
      title: one.title,
      unit: one.unit,
      kind: one.kind,
      values,
      short: one.measure === "role" ? `${one.title.split(": ")[0]}, × uniform` : undefined,
      low: atlas.row("low", at),
      high: atlas.row("high", at),
      reference: one.reference ?? undefined,
      nulls: one.nulls,
      diverging: one.measure.endsWith("-change"),
    };
  });
}

function testFields(atlas: Atlas): Field[] {
  return atlas.document.tests.map((one, at) => ({
    id: `test:${one.id}`,
    query: "",
    group: "Tested roles (Pande et al. 2021)",
    title: `has the role ${one.id}, by its test`,
    unit: "times uniform attention",
    kind: "times" as const,
    values: atlas.row("tests/mean", at),
    low: atlas.row("tests/low", at),
    high: atlas.row("tests/high", at),
    passes: atlas.row("tests/has", at),
    reference: 1,
  }));
}

function relationFields(atlas: Atlas): Field[] {
  return atlas.document.relations.map((one, at) => ({
    id: `relation:${one.id}`,
    query: relationId(one.relation, one.direction),
    group: "Accuracy at dependency relations",
    title: one.title,
    unit: "share of words right",
    kind: "share" as const,
    values: atlas.row("relations/accuracy", at),
    low: atlas.row("relations/low", at),
    high: atlas.row("relations/high", at),
    reference: one.baseline,
    nulls: one.nulls,
  }));
}

function layerField(atlas: Atlas): Field {
  const values = Float32Array.from({ length: atlas.size }, (_, place) => atlas.layerNumber(place));
  return {
    id: "layer",
    query: "layer",
    group: "Place",
    title: "layer",
    unit: "",
    kind: "number",
    values,
  };
}

/** Fields as one, for a scale that they share. */
export function joined(parts: readonly Field[]): Field {
  const values = new Float32Array(parts.reduce((all, one) => all + one.values.length, 0));
  let from = 0;
  for (const one of parts) {
    values.set(one.values, from);
    from += one.values.length;
  }
  const { passes, faded, low, high, reference, ...first } = parts[0]!;
  return { ...first, values, diverging: false };
}

/** The smallest and the largest number; [NaN, NaN] without any. */
export function extent(values: ArrayLike<number>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let at = 0; at < values.length; at++) {
    const one = values[at]!;
    if (one < low) low = one;
    if (one > high) high = one;
  }
  return low <= high ? [low, high] : [NaN, NaN];
}

/** Whether a field's values are positive and span more than two decades. */
export function spansDecades(values: ArrayLike<number>): boolean {
  const [low, high] = extent(values);
  return low > 0 && high / low > 100;
}
