import { describe, expect, it } from "vitest";

import { fieldColouring } from "../src/colour";
import { headLabel } from "../src/components/grid-cell";
import type { Atlas } from "../src/data/atlas";
import type { Field } from "../src/data/fields";
import {
  bandCells,
  bandColumns,
  bandsText,
  bandText,
  nullNames,
  outside,
  standing,
} from "../src/data/nulls";
import type { NullBand } from "../src/data/types";
import { fadedField, nullChoices } from "../src/views/atlas/colours";
import { rowTops } from "../src/views/head/among";

const random: NullBand = { null: "random weights", low: 0.02, high: 0.05 };
const shuffled: NullBand = { null: "shuffled words", low: 0.1, high: 0.3 };
const field: Field = {
  id: "x",
  query: "x",
  group: "",
  title: "attention to x",
  unit: "",
  kind: "share",
  values: [0.01, 0.02, 0.05, 0.5, Number.NaN],
  nulls: [random, shuffled],
};

describe("the band of a null model", () => {
  it.each([
    [0.01, "below"],
    [0.02, "inside"], // as null_table has it: the ends belong to the band
    [0.05, "inside"],
    [0.051, "above"],
    [Number.NaN, ""],
  ])("has %d %s", (value, where) => {
    expect(standing(value, random)).toBe(where);
  });

  it("is written in the statistic's own way", () => {
    expect(bandText(random, "share")).toBe("random weights: 2.0 % to 5.0 %");
    expect(bandText({ ...random, low: 0.9, high: 1.1 }, "times")).toBe(
      "random weights: 0.90 × to 1.10 ×",
    );
    expect(bandText({ ...random, low: -0.0006, high: 0.0000001 }, "share")).toBe(
      "random weights: \u22120.06 % to 0 %",
    );
    expect(bandsText(0.2, [random, shuffled], "number")).toBe(
      "; random weights: 0.020 to 0.050 (above); shuffled words: 0.10 to 0.30 (inside)",
    );
    expect(bandsText(0.2, undefined, "number")).toBe("");
  });

  it("is saved in two columns, empty where a statistic has none", () => {
    const names = nullNames([{}, { nulls: [random] }, { nulls: [random, shuffled] }]);
    expect(names).toEqual(["random weights", "shuffled words"]);
    expect(bandColumns(names)[2]).toBe("shuffled words low");
    expect(bandCells([random], names)).toEqual([0.02, 0.05, null, null]);
    expect(bandCells(undefined, [])).toEqual([]);
  });

  it("takes a line below its statistic", () => {
    const [first, second, third, end] = rowTops([0, 2, 1]);
    expect(third! - second!).toBeGreaterThan(second! - first!);
    expect(end! - third!).toBeLessThan(third! - second!);
  });
});

describe("fading in the atlas", () => {
  it("is offered for what has bands", () => {
    expect(nullChoices(field).map((one) => one.id)).toEqual([
      "none",
      "random weights",
      "shuffled words",
    ]);
    expect(nullChoices({ ...field, nulls: undefined })).toEqual([]);
    expect(nullChoices(undefined)).toEqual([]);
  });

  it("empties the cells of heads inside the band and leaves others as they are", () => {
    expect([...outside(field.values, random)]).toEqual([1, 0, 0, 1, 1]);
    const plain = fieldColouring(field, false);
    const faded = fieldColouring(fadedField(field, "random weights"), false);
    expect(faded.of(1)).toBe("#ffffff");
    expect([faded.text(1), faded.text(4)]).toEqual(["", "–"]);
    for (const place of [0, 3]) {
      expect(faded.of(place)).toBe(plain.of(place));
      expect(faded.text(place)).toBe(plain.text(place));
    }
    expect(faded.domain).toEqual(plain.domain);
  });

  it("is said to screen readers", () => {
    const atlas = { name: (place: number) => `1-${place + 1}` } as Atlas;
    const faded = fieldColouring(fadedField(field, "random weights"), false);
    expect(headLabel(atlas, 1, faded)).toBe(
      "Head 1-2: attention to x, 2.0 %, inside the band of random weights",
    );
    expect(headLabel(atlas, 3, faded)).toBe("Head 1-4: attention to x, 50 %");
  });
});
