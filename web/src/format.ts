import type { Statistic } from "./data/types";

const MINUS = "\u2212";

/** How many decimals leave about three digits. */
export function placesOf(value: number): number {
  const size = Math.abs(value);
  return size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 3;
}

/** A number with sensible digits: about three, never an exponent for everyday sizes. */
export function number(value: number, digits?: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const places = digits ?? placesOf(value);
  const text = size > 0 && size < 0.0005 && digits === undefined
    ? size.toExponential(0)
    : size.toFixed(places);
  const zero = Number(text) === 0;
  return value < 0 && !zero ? MINUS + text : text;
}

/** A share as per cent. Tiny shares are "< 0.1 %". */
export function percent(share: number, digits?: number): string {
  if (!Number.isFinite(share)) return "–";
  const size = Math.abs(share) * 100;
  if (size > 0 && size < 0.1) return share < 0 ? `> ${MINUS}0.1 %` : "< 0.1 %";
  const places = digits ?? (size >= 10 || size === 0 ? 0 : 1);
  return `${share < 0 ? MINUS : ""}${size.toFixed(places)} %`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A p-value: never 0. */
export function pValue(p: number): string {
  if (!Number.isFinite(p)) return "–";
  if (p < 1e-15) return "< 1e-15";
  if (p < 0.001) return p.toExponential(0);
  return p.toFixed(p < 0.01 ? 3 : 2);
}

/** A statistic's value as its kind is read. */
export function shown(value: number, statistic: Pick<Statistic, "kind">): string {
  if (!Number.isFinite(value)) return "–";
  if (statistic.kind === "share") return percent(value, Math.abs(value) < 0.995 ? 1 : undefined);
  if (statistic.kind === "times") {
    return value > 0 && value < 0.001 ? "< 0.001 ×" : `${number(value)} ×`;
  }
  return number(value);
}

/** A difference with its sign; that of shares in points of a per cent. */
export function difference(value: number, { kind }: Pick<Statistic, "kind">): string {
  if (!Number.isFinite(value)) return "–";
  const said = kind === "share" ? number(value * 100, 1) : shown(value, { kind });
  return value > 0 ? `+${said}` : said;
}

/** Half the width of an interval, with digits by width: "± 0.003". */
export function plusMinus(low: number, high: number, kind: Statistic["kind"]): string {
  const half = (high - low) / 2;
  if (!Number.isFinite(half)) return "";
  const scaled = kind === "share" ? half * 100 : half;
  if (scaled < 0.00005) return "± 0";
  const rounded = Number(scaled.toPrecision(1)); // 0.0099 is 0.01, not 0.010
  const places = Math.min(4, Math.max(0, -Math.floor(Math.log10(rounded))));
  return `± ${scaled.toFixed(places)}`;
}

/** "one head", "3 heads". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
