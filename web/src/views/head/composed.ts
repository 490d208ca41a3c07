import type { Atlas } from "../../data/atlas";

/** Which heads a head composes with. Pure, so that it can be tested. */

export interface Composed {
  place: number;
  /** The strongest first. */
  ways: Way[];
}

export interface Way {
  kind: string;
  /** The ratio of norms minus that of random heads. */
  excess: number;
  /** The ratio over the mean of random heads. */
  times: number;
}

export type Side = "earlier" | "later";

/** The other heads on one side that are clearly above random ones, the strongest first. */
export function composed(atlas: Atlas, place: number, side: Side): Composed[] {
  const about = atlas.document.composition;
  const places = atlas.arrays[`composition/${side}`];
  const excesses = atlas.arrays[`composition/${side}/excess`];
  if (!about || !places || !excesses) return [];
  const ranks = places.length / (about.kinds.length * atlas.size);
  const found = new Map<number, Way[]>();
  about.kinds.forEach((kind, at) => {
    for (let rank = 0; rank < ranks; rank++) {
      const cell = (at * atlas.size + place) * ranks + rank;
      const [other, excess] = [places[cell]!, excesses[cell]!];
      // below two deviations of random heads there is nothing to show
      if (other < 0 || !(excess > 2 * about.deviation[at]!)) continue;
      const way = { kind, excess, times: 1 + excess / about.baseline[at]! };
      found.set(other, [...(found.get(other) ?? []), way]);
    }
  });
  const heads = Array.from(found, ([other, ways]) => ({
    place: other,
    ways: ways.sort((a, b) => b.times - a.times),
  }));
  return heads.sort((a, b) => b.ways[0]!.times - a.ways[0]!.times);
}
