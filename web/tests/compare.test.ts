import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import { changes, mostChanged, roleChanges, shared } from "../src/data/compare";
import type { AtlasDocument } from "../src/data/types";

/** An atlas of one layer with one statistic, "x", whose intervals are ± half. */
function made(values: number[], half: number, families?: number[], ids = ["x"]): Atlas {
  const document = {
    model: { name: "m", layers: 1, heads: values.length, numbers: [1] },
    statistics: ids.map((id) => ({ id, measure: "m", title: id, unit: "", kind: "number", source: "", n: 9, listed: true })),
    families: families ? ["previous", "next"] : [],
  } as unknown as AtlasDocument;
  const arrays = {
    value: Float32Array.from(values),
    low: Float32Array.from(values, (one) => one - half),
    high: Float32Array.from(values, (one) => one + half),
    ...(families ? { "roles/family": Uint8Array.from(families) } : {}),
  };
  return new Atlas({ document, arrays, shapes: {} });
}

function twoStatistics(x: number[], y: number[]): Atlas {
  const { document } = made(x, 0.1, undefined, ["x", "y"]);
  return new Atlas({ document, arrays: { value: Float32Array.from([...x, ...y]) }, shapes: {} });
}

describe("two results", () => {
  it("lists changes by size, with the heads whose intervals do not overlap", () => {
    const first = made([0, 0, 0, 0], 0.1);
    const second = made([0.21, 0.19, 0, -0.5], 0.1);
    const found = changes(first, second, "x");
    expect(found.map((one) => one.head)).toEqual(["1-4", "1-1", "1-2", "1-3"]);
    // -0.1 to 0.1 against 0.11 to 0.31, then against 0.09 to 0.29
    expect(found.map((one) => one.apart)).toEqual([true, true, false, false]);
    expect(found[0]!.half).toBeCloseTo(0.2, 6);
    expect(found[0]!.difference).toBeCloseTo(-0.5, 6);
  });

  it("calls no interval apart that is not known", () => {
    expect(changes(made([0], NaN), made([9], NaN), "x")[0]!.apart).toBe(false);
  });

  it("begins with the statistic that changed most, for its range", () => {
    const of = (x: number[], y: number[]) => twoStatistics(x, y);
    const first = of([0, 100, 50], [0, 0.1, 0.2]);
    const second = of([1, 101, 51], [0.1, 0.2, 0]);
    expect(mostChanged(first, second, ["x", "y"])).toBe("y");
    expect(mostChanged(first, second, ["y", "x"])).toBe("y");
    expect(mostChanged(first, first, ["x", "y"])).toBe("x");
  });

  it("leaves heads out that are not defined in both", () => {
    expect(changes(made([NaN, 1], 0.1), made([1, 2], 0.1), "x").map((one) => one.head)).toEqual(["1-2"]);
  });

  it("pairs only what both have", () => {
    const both = shared(made([1], 0.1, undefined, ["x", "y"]), made([1], 0.1, undefined, ["x", "z"]));
    expect(both.ids).toEqual(["x"]);
    expect(both.only).toEqual(["y", "z"]);
    expect(shared(made([1], 0.1), made([1, 2], 0.1)).sameShape).toBe(false);
  });

  it("counts heads with another main role", () => {
    expect(roleChanges(made([1, 1], 0.1, [0, 1]), made([1, 1], 0.1, [0, 0]))).toEqual([1]);
    expect(roleChanges(made([1], 0.1), made([1], 0.1))).toBeNull();
  });
});
