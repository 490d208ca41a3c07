import { useMemo } from "preact/hooks";

import type { Numbers } from "../data/pack";
import type { NullBand } from "../data/types";
import { Bands } from "./band";
import { Dot } from "./dot";

interface Props {
  /** One value per head; NaN where it is not defined. */
  values: Numbers;
  /** This head. */
  place: number;
  /** How many heads a layer has: the head's own layer is drawn dark. */
  heads: number;
  /** The colour of the dot. */
  colour: string;
  /** The 95 % interval of this head. */
  low?: number;
  high?: number;
  /** A line for comparison: by default, where even attention is. */
  reference?: number | null;
  referenceTitle?: string;
  /** The bands of null models. */
  bands?: NullBand[];
  /** Whether the dot is hollow: inside a band. */
  hollow?: boolean;
  width?: number;
  height?: number;
  label: string;
}

/** All heads as ticks from the lowest to the highest, this layer dark, this head a dot. */
export function Strip(props: Props) {
  const { values, place, heads, colour, width = 180, height = 19, label } = props;
  const edge = 6;
  const middle = height / 2;
  const drawn = useMemo(
    () => ticks(values, place, heads, width - 2 * edge),
    [values, place, heads, width],
  );
  const x = (value: number) => edge + drawn.at(value);
  const mine = values[place] ?? NaN;
  const tick = (at: number, half: number) => `M${at + edge} ${middle - half}V${middle + half}`;
  const { low = NaN, high = NaN } = props;
  return (
    <svg
      class="hs-strip"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      <Bands bands={props.bands} x={x} from={edge} to={width - edge} y={1} height={height - 2} />
      <line class="hs-strip-line" x1={edge} x2={width - edge} y1={middle} y2={middle} />
      <path class="hs-strip-all" d={drawn.others.map((at) => tick(at, 4)).join("")} />
      <path class="hs-strip-layer" d={drawn.layer.map((at) => tick(at, 5)).join("")} />
      {inside(props.reference, drawn) && (
        <path class="hs-strip-even" d={tick(drawn.at(props.reference!), 8)}>
          <title>{props.referenceTitle ?? "uniform attention"}</title>
        </path>
      )}
      <Dot {...{ x, low, high, colour }} y={middle} value={mine} hollow={props.hollow} />
    </svg>
  );
}

interface Ticks {
  others: number[];
  layer: number[];
  low: number;
  high: number;
  at: (value: number) => number;
}

/** Ticks by pixel: heads at the same pixel are drawn once, so that 5,000 heads cost no more. */
export function ticks(values: Numbers, place: number, heads: number, width: number): Ticks {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const span = high - low;
  const at = (value: number) => {
    const share = span > 0 ? (value - low) / span : 0.5;
    return Math.round(Math.max(0, Math.min(1, share)) * width * 2) / 2;
  };
  const first = Math.floor(place / heads) * heads;
  const layer = new Set<number>();
  const others = new Set<number>();
  values.forEach((value, one) => {
    if (Number.isNaN(value)) return;
    (one >= first && one < first + heads ? layer : others).add(at(value));
  });
  for (const one of layer) others.delete(one);
  return { others: [...others], layer: [...layer], low, high, at };
}

function inside(value: number | undefined | null, { low, high }: Ticks): boolean {
  return value !== undefined && value !== null && value >= low && value <= high;
}
