/**
 * Families of roles. Colours are safe for colour-blind readers only together with the symbol, so
 * both are always drawn. The values are repeated as custom properties in styles/theme.css.
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

export const FAMILIES: Family[] = [
  { id: "previous", title: "Previous token", short: "previous", symbol: "←", colour: ["#1F6FB5", "#2F7CC4"] },
  { id: "next", title: "Next token", short: "next", symbol: "→", colour: ["#62B8E8", "#8CCBF0"] },
  { id: "near", title: "Near tokens", short: "near", symbol: "↔", colour: ["#2A9D74", "#2FA97A"] },
  { id: "itself", title: "Itself", short: "itself", symbol: "○", colour: ["#4B3C8C", "#5D4BB5"] },
  { id: "same", title: "Same word elsewhere", short: "same", symbol: "=", colour: ["#D16BA5", "#E083B8"] },
  { id: "induction", title: "Induction", short: "induct.", symbol: "↷", colour: ["#8A6A1E", "#B99636"] },
  { id: "noun phrase", title: "Within the noun phrase", short: "noun", symbol: "N", colour: ["#E7A83B", "#EDB652"] },
  { id: "clause", title: "Verb and its dependents", short: "verb", symbol: "V", colour: ["#A63A1C", "#D9653F"] },
  { id: "coreference", title: "Mention to antecedent", short: "coref.", symbol: "C", colour: ["#0E8C8C", "#27A6A6"] },
  { id: "retrieval", title: "Retrieval", short: "retriev.", symbol: "R", colour: ["#5B6F1F", "#8FA53F"] },
  { id: "broad", title: "Broad", short: "", symbol: "", colour: ["#D6D5D1", "#43454A"] },
  { id: "no clear role", title: "No clear role", short: "", symbol: "", colour: ["#F3F2F0", "#2A2B2E"] },
  { id: "rests", title: "Rests", short: "", symbol: "", colour: ["#FFFFFF", "#1B1C1E"] },
];

const BY_ID = new Map(FAMILIES.map((family) => [family.id, family]));

export function family(id: string): Family {
  return BY_ID.get(id) ?? BY_ID.get("no clear role")!;
}

/** Whether a family is a role, with a symbol and three tints. */
export function isRole(id: string): boolean {
  return family(id).symbol !== "";
}

/** Three tints: by how far the share is over even attention. */
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
