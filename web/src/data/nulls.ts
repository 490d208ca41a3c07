import { shown } from "../format";
import type { NullBand, Statistic } from "./types";

/** Where a value is by the band of a null model; "" where it is not defined. */
export function standing(value: number, band: NullBand): "above" | "below" | "inside" | "" {
  if (!Number.isFinite(value)) return "";
  return value > band.high ? "above" : value < band.low ? "below" : "inside";
}

/** "random weights: 0.9 % to 1.0 %". */
export function bandText(band: NullBand, kind: Statistic["kind"]): string {
  return `${band.null}: ${endText(band.low, kind)} to ${endText(band.high, kind)}`;
}

/** An end of a band. Tiny shares are numbers: "< 0.1 %" would be no end. */
function endText(value: number, kind: Statistic["kind"]): string {
  const size = Math.abs(value) * 100;
  if (kind !== "share" || size >= 0.1) return shown(value, { kind });
  const tiny = size < 0.0001 ? "0" : String(Number(size.toPrecision(1)));
  return `${value < 0 && tiny !== "0" ? "\u2212" : ""}${tiny} %`;
}

/** The bands as a sentence's end, for tooltips: "; random weights: 0.9 % to 1.0 % (above)". */
export function bandsText(
  value: number,
  bands: NullBand[] | undefined,
  kind: Statistic["kind"],
): string {
  return (bands ?? [])
    .map((band) => `; ${bandText(band, kind)} (${standing(value, band)})`)
    .join("");
}

/** 1 for heads outside the band; also where nothing is known, so that these look as they do. */
export function outside(values: ArrayLike<number>, band: NullBand): Uint8Array {
  return Uint8Array.from(values, (value) => (standing(value, band) === "inside" ? 0 : 1));
}

/** All null models that some entry has a band of, in their order. */
export function nullNames(entries: { nulls?: NullBand[] }[]): string[] {
  const found = new Set<string>();
  for (const one of entries) for (const band of one.nulls ?? []) found.add(band.null);
  return [...found];
}

/** Columns and cells of tables that are saved: low and high of every null model. */
export function bandColumns(names: string[]): string[] {
  return names.flatMap((name) => [`${name} low`, `${name} high`]);
}

export function bandCells(bands: NullBand[] | undefined, names: string[]): (number | null)[] {
  return names.flatMap((name) => {
    const band = bands?.find((one) => one.null === name);
    return band ? [band.low, band.high] : [null, null];
  });
}
