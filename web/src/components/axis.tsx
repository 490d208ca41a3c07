import { scaleLinear, scaleLog } from "d3-scale";

import { extent, type Field } from "../data/fields";

export interface Axis {
  /** Pixels of a value; NaN where it is not defined. */
  at(value: number): number;
  /** Numbers with as many digits as tell them apart: d3's own format. */
  ticks: { at: number; text: string }[];
  /** The values at both ends. */
  ends: [number, number];
}

interface Options {
  /** About how many ticks. */
  count?: number;
  /** Widen the ends to round numbers. */
  nice?: boolean;
  /** In per cent. */
  percent?: boolean;
}

/** An axis between two values, from one pixel to another. */
export function linear(
  [low, high]: [number, number],
  [from, to]: [number, number],
  { count = 4, nice = true, percent = false }: Options = {},
): Axis {
  const scale = scaleLinear().domain([low, high]).range([from, to]);
  if (nice) scale.nice(count);
  const text = scale.tickFormat(count, percent ? "%" : undefined);
  return {
    at: (value) => (Number.isNaN(value) ? NaN : scale(value)),
    ticks: scale.ticks(count).map((one) => ({ at: scale(one), text: text(one).replace("%", " %") })),
    ends: scale.domain() as [number, number],
  };
}

/** An axis over the values of a field. */
export function axis(field: Field, from: number, to: number, log = false, apart = 120): Axis {
  const [low, high] = extent(field.values);
  const count = Math.max(2, Math.round(Math.abs(to - from) / apart));
  if (!log || !(low > 0)) return linear(linearDomain(field, low, high), [from, to], { count });
  const scale = scaleLog()
    .domain([low / 1.1, high * 1.1])
    .range([from, to]);
  const powers = scale
    .ticks(count)
    .filter((one) => /^1(\.0*)?(e|$)/.test(one.toExponential()) || count > 6);
  const ticks = (powers.length >= 2 ? powers : scale.ticks(3)).filter(
    (_, at, all) => all.length <= 8 || at % Math.ceil(all.length / 8) === 0,
  );
  const text = scale.tickFormat(Infinity, "r");
  return {
    at: (value) => scale(value),
    ticks: ticks.map((one) => ({ at: scale(one), text: text(one) })),
    ends: scale.domain() as [number, number],
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

interface Lines {
  axis: Axis;
  from: number;
  to: number;
}

/** The rules and numbers of an upward axis, between two pixels from left to right. */
export function Upward({ axis: { ticks }, from, to }: Lines) {
  return (
    <g class="hs-axes">
      {ticks.map(({ at, text }) => (
        <g key={text}>
          <line x1={from} x2={to} y1={at} y2={at} />
          <text x={from - 6} y={at + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
    </g>
  );
}

/** The rules and numbers of an axis across, from top to bottom; numbers below, or above. */
export function Across({ axis: { ticks }, from, to, above }: Lines & { above?: number }) {
  return (
    <g class="hs-axes">
      {ticks.map(({ at, text }) => (
        <g key={text}>
          <line class={Number(text) === 0 ? "hs-axis-zero" : ""} x1={at} x2={at} y1={from} y2={to} />
          <text x={at} y={above ?? to + 16} text-anchor="middle">
            {text}
          </text>
        </g>
      ))}
    </g>
  );
}
