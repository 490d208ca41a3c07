import type { Atlas } from "../data/atlas";
import { extent } from "../data/fields";
import { number } from "../format";
import { placesOf } from "./heads";
import { type Comparison, parseQuery, QueryError, type Tree } from "./parse";
import { quote, unknown, valuesOf } from "./values";

type Mask = Uint8Array;

/** `is:positional-nsubj`: heads that have the role by its test, but by positions alone. */
const POSITIONAL = "positional-";

/** The places of the heads for which a query holds, in the order of the model. */
export function findHeads(atlas: Atlas, query: string): number[] {
  const mask = evaluate(atlas, parseQuery(query));
  const places: number[] = [];
  mask.forEach((one, place) => one && places.push(place));
  return places;
}

/** Why no head fulfils a query: the range of the values that it compares. */
export function emptyBecause(atlas: Atlas, query: string): string {
  return comparisons(parseQuery(query))
    .map((value) => {
      const [low, high] = extent(valuesOf(atlas, value));
      const name = value.map(quote).join(":");
      return Number.isNaN(low) ? `${name} is not defined here` : `${name} is ${number(low)} to ${number(high)}`;
    })
    .join("; ");
}

/** The values that a query compares with numbers. */
function comparisons(tree: Tree): string[][] {
  switch (tree[0]) {
    case "and":
    case "or":
      return [...comparisons(tree[1]), ...comparisons(tree[2])];
    case "not":
      return comparisons(tree[1]);
    case "compare":
      return [tree[1]];
    default:
      return [];
  }
}

function evaluate(atlas: Atlas, tree: Tree): Mask {
  switch (tree[0]) {
    case "and": {
      const other = evaluate(atlas, tree[2]);
      return evaluate(atlas, tree[1]).map((one, place) => one & other[place]!);
    }
    case "or": {
      const other = evaluate(atlas, tree[2]);
      return evaluate(atlas, tree[1]).map((one, place) => one | other[place]!);
    }
    case "not":
      return evaluate(atlas, tree[1]).map((one) => 1 - one);
    case "layer":
      return where(atlas, (place) => {
        const layer = atlas.layerNumber(place);
        return layer >= tree[1] && layer <= tree[2];
      });
    case "heads": {
      const places = new Set(placesOf(atlas, tree[1]));
      return where(atlas, (place) => places.has(place));
    }
    case "is":
      return hasRole(atlas, tree[1]);
    case "top":
      return largest(atlas, valuesOf(atlas, tree[2]), tree[1]);
    case "compare": {
      const values = valuesOf(atlas, tree[1]);
      // the page holds float32: the number is rounded in the same way
      const number = Math.fround(tree[3]);
      return where(atlas, (place) => holds(values[place]!, tree[2], number));
    }
  }
}

function where(atlas: Atlas, test: (place: number) => boolean): Mask {
  return Uint8Array.from({ length: atlas.size }, (_, place) => (test(place) ? 1 : 0));
}

/** A value that is not defined fulfils no comparison. */
function holds(value: number, sign: Comparison, number: number): boolean {
  if (Number.isNaN(value)) return false;
  switch (sign) {
    case "<":
      return value < number;
    case "<=":
      return value <= number;
    case ">":
      return value > number;
    case ">=":
      return value >= number;
    case "=":
      return value === number;
    case "!=":
      return value !== number;
  }
}

/** Among equal values the first heads of the model. */
function largest(atlas: Atlas, values: ArrayLike<number>, count: number): Mask {
  const places = Array.from({ length: atlas.size }, (_, place) => place)
    .filter((place) => !Number.isNaN(values[place]!))
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, count);
  const chosen = new Set(places);
  return where(atlas, (place) => chosen.has(place));
}

function hasRole(atlas: Atlas, role: string): Mask {
  const { tests, families } = atlas.document;
  const at = tests.findIndex((one) => one.id === role);
  if (at >= 0) {
    const has = atlas.row(atlas.arrays["tests/plain"] ? "tests/plain" : "tests/has", at);
    return where(atlas, (place) => has[place] === 1);
  }
  if (families.includes(role)) return where(atlas, (place) => atlas.family(place) === role);
  const alone = tests.findIndex((one) => `${POSITIONAL}${one.id}` === role);
  if (alone >= 0) {
    const has = atlas.arrays["tests/alone"] ? atlas.row("tests/alone", alone) : [];
    return where(atlas, (place) => has[place] === 1);
  }
  const known = [...tests.map((one) => one.id), ...families];
  if (!known.length) throw new QueryError("these results have no roles, which is: asks for");
  throw unknown("there is no role called", role, known);
}
