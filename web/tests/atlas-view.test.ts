import { describe, expect, it } from "vitest";

import { fieldColouring, ramp } from "../src/colour";
import { Arrangement, gridLayout, headOrders } from "../src/components/grid-layout";
import { contains, nearest } from "../src/components/scatter-brush";
import { extremity, overlap, placeLabels } from "../src/components/scatter-labels";
import { axis, linear } from "../src/components/axis";
import { filtered, shiftInto } from "../src/components/select";
import { extent, type Field, spansDecades } from "../src/data/fields";
import { halving } from "../src/views/atlas/summary";
import { sorting } from "../src/views/finder/table";

const made = (values: number[], more: Partial<Field> = {}): Field => ({
  id: "x",
  query: "x",
  group: "",
  title: "x",
  unit: "",
  kind: "number",
  values,
  ...more,
});

describe("the grid", () => {
  it.each([
    [6, 12, 820, 64, 54, false],
    [12, 12, 820, 64, 32, false],
    [30, 9, 1016, 32, 40, true],
  ])("%i × %i heads have the sizes of the sketch", (layers, heads, room, stepX, stepY, across) => {
    expect(gridLayout({ layers, heads }, room)).toMatchObject({ stepX, stepY, across });
  });

  it.each([
    [6, 12],
    [24, 16],
    [32, 32],
    [30, 9],
    [80, 64],
    [1, 1],
    [128, 8],
    [8, 128],
  ])("%i × %i heads never overflow", (layers, heads) => {
    for (const room of [336, 368, 648, 1016]) {
      const layout = gridLayout({ layers, heads }, room);
      expect(layout.width).toBeLessThanOrEqual(room + 1e-6);
      expect(layout.stepX - layout.gap).toBeGreaterThan(0);
      expect(layout.canvas).toBe(layers * heads >= 600);
    }
  });

  it("has layer 1 at the bottom, and layers as columns where they run across", () => {
    const shape = { layers: 2, heads: 3 };
    const up = new Arrangement(gridLayout(shape, 400), shape, headOrders(shape));
    expect(up.rows).toEqual([
      [3, 4, 5],
      [0, 1, 2],
    ]);
    expect(up.step(0, 0, -1)).toBe(3);
    expect(up.step(0, -1, 0)).toBe(0);
    expect(up.edge(3, true)).toBe(5);
    const wide = { layers: 17, heads: 2 };
    const across = new Arrangement(gridLayout(wide, 1000), wide, headOrders(wide));
    expect(across.rows[0]!.slice(0, 3)).toEqual([0, 2, 4]);
  });

  it("finds every head at the middle of its cell", () => {
    const shape = { layers: 20, heads: 5 };
    const grid = new Arrangement(
      gridLayout(shape, 700),
      shape,
      headOrders(shape, (place) => place % 7),
    );
    for (let place = 0; place < 100; place++) {
      const [x, y, width, height] = grid.box(place);
      expect(grid.at(x + width / 2, y + height / 2)).toBe(place);
    }
    expect(grid.at(0, 0)).toBe(-1);
  });

  it("sorts heads within layers, largest first, not defined last", () => {
    const values = [1, Number.NaN, 3, 5, 5, 9];
    expect([...headOrders({ layers: 2, heads: 3 }, (place) => values[place]!)]).toEqual([
      1, 2, 0, 1, 2, 0,
    ]);
  });
});

