import type { Atlas } from "../data/atlas";
import { QueryError } from "./parse";

/** The label that is meant where a query names none; as in headscope/stats/query.py. */
const USUAL = ["all", "every", "dependent to head", "mentions", "both"];

/** The numbers that a query's value stands for, by place. */
export function valuesOf(atlas: Atlas, value: string[]): ArrayLike<number> {
  if (value.length === 1 && value[0] === "layer") {
    return Float32Array.from({ length: atlas.size }, (_, place) => atlas.layerNumber(place));
  }
  const [measure, named] = measureOf(atlas, value);
  const dims = Object.entries(atlas.document.labels[measure]!);
  const chosen = new Map<string, string>();
  for (const label of named) {
    const free = dims.filter(([dim]) => !chosen.has(dim));
    const dim = free.find(([, labels]) => labels.includes(label))?.[0];
    if (dim === undefined) {
      throw unknown(
        `${measure} has no value called`,
        label,
        free.flatMap(([, labels]) => labels),
      );
    }
    chosen.set(dim, label);
  }
  for (const [dim, labels] of dims) {
    if (!chosen.has(dim)) chosen.set(dim, usual(measure, dim, labels));
  }
  return numbers(atlas, measure, dims, chosen);
}

function numbers(
  atlas: Atlas,
  measure: string,
  dims: [string, string[]][],
  chosen: Map<string, string>,
): ArrayLike<number> {
  if (measure === "dependency" && chosen.get("words") === "every") {
    const id = `${chosen.get("relation")}:${chosen.get("direction")}`;
    const at = atlas.document.relations.findIndex((one) => one.id === id);
    if (at >= 0) return atlas.row("relations/accuracy", at);
  }
  const id = queryName(measure, dims, chosen);
  const found = atlas.statistic(id);
  if (found) return atlas.values(found.at);
  throw new QueryError(`this page does not hold ${id}; ask in Python: atlas.find("${id} …")`);
}

/** As the query language names a value: labels that are understood anyway are left out. */
function queryName(
  measure: string,
  dims: [string, string[]][],
  chosen: Map<string, string>,
): string {
  const said = [measure];
  for (const [dim, labels] of dims) {
    const label = chosen.get(dim)!;
    if (label === meant(labels)) continue;
    said.push(quote(label));
  }
  return said.join(":");
}

/** A label as it is written in a query. */
export function quote(label: string): string {
  return /^[\p{L}\p{N}-]+$/u.test(label) ? label : `"${label}"`;
}

function meant(labels: string[]): string | undefined {
  return USUAL.find((one) => labels.includes(one)) ?? (labels.length === 1 ? labels[0] : undefined);
}

function usual(measure: string, dim: string, labels: string[]): string {
  const found = meant(labels);
  if (found !== undefined) return found;
  const shown = labels.slice(0, 6).map((one) => `${measure}:${quote(one)}`);
  const more = labels.length > 6 ? ` and ${labels.length - 6} more` : "";
  throw new QueryError(`${measure} has several values by ${dim}: ${shown.join(", ")}${more}`);
}

/** A value's measure and its labels; a bare label is looked up in all measures. */
function measureOf(atlas: Atlas, value: string[]): [string, string[]] {
  const all = atlas.document.labels ?? {};
  const first = value[0]!;
  if (all[first]) return [first, value.slice(1)];
  const having = Object.keys(all).filter((name) =>
    Object.values(all[name]!).some((labels) => labels.includes(first)),
  ).filter((name) => !(name.startsWith("norm_") && all[name.slice("norm_".length)]));
  if (value.length === 1 && having.includes("role")) return ["role", value];
  if (value.length === 1 && having.length === 1) return [having[0]!, value];
  if (having.length > 1) {
    const choices = having.map((name) => `${name}:${quote(first)}`).join(", ");
    throw new QueryError(`'${first}' may mean ${choices}: name the measure too`);
  }
  const labels = Object.values(all).flatMap((dims) => Object.values(dims).flat());
  throw unknown("there is no value called", first, [...Object.keys(all), ...labels, "layer"]);
}

/** The error for a name that is not in a list, with the nearest ones. */
export function unknown(what: string, given: string, allowed: string[]): QueryError {
  const near = closest(given, allowed);
  const names = [...new Set(allowed)].sort();
  const advice = near.length
    ? `did you mean ${near.join(" or ")}?`
    : names.length
      ? `there are ${names.slice(0, 8).join(", ")}${names.length > 8 ? " and more" : ""}`
      : "it has no labels";
  return new QueryError(`${what} '${given}': ${advice}`);
}

/** Up to three names that differ from a given one by little. */
export function closest(given: string, allowed: string[]): string[] {
  const wanted = given.toLowerCase();
  return [...new Set(allowed)]
    .map((name) => ({
      name,
      apart: distance(wanted, name.toLowerCase()) / Math.max(name.length, wanted.length, 1),
    }))
    .filter(({ apart }) => apart <= 0.4)
    .sort((a, b) => a.apart - b.apart || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
