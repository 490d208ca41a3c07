import type { Atlas } from "../data/atlas";
import { QueryError } from "./parse";

const FORM = "LAYER-HEAD counted from 1, such as 3-9, or L2H8 counted from 0";

/** The places of named heads: "4-6,5-1", "L2H8", "4-*", "*-1". As headscope/heads.py reads them. */
export function placesOf(atlas: Atlas, text: string): number[] {
  const names = text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  if (!names.length) throw new QueryError("the set of heads is empty");
  const found = new Set<number>();
  for (const name of names) for (const place of named(atlas, name)) found.add(place);
  return [...found];
}

function named(atlas: Atlas, name: string): number[] {
  const one = /^(\d{1,6}|\*)-(\d{1,6}|\*)$/.exec(name);
  const zero = /^L(\d{1,6}|\*)H(\d{1,6}|\*)$/i.exec(name);
  const match = one ?? zero;
  if (!match) throw new QueryError(`a head must be given as ${FORM}; got '${name}' instead`);
  const first = one ? 1 : 0;
  const numbers = atlas.document.model.numbers;
  const layers =
    match[1] === "*" ? numbers.map((_, at) => at) : [numbers.indexOf(Number(match[1]) - first + 1)];
  const heads =
    match[2] === "*"
      ? Array.from({ length: atlas.heads }, (_, at) => at)
      : [Number(match[2]) - first];
  const places: number[] = [];
  for (const layer of layers) {
    for (const head of heads) {
      if (layer < 0 || head < 0 || head >= atlas.heads) throw missing(atlas, name);
      places.push(layer * atlas.heads + head);
    }
  }
  return places;
}

function missing(atlas: Atlas, name: string): QueryError {
  const last = atlas.size - 1;
  return new QueryError(
    `the model has no head ${name}; its heads run from ${atlas.name(0)} to ${atlas.name(last)} ` +
      `(${atlas.zeroBased(0)} to ${atlas.zeroBased(last)})`,
  );
}

/** A query for these heads; whole layers are written as 4-*. */
export function headsQuery(atlas: Atlas, places: Iterable<number>): string {
  const chosen = new Set(places);
  const names: string[] = [];
  for (let layer = 0; layer < atlas.layers; layer++) {
    const first = layer * atlas.heads;
    const mine: number[] = [];
    for (let place = first; place < first + atlas.heads; place++) {
      if (chosen.has(place)) mine.push(place);
    }
    if (mine.length === atlas.heads) names.push(`${atlas.layerNumber(first)}-*`);
    else names.push(...mine.map((place) => atlas.name(place)));
  }
  return `heads ${names.join(",")}`;
}
