import families from "./families.json";

/**
 * Families of roles, as the package lists them (headscope.measures.roles; tools/derive.py writes the
 * file). Colours are safe for colour-blind readers only together with the symbol, so both are always
 * drawn.
 */
export interface Family {
  id: string;
  title: string;
  /** At most 8 letters, for cells. */
  short: string;
  symbol: string;
  /** Light and dark. */
  colour: [string, string];
}

export const FAMILIES = families as Family[];

const BY_ID = new Map(FAMILIES.map((family) => [family.id, family]));

export function family(id: string): Family {
  return BY_ID.get(id) ?? BY_ID.get("no clear role")!;
}

/** Whether a family is a role, with a symbol and three tints. */
export function isRole(id: string): boolean {
  return family(id).symbol !== "";
}

/** Three tints: by how far the share is above chance. */
export function tint(excess: number): 0 | 1 | 2 {
  return excess >= 0.5 ? 2 : excess >= 0.25 ? 1 : 0;
}

const SHARES = [0.42, 0.7, 1];

/** The colour of a family at an excess, mixed with the page's ground. */
export function fill(id: string, excess: number, dark: boolean): string {
  const base = family(id).colour[dark ? 1 : 0];
  if (!isRole(id)) return base;
  return mix(base, dark ? "#1B1C1E" : "#FFFFFF", SHARES[tint(excess)]!);
}

/** The colour of a point: heads without a role are grey, so that they can be seen on the ground. */
export function pointFill(id: string, excess: number, dark: boolean): string {
  if (isRole(id)) return fill(id, excess, dark);
  return dark ? "#6B6C71" : "#B9B8B4";
}

/** Black or white, whichever reads better on a colour. */
export function ink(colour: string): string {
  const [r, g, b] = channels(colour);
  const linear = [r, g, b].map((one) => {
    const part = one / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#17181A" : "#FFFFFF";
}

export function mix(colour: string, ground: string, share: number): string {
  const [a, b] = [channels(colour), channels(ground)];
  const mixed = a.map((one, at) => Math.round(one * share + b[at]! * (1 - share)));
  return `#${mixed.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour: string): [number, number, number] {
  const value = parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
