import { describe, expect, it } from "vitest";

import {
  between, dense, part, pieces, resting, sparseMap, visible, words,
} from "../src/data/sparse";
import type { Text } from "../src/data/types";

const text: Text = {
  id: "a",
  tokens: ["[CLS]", "un", "##do", "it", "."],
  unit: [-1, 0, 0, 1, 2],
  words: ["undo", "it", "."],
  special: [1, 0, 0, 0, 0],
  sink: [1, 0, 0, 0, 1],
  head: [-1, 0, 0],
  relation: ["root", "obj", "punct"],
  length: 5,
};

/** After one row of another example: [CLS] → itself; un → [CLS], it; ##do → it; it → un, ##do. */
const arrays = {
  counts: Uint8Array.from([9, 1, 2, 1, 2, 0]),
  keys: Uint16Array.from([7, 0, 0, 3, 3, 1, 2]),
  weights: Uint16Array.from([1, 65535, 32768, 16384, 49151, 16384, 32768]),
};
const where = { row: 1, rows: 5, link: 1 };

describe("a head's pack", () => {
  it("gives the map of one example among several", () => {
    const map = sparseMap(arrays, where, 5);
    expect(map.rows).toBe(5);
    expect([...map.starts]).toEqual([0, 1, 3, 4, 6, 6]);
    const full = [...dense(map)].map((one) => Math.round(one * 100) / 100);
    expect(full).toEqual([
      1, 0, 0, 0, 0,
      0.5, 0, 0, 0.25, 0,
      0, 0, 0, 0.75, 0,
      0, 0.25, 0.5, 0, 0,
      0, 0, 0, 0, 0,
    ]);
  });

  it("is shorter, not wrong, where counts overrun the links", () => {
    const counts = Uint8Array.from([0, 200, 200]);
    const map = sparseMap({ ...arrays, counts }, { row: 1, rows: 9, link: 5 }, 5);
    expect(map.rows).toBe(2);
    expect([...map.starts]).toEqual([0, 2, 2]);
    expect([...map.keys]).toEqual([1, 2]);
  });

  it("drops keys beyond the text", () => {
    const map = sparseMap(arrays, where, 3);
    expect(map.rows).toBe(3);
    expect([...map.keys]).toEqual([0, 0]);
  });

  it("is empty without arrays, and with places that are no numbers", () => {
    expect(dense(sparseMap({}, where, 5)).length).toBe(0);
    expect(sparseMap(arrays, { row: NaN, rows: -3, link: 1e9 }, 5).rows).toBe(0);
  });
});

describe("words", () => {
  it("join the pieces of a word and leave special tokens alone", () => {
    const units = words(text);
    expect(units.labels).toEqual(["[CLS]", "undo", "it", "."]);
    expect(units.of).toEqual([0, 1, 1, 2, 3]);
    expect(units.sink).toEqual([true, false, false, true]);
    expect(units.word).toEqual([-1, 0, 1, 2]);
  });

  it("sum over the pieces of a key and average over the pieces of a query", () => {
    const units = words(text);
    const by = between(sparseMap(arrays, where, 5), units);
    const round = [...by].map((one) => Math.round(one * 1000) / 1000);
    expect(round).toEqual([
      1, 0, 0, 0,
      0.25, 0, 0.5, 0,
      0, 0.75, 0, 0,
      0, 0, 0, 0,
    ]);
  });

  it("rest on sinks for the mean share of their pieces", () => {
    const map = sparseMap(arrays, where, 5);
    const rest = resting(map, words(text), text.sink).map((one) => Math.round(one * 100) / 100);
    expect(rest).toEqual([1, 0.25, 0, 0]);
    expect(resting(map, pieces(text), text.sink)[1]).toBeCloseTo(0.5, 3);
  });

  it("can be a part of all", () => {
    const all = Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([...part(all, 3, [0, 2])]).toEqual([1, 3, 7, 9]);
  });

  it("survive an empty text", () => {
    const none: Text = { ...text, tokens: [], unit: [], words: [], special: [], sink: [] };
    expect(words(none).labels).toEqual([]);
    expect(between(sparseMap(arrays, where, 0), words(none)).length).toBe(0);
  });
});

describe("a word that is drawn", () => {
  it("has no marks that turn or hide text", () => {
    expect(visible("a\u202eb\u200bc")).toBe("a·b·c");
    expect(visible("")).toBe("␣");
    expect(visible("\n")).toBe("⏎");
  });

  it("is never long", () => {
    expect(visible("x".repeat(10_000)).length).toBe(24);
    expect(visible("<script>")).toBe("<script>");
  });
});

describe("a compact map", () => {
  it("has square roots of weights in bytes", () => {
    const arrays = {
      counts: Uint8Array.from([1, 1]),
      keys: Uint8Array.from([0, 1]),
      weights: Uint8Array.from([255, 51]),
    };
    const map = sparseMap(arrays, { row: 0, rows: 2, link: 0 }, 2);
    expect(Array.from(map.weights)).toEqual([1, expect.closeTo(0.04, 6)]);
  });
});
