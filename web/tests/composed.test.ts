import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import type { AtlasDocument } from "../src/data/types";
import { composed } from "../src/views/head/composed";

/** Two layers of one head, two kinds, two ranks: head 2-1 reads 1-1 through its keys. */
function small(composition: unknown): Atlas {
  const document = {
    model: { layers: 2, heads: 1, numbers: [1, 2] },
    statistics: [],
    families: [],
    composition,
  } as unknown as AtlasDocument;
  const [none, no] = [-1, NaN];
  return new Atlas({
    document,
    shapes: {},
    arrays: {
      "composition/earlier": Int32Array.from([none, none, 0, none, none, none, 0, none]),
      "composition/earlier/excess": Float32Array.from([no, no, 0.015, no, no, no, 0.3, no]),
      "composition/later": Int32Array.from([1, none, none, none, 1, none, none, none]),
      "composition/later/excess": Float32Array.from([0.015, no, no, no, 0.3, no, no, no]),
    },
  });
}
const about = { kinds: ["Q", "K"], baseline: [0.1, 0.1], deviation: [0.01, 0.01], notes: [] };

describe("heads that a head composes with", () => {
  it("are those clearly above random heads, with the ratio over them", () => {
    const found = composed(small(about), 1, "earlier");
    expect(found.map((one) => [one.place, one.ways.map(({ kind }) => kind)])).toEqual([
      [0, ["K"]],
    ]);
    expect(found[0]!.ways[0]!.times).toBeCloseTo(4);
    expect(composed(small(about), 0, "later").map((one) => one.place)).toEqual([1]);
  });

  it("are listed once, their strongest way first", () => {
    const generous = { ...about, deviation: [0.001, 0.001] };
    const found = composed(small(generous), 1, "earlier");
    expect(found.map((one) => [one.place, one.ways.map(({ kind }) => kind)])).toEqual([
      [0, ["K", "Q"]],
    ]);
  });

  it("are none before the first layer, and none without circuits", () => {
    expect(composed(small(about), 0, "earlier")).toEqual([]);
    expect(composed(small(null), 1, "earlier")).toEqual([]);
  });
});
