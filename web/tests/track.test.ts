import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import {
  appearances,
  atCheckpoint,
  checkpointOf,
  checkpointText,
  colouringAt,
  labelled,
  linesOver,
  places,
  statisticOver,
  stepScale,
} from "../src/data/track";
import type { AtlasDocument, Track } from "../src/data/types";

const track: Track = {
  names: ["step-0", "step-10", "step-1000"],
  steps: [0, 10, 1000],
  statistics: ["entropy", "position:previous"],
  least: 0.1,
  appear: [
    { head: "1-2", role: "previous", family: "previous", checkpoint: 1, value: 0.2, last: 0.9, main: true },
    { head: "1-1", role: "near", family: "near", checkpoint: 1, value: 0.2, last: 0.3, main: false },
    { head: "1-1", role: "induction", family: "induction", checkpoint: 2, value: 0.5, last: 0.5, main: true },
  ],
};

/** One layer of two heads, three checkpoints, two statistics: value = 100 × statistic + 10 × checkpoint + head. */
function made(more: Partial<Track> = {}): Atlas {
  const values: number[] = [];
  for (let checkpoint = 0; checkpoint < 3; checkpoint++) {
    for (let statistic = 0; statistic < 2; statistic++) {
      for (let head = 0; head < 2; head++) values.push(100 * statistic + 10 * checkpoint + head);
    }
  }
  const statistic = (id: string) => ({
    id, measure: "position", title: id, unit: "", kind: "number", source: "", n: 1, listed: true,
  });
  const document = {
    model: { name: "m", type: "gpt2", stack: "decoder", layers: 1, heads: 2, numbers: [1], causal: true },
    statistics: [statistic("position:previous"), statistic("entropy")],
    families: ["previous", "induction", "broad"],
    work: [], tests: [], relations: [],
    track: { ...track, ...more },
  } as unknown as AtlasDocument;
  return new Atlas({
    document,
    shapes: {},
    arrays: {
      value: Float32Array.from([120, 121, 20, 21]),
      "roles/family": Uint8Array.from([1, 0]),
      "track/value": Float32Array.from(values),
      "track/family": Uint8Array.from([2, 2, 2, 0, 1, 0]),
      "track/excess": Float32Array.from([NaN, NaN, NaN, 0.2, 0.5, 0.9]),
      "track/main": Float32Array.from([0, 0, 0.05, 0.2, 0.5, 0.9]),
    },
  });
}

describe("a track", () => {
  it("gives the roles of one checkpoint", () => {
    const atlas = made();
    expect([0, 1, 2].map((at) => atCheckpoint(atlas, at).family(0))).toEqual(["broad", "broad", "induction"]);
    expect([0, 1, 2].map((at) => atCheckpoint(atlas, at).family(1))).toEqual(["broad", "previous", "previous"]);
    expect(atCheckpoint(atlas, 1).excess(1)).toBeCloseTo(0.2);
    expect(atlas.family(0)).toBe("induction");
  });

  it("gives one statistic of all checkpoints, checkpoint by checkpoint", () => {
    expect(Array.from(statisticOver(made(), "position:previous")!)).toEqual([100, 101, 110, 111, 120, 121]);
    expect(statisticOver(made(), "sink:first")).toBeUndefined();
  });

  it("colours all checkpoints on one scale", () => {
    const atlas = made();
    const [first, last] = [0, 2].map((at) => colouringAt(atlas, "position:previous", at, false));
    expect(first!.domain).toEqual(last!.domain);
    expect(first!.domain).toEqual([100, 121]);
    expect([first!.value(1), last!.value(1)]).toEqual([101, 121]);
    expect(first!.of(0)).not.toBe(last!.of(1));
    expect(last!.field!.values[1]).toBe(121);
    expect(colouringAt(atlas, "role", 0, false).kind).toBe("roles");
  });

  it("draws the excess at the role of the end where roles are coloured", () => {
    expect(linesOver(made(), "role")[3]).toBeCloseTo(0.2);
    expect(linesOver(made(), "entropy")[3]).toBe(11);
  });

  it("has a logarithmic axis for steps that span a wide range, else a plain one", () => {
    const wide = stepScale(track, [0, 100]);
    expect([wide(0), wide(1000)]).toEqual([0, 100]);
    expect(wide(10)).toBeCloseTo((100 * Math.log(2)) / Math.log(101));
    const plain = stepScale({ ...track, steps: [10, 20, 30] }, [0, 100]);
    expect(plain(20)).toBeCloseTo(50);
    const named = { ...track, steps: null };
    expect(places(named)).toEqual([1, 2, 3]);
    expect(stepScale(named, [0, 100])(2)).toBeCloseTo(50);
  });

  it("labels checkpoints from the last one back, as far as there is room", () => {
    expect(labelled([0, 10, 50, 90, 100], 41)).toEqual([0, 2, 4]);
    expect(labelled([], 40)).toEqual([]);
  });

  it("lists main roles by when they appear", () => {
    expect(appearances(track).map(({ checkpoint, rows }) => [checkpoint, rows.map((one) => one.head)])).toEqual([
      [1, ["1-2"]],
      [2, ["1-1"]],
    ]);
  });

  it("reads the checkpoint of an address, and falls back on the last", () => {
    expect([checkpointOf("1", 3), checkpointOf(undefined, 3), checkpointOf("9", 3), checkpointOf("x", 3)]).toEqual([0, 2, 2, 2]);
    expect([checkpointText(track, 2), checkpointText({ ...track, steps: null }, 2)]).toEqual(["step 1,000", "step-1000"]);
  });
});
