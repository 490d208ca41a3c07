import { describe, expect, it } from "vitest";

import { arcs, breakLines, place, runsLeft, shares } from "../src/components/arcs-layout";
import { ramp, shape, strength } from "../src/components/heatmap-draw";
import { words } from "../src/data/sparse";
import type { Text } from "../src/data/types";
import { ticks } from "../src/components/strip";

describe("lines of words", () => {
  it("break where the next word does not fit", () => {
    expect(breakLines([30, 30, 30, 30], 100, 10)).toEqual({
      x: [0, 40, 0, 40],
      line: [0, 0, 1, 1],
      lines: 2,
    });
  });

  it("give a word wider than the page its own line, cut to the page", () => {
    const placed = place([20, 900, 20], [], 300, 10);
    expect(placed.line).toEqual([0, 1, 2]);
    expect(placed.width[1]).toBe(300);
  });

  it("are none without words", () => {
    expect(place([], [], 300, 10).lines).toEqual([]);
  });
});

describe("arcs", () => {
  const placed = place([30, 30, 30, 30], [{ from: 0, to: 3, weight: 0.5 }], 100, 10);

  it("end in a dot at the key", () => {
    const [arc] = arcs(placed, [{ from: 0, to: 1, weight: 0.5 }]);
    expect(arc!.tip![0]).toBe(55 - 4);
    expect(arc!.path.startsWith("M19 ")).toBe(true);
  });

  it("between lines run to the edge and come in from the other", () => {
    const [out, into] = arcs(placed, [{ from: 0, to: 3, weight: 0.5 }]);
    expect(out!.tip).toBeUndefined();
    expect(out!.path).toMatch(/ 100 -?[\d.]+$/);
    expect(into!.path.startsWith("M0 ")).toBe(true);
    expect([out!.leaves, into!.leaves]).toEqual([true, true]);
    expect(into!.tip![1]).toBe(placed.lines[1]!.arcs);
  });

  it("that were given no room stay inside the drawing", () => {
    const words = Array.from({ length: 12 }, () => 30);
    const flat = place(words, [{ from: 0, to: 1, weight: 0.5 }], 600, 10);
    const radius = (path: string) => Number(/A[\d.]+ ([\d.]+)/.exec(path)![1]);
    const [short, far] = arcs(flat, [
      { from: 0, to: 1, weight: 0.5 },
      { from: 0, to: 11, weight: 0.05 },
    ]);
    const [line] = flat.lines;
    expect(radius(far!.path)).toBeLessThanOrEqual(line!.arcs - line!.top);
    expect(radius(far!.path)).toBeGreaterThan(radius(short!.path));
  });

  it("to words that are not there are not drawn", () => {
    expect(
      arcs(placed, [
        { from: 0, to: 9, weight: 1 },
        { from: -1, to: 0, weight: 1 },
      ]),
    ).toEqual([]);
  });

  it("never leave the room that their line has", () => {
    const wide = place([40, 400, 40], [{ from: 0, to: 2, weight: 1 }], 600, 10);
    expect(wide.lines[0]!.arcs).toBeGreaterThanOrEqual(88);
  });
});

describe("percentages under the words", () => {
  it("go to the second row, then away, where they would hide each other", () => {
    const placed = place([8, 8, 8, 8], [], 300, 2);
    const links = [0, 1, 2].map((from) => ({ from, to: 3, weight: 0.5 - from / 10 }));
    const found = shares(placed, links, 3, (weight) => `${Math.round(weight * 100)} %`);
    expect(found.map(({ word, row }) => [word, row])).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });
});

describe("the map", () => {
  it("has three scales that keep order and ends", () => {
    for (const scale of ["sqrt", "linear", "log"] as const) {
      expect(strength(0, scale)).toBe(0);
      expect(strength(1, scale)).toBe(1);
      expect(strength(0.5, scale)).toBeGreaterThan(strength(0.1, scale));
      expect(strength(NaN, scale)).toBe(0);
      expect(strength(7, scale)).toBe(1);
    }
    expect(strength(0.25, "sqrt")).toBe(0.5);
    expect(strength(0.0001, "log")).toBe(0);
  });

  it("makes cells smaller until the columns fit, and drops the labels of tiny ones", () => {
    expect(shape(500, 14, 20, 60, 60)).toMatchObject({ cell: 20, labels: true });
    expect(shape(500, 100, 20, 60, 60)).toMatchObject({ cell: 4, labels: false, left: 0 });
    expect(shape(500, 4096, 20, 60, 60).cell).toBe(3);
  });

  it("runs from the ground to one dark hue", () => {
    expect(ramp(false)[0]).toBe("#ffffff");
    expect(ramp(false).length).toBe(256);
    expect(new Set(ramp(true)).size).toBeGreaterThan(200);
  });
});

describe("a strip", () => {
  it("draws heads at the same pixel once, this layer on top", () => {
    const values = Float32Array.from([0, 1, 1, 0.5, 0.5, NaN]);
    const { others, layer, at } = ticks(values, 0, 2, 100);
    expect(layer).toEqual([0, 100]);
    expect(others).toEqual([50]);
    expect(at(0.25)).toBe(25);
  });

  it("puts heads that are all alike in the middle", () => {
    expect(ticks(Float32Array.from([2, 2]), 0, 1, 100).layer).toEqual([50]);
  });
});

describe("scripts", () => {
  it("that run from right to left begin at the right edge", () => {
    expect(runsLeft(["שלום", "world"])).toBe(false);
    expect(runsLeft(["مرحبا", "يا", "عالم"])).toBe(true);
    const [first, second] = place([40, 60], [], 200, 10, true).x;
    expect([first, second]).toEqual([160, 90]);
  });
  it("without spaces are drawn by token", () => {
    const text = { tokens: ["[CLS]", "今", "天", "A", "##B"], unit: [-1, 0, 0, 1, 1], words: ["今天", "AB"], special: [1, 0, 0, 0, 0], sink: [1, 0, 0, 0, 0] };
    expect(words(text as unknown as Text).labels).toEqual(["[CLS]", "今", "天", "AB"]);
  });
});
