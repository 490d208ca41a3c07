import { scaleLinear, scaleLog } from "d3-scale";

import { extent, type Field } from "../data/fields";

export interface Axis {
  /** Pixels of a value; NaN where it is not defined. */
  at(value: number): number;
  ticks: { at: number; text: string }[];
}

/** An axis over the values of a field, from one pixel to another. */
export function axis(field: Field, from: number, to: number, log = false, apart = 120): Axis {
  const [low, high] = extent(field.values);
  const count = Math.max(2, Math.round(Math.abs(to - from) / apart));
  if (log && low > 0) {
    const scale = scaleLog()
      .domain([low / 1.1, high * 1.1])
      .range([from, to]);
    const powers = scale
      .ticks(count)
      .filter((one) => /^1(\.0*)?(e|$)/.test(one.toExponential()) || count > 6);
    const ticks = (powers.length >= 2 ? powers : scale.ticks(3)).filter(
      (_, at, all) => all.length <= 8 || at % Math.ceil(all.length / 8) === 0,
    );
    return {
      at: (value) => scale(value),
      ticks: ticks.map((one) => ({ at: scale(one), text: plain(one) })),
    };
  }
  const scale = scaleLinear()
    .domain(linearDomain(field, low, high))
    .range([from, to])
    .nice(count);
  return {
    at: (value) => (Number.isNaN(value) ? NaN : scale(value)),
    ticks: scale.ticks(count).map((one) => ({ at: scale(one), text: plain(one) })),
  };
}

/** Shares begin at 0; other values with a little room at both ends. */
function linearDomain(field: Field, low: number, high: number): [number, number] {
  if (!(high > low)) return Number.isNaN(low) ? [0, 1] : [low - 0.5, low + 0.5];
  const room = (high - low) * 0.03;
  const zero = low >= 0 && (field.kind !== "number" || low < high * 0.4);
  const most = field.most ?? (field.kind === "share" ? 1 : Infinity);
  return [zero ? 0 : low - room, high <= most ? Math.min(high + room, most) : high + room];
}

/** A tick's number, without digits that say nothing. */
export function plain(value: number): string {
  const text = Math.abs(value) < 1e-12 ? "0" : String(Number(value.toPrecision(6)));
  return text.replace("-", "\u2212");
}
