import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import { changes, roleChanges, shared, twoSided } from "../src/data/compare";
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

describe("two results", () => {
  it("has p-values of the normal distribution", () => {
    expect(twoSided(0)).toBeCloseTo(1, 6);
    expect(twoSided(1.959964)).toBeCloseTo(0.05, 6);
    expect(twoSided(3)).toBeCloseTo(0.0026998, 6);
    expect(twoSided(NaN)).toBe(1);
  });

  it("lists changes by size and tests them with Holm's correction", () => {
    // The standard error of a difference is √2 · 0.1 / 1.96 = 0.0722: z is 2.49, 2.08, 0 and 6.9.
    const first = made([0, 0, 0, 0], 0.1);
    const second = made([0.18, 0.15, 0, 0.5], 0.1);
    const found = changes(first, second, "x");
    expect(found.map((one) => one.head)).toEqual(["1-4", "1-1", "1-2", "1-3"]);
    // p: 4e-12 · 4, then 0.0128 · 3 = 0.038, then 0.0376 · 2 = 0.075.
    expect(found.map((one) => one.sure)).toEqual([true, true, false, false]);
    expect(found[0]!.half).toBeCloseTo(Math.SQRT2 * 0.1, 6);
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