describe("scales", () => {
  it("ignores what is not defined", () => {
    expect(extent([Number.NaN, 2, 1])).toEqual([1, 2]);
    expect(extent([Number.NaN])).toEqual([Number.NaN, Number.NaN]);
  });

  it("offers logarithms only over two decades", () => {
    expect(spansDecades([0.01, 2])).toBe(true);
    expect(spansDecades([0.1, 2])).toBe(false);
    expect(spansDecades([0, 200])).toBe(false);
  });

  it("begins shares at 0 and ends them at 1", () => {
    const share = axis(made([0.3, 0.98], { kind: "share" }), 0, 100);
    expect([share.at(0), share.at(1)]).toEqual([0, 100]);
    expect(share.at(Number.NaN)).toBeNaN();
  });

  it("spaces logarithms evenly", () => {
    const log = axis(made([0.01, 100]), 0, 400, true);
    expect(log.at(1) - log.at(0.1)).toBeCloseTo(log.at(10) - log.at(1), 9);
    expect(log.ticks.length).toBeGreaterThan(1);
    expect(log.ticks.length).toBeLessThan(9);
  });

  it("writes ticks with as many digits as tell them apart", () => {
    const texts = (low: number, high: number, percent = false) =>
      linear([low, high], [0, 100], { count: 4, percent }).ticks.map(({ text }) => text);
    expect(texts(0, 0.2)).toEqual(["0.00", "0.05", "0.10", "0.15", "0.20"]);
    expect(texts(-1, 1)).toEqual(["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    expect(texts(0, 1, true)).toEqual(["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
    expect(linear([0.02, 0.97], [0, 100]).ends).toEqual([0, 1]);
    expect(linear([0.02, 0.97], [0, 100], { nice: false }).ends).toEqual([0.02, 0.97]);
    const log = axis(made([0.01, 100]), 0, 400, true);
    expect(log.ticks.map(({ text }) => text)).toEqual(["0.01", "0.1", "1", "10", "100"]);
  });

  it("colours amounts from 0 and changes around 0", () => {
    const change = fieldColouring(made([-1, 2], { diverging: true }), false);
    expect(change.domain).toEqual([-2, 2]);
    expect(change.of(0)).not.toBe(change.of(1));
    expect(change.at(0)).toBe(ramp(["#0f4f8f", "#6aa5d8", "#f1f0ee", "#e59a66", "#9c3d08"], 0.5));
    expect(fieldColouring(made([0.4, 0.8], { kind: "share" }), false).domain).toEqual([0, 0.8]);
    const tested = fieldColouring(made([5, 5], { passes: [0, 1] }), false);
    expect([tested.text(0), tested.text(1)]).toEqual(["", "5.00"]);
  });
});

describe("labels in the scatter", () => {
  const room = { left: 0, top: 0, right: 400, bottom: 300 };
  const dots = Array.from({ length: 200 }, (_, place) => ({
    place,
    x: 20 + ((place * 7919) % 360),
    y: 20 + ((place * 104729) % 260),
  }));

  it("never overlap, never leave the chart, and never cover another point", () => {
    const labels = placeLabels(extremity(dots, 400, 300), dots, (place) => `12-${place}`, room, 30);
    expect(labels.length).toBeGreaterThan(3);
    for (const [at, one] of labels.entries()) {
      expect(one.left).toBeGreaterThanOrEqual(0);
      expect(one.left + one.width).toBeLessThanOrEqual(400);
      for (const other of labels.slice(at + 1)) expect(overlap(one, other)).toBe(false);
      for (const dot of dots) {
        const inside =
          dot.x > one.left &&
          dot.x < one.left + one.width &&
          dot.y > one.top &&
          dot.y < one.top + one.height;
        expect(inside && dot.place !== one.place).toBe(false);
      }
    }
  });

  it("name the outlier first", () => {
    const near = [0, 1, 2, 3, 4].map((place) => ({ place, x: 100 + place, y: 100 }));
    expect(extremity([...near, { place: 9, x: 390, y: 290 }], 400, 300)[0]!.place).toBe(9);
  });

  it("a point is found within reach only", () => {
    expect(nearest(dots, dots[5]!.x + 1, dots[5]!.y)).toBe(5);
    expect(nearest(dots, -100, -100)).toBe(-1);
    expect(contains({ x: 0, y: 0, width: 10, height: 10 }, { x: 10, y: 11 })).toBe(false);
  });
});

it("searches options by all words", () => {
  const options = [
    { id: "a", title: "attention to [CLS]" },
    { id: "b", title: "attention to [SEP]", group: "special" },
  ];
  expect(filtered(options, "special att").map((one) => one.id)).toEqual(["b"]);
});

it("reads the order of a table from the address", () => {
  expect(sorting("-entropy")).toEqual(["entropy", false]);
  expect(sorting(undefined)).toEqual(["head", true]);
});

it("moves a list into the window", () => {
  expect(shiftInto(50, 350, 400)).toBe(0);
  expect(shiftInto(20, 500, 400)).toBe(-12); // too wide: its beginning is seen
  expect(shiftInto(100, 450, 400)).toBe(-58);
  expect(shiftInto(-20, 300, 400)).toBe(28);
});

it("says how many examples would halve the intervals", () => {
  expect(halving(1200)).toBe(
    "About 4,800 examples instead of 1,200 would halve the 95 % intervals.",
  );
});
