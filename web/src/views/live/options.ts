import type { LiveModel } from "../../data/types";

export const WAYS = ["zero", "mean", "uniform"] as const;
export type Way = (typeof WAYS)[number];

/** What the reader has chosen: all of it is in the address. */
export interface LiveOptions {
  text: string;
  second: string;
  /** Ids of generated tokens. */
  more: number[];
  /** Heads whose links are drawn; null until some are chosen. */
  heads: string[] | null;
  off: string[];
  how: Way;
  unit: "words" | "pieces";
  /** Attention, or what it carries: weighted by the norm of what each key sends. */
  weights: "attention" | "norm";
  hide: boolean;
  renormalise: boolean;
  log: boolean;
  /** Links over this weight are drawn. */
  over: number;
  /** The token that was picked. */
  token: number | null;
  /** The head whose map is drawn. */
  map: string;
  /** Whether the map is that with heads off. */
  after: boolean;
  /** The first token of the window, for long texts. */
  from: number;
  /** Another text beside it. */
  other: string;
  /** Whether every head is switched off in turn as soon as the page opens. */
  sweep: boolean;
}

const EXAMPLES: Record<LiveModel["predicts"], string> = {
  masked: "She opened the old wooden door and closed the [MASK] again.",
  next: "When Mary and John went to the store, John gave a drink to",
  class: "The old dog that I saw yesterday barked at the children in the park.",
  "": "The old dog that I saw yesterday barked at the children in the park.",
};

/** The text that is there from the start. */
export function exampleText(model: Pick<LiveModel, "predicts"> & { mask?: string }): string {
  return EXAMPLES[model.predicts].replace("[MASK]", model.mask || "[MASK]");
}

type Option = (name: string) => string | undefined;

/** Read the address. What is wrong in it is left out. */
export function readOptions(option: Option, model: LiveModel): LiveOptions {
  const known = (names: string | undefined) => headNames(names, model);
  const over = Number(option("over") ?? 10);
  const token = option("token");
  const how = option("how") as Way;
  const chosen = option("heads");
  return {
    text: option("text") ?? exampleText(model),
    second: option("second") ?? "",
    more: (option("more") ?? "").split(".").filter((one) => /^\d{1,9}$/.test(one)).map(Number),
    heads: chosen === undefined ? null : known(chosen),
    off: known(option("off")),
    how: WAYS.includes(how) ? how : "zero",
    unit: option("unit") === "pieces" ? "pieces" : "words",
    weights: option("weights") === "norm" ? "norm" : "attention",
    hide: option("hide") !== "no",
    renormalise: option("renormalise") === "yes",
    log: option("log") === "yes",
    over: Number.isFinite(over) ? Math.min(90, Math.max(0, over)) / 100 : 0.1,
    token: token !== undefined && /^\d+$/.test(token) ? Number(token) : null,
    map: known(option("map"))[0] ?? "",
    after: option("after") === "yes",
    from: /^\d+$/.test(option("from") ?? "") ? Number(option("from")) : 0,
    sweep: option("sweep") === "yes",
    other: option("other") ?? "",
  };
}

/** Heads by name, 3-9 or L2H8, in the order given, each once; those that the model lacks are left out. */
export function headNames(names: string | undefined, model: Pick<LiveModel, "numbers" | "heads">): string[] {
  const found: string[] = [];
  for (const name of (names ?? "").split(/[\s,]+/)) {
    const one = headName(name, model);
    if (one && !found.includes(one)) found.push(one);
  }
  return found;
}

/** The name of one head, counted from 1, or undefined. */
export function headName(
  text: string, model: Pick<LiveModel, "numbers" | "heads">,
): string | undefined {
  const one = /^(\d+)-(\d+)$/.exec(text.trim());
  const zero = /^L(\d+)H(\d+)$/i.exec(text.trim());
  const [layer, head] = one
    ? [Number(one[1]), Number(one[2])]
    : zero ? [Number(zero[1]) + 1, Number(zero[2]) + 1] : [0, 0];
  return model.numbers.includes(layer) && head >= 1 && head <= model.heads ? `${layer}-${head}` : undefined;
}

/** The place of a head: layer index × heads + head. */
export function placeOf(name: string, model: Pick<LiveModel, "numbers" | "heads">): number {
  const [layer, head] = name.split("-").map(Number) as [number, number];
  return model.numbers.indexOf(layer) * model.heads + head - 1;
}

export function nameOf(place: number, model: Pick<LiveModel, "numbers" | "heads">): string {
  return `${model.numbers[Math.floor(place / model.heads)]}-${(place % model.heads) + 1}`;
}

/** A list with one name more, or less. */
export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}
