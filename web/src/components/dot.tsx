import type { ComponentChildren } from "preact";

import type { NullBand } from "../data/types";
import { Bands } from "./band";
import { fitText } from "./measure";

interface DotProps {
  /** From a value to a pixel. */
  x(value: number): number;
  y: number;
  value: number;
  /** The ends of its interval; NaN where there is none. */
  low: number;
  high: number;
  colour: string;
  /** Does not pass its test, or is inside a band. */
  hollow?: boolean;
}

/** A value as a dot with its interval. */
export function Dot({ x, y, value, low, high, colour, hollow }: DotProps) {
  return (
    <>
      {Number.isFinite(low) && Number.isFinite(high) && (
        <line stroke={colour} stroke-width={2} x1={x(low)} x2={x(high)} y1={y} y2={y} />
      )}
      {Number.isFinite(value) && (
        <circle
          class={hollow ? "hs-hollow" : "hs-strip-dot"}
          cx={x(value)}
          cy={y}
          r={hollow ? 4.25 : 5}
          fill={hollow ? undefined : colour}
          stroke={hollow ? colour : undefined}
          stroke-width={1.5}
        />
      )}
    </>
  );
}

/** The height of a row. */
export const ROW = 24;

interface RowProps extends Omit<DotProps, "y"> {
  /** The top of the row. */
  top: number;
  name: string;
  /** Everything that is known, for the tooltip. */
  title: string;
  width: number;
  /** The first and the last pixel of the chart. */
  from: number;
  to: number;
  bands?: NullBand[];
  /** Words at the right: where each one ends, and how it looks. */
  cells: { end: number; text: string; look?: "value" | "soft" | "first" }[];
  /** Between the bands and the dot. */
  children?: ComponentChildren;
}

/** A row of a chart: name, bands of null models, a dot with its interval, numbers. */
export function DotRow(props: RowProps) {
  const { top, name, title, width, from, to, bands, cells, x, children } = props;
  const y = top + ROW / 2 - 4;
  return (
    <g class={props.hollow ? "hs-row hs-row-fails" : "hs-row"}>
      <title>{title}</title>
      <rect x={0} y={y - ROW / 2} width={width} height={ROW} fill="transparent" />
      <text class="hs-row-name" x={0} y={y + 4}>
        {name}
      </text>
      <Bands {...{ bands, x, from, to }} y={y - 9} height={18} />
      {children}
      <Dot {...props} y={y} />
      {cells.map(({ end, text, look = "value" }) => (
        <text key={end} class={`hs-row-${look}`} x={end} y={y + 4} text-anchor="end">
          {text}
        </text>
      ))}
    </g>
  );
}

/** Names cut to a width so that no two of them become equal: then the middle is left out. */
export function fitNames(names: string[], width: number, size: number, font: string): string[] {
  const cut = names.map((name) => fitText(name, width, size, font));
  return cut.map((short, at) => {
    const twins = names.filter((name, other) => name !== names[at] && cut[other] === short);
    if (!twins.length) return short;
    const name = names[at]!;
    let same = 0;
    while (twins.every((twin) => twin[same] === name[same])) same++;
    const start = name.slice(0, Math.min(6, same)).trimEnd();
    const rest = name.slice(name.lastIndexOf(" ", same) + 1);
    return fitText(`${start}… ${rest}`, width, size, font);
  });
}
