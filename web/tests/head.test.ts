import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import { words } from "../src/data/sparse";
import type { AtlasDocument, HeadExample, Relation, Statistic, Text } from "../src/data/types";
import { plusMinus } from "../src/format";
import { choices, goldArcs, passage, verdicts } from "../src/views/head/gold";
import {
  chosenStatistics,
  extremity,
  nearest,
  relationRows,
  surveyed,
} from "../src/views/head/order";
import { prepare } from "../src/views/head/prepared";
import { partTitle, statisticTitle, workTitle } from "../src/views/head/titles";

const text: Text = {
  id: "a",
  tokens: ["[CLS]", "The", "old", "dog", "barks", "."],
  unit: [-1, 0, 1, 2, 3, 4],
  words: ["The", "old", "dog", "barks", "."],
  special: [1, 0, 0, 0, 0, 0],
  sink: [1, 0, 0, 0, 0, 1],
  head: [2, 2, 3, -1, 3],
  relation: ["det", "amod", "nsubj", "root", "punct"],
  length: 6,
};

/** Query, key and weight: "The" looks at "old", "dog" mostly at [CLS], "barks" at itself. */
const LINKS: [number, number, number][] = [
  [1, 2, 0.6],
  [1, 3, 0.3],
  [2, 3, 0.5],
  [2, 5, 0.4],
  [3, 0, 0.9],
  [3, 4, 0.05],
  [4, 4, 0.5],
  [4, 3, 0.2],
];
const arrays = {
  counts: Uint8Array.from([0, 2, 2, 2, 2, 0]),
  keys: Uint16Array.from(LINKS.map(([, key]) => key)),
  weights: Uint16Array.from(LINKS.map(([, , weight]) => Math.round(weight * 65535))),
};
const example: HeadExample = {
  text: 0,
  kind: "strong",
  score: 0.5,
  rank: 1,
  row: 0,
  rows: 6,
  link: 0,
};

function square(): Float32Array {
  const full = new Float32Array(36);
  for (const [from, to, weight] of LINKS) full[from * 6 + to] = weight;
  return full;
}

describe("arcs of the corpus", () => {
  it("run from a word to its head, or back", () => {
    expect(goldArcs(text, "det")).toEqual([{ from: 0, to: 2 }]);
    expect(goldArcs(text, "det>")).toEqual([{ from: 2, to: 0 }]);
    expect(goldArcs(text, "previous")).toHaveLength(4);
    expect(goldArcs(text, "next")[0]).toEqual({ from: 0, to: 1 });
  });

  it("leave out roots, unknown heads and heads beyond the window", () => {
    const cut = { ...text, head: [9, -2, -1, -1, 3] };
    expect(goldArcs(cut, "det")).toEqual([]);
    expect(goldArcs(cut, "amod")).toEqual([]);
    expect(goldArcs(text, "no such relation")).toEqual([]);
  });

  it("can be chosen by relation and direction", () => {
    const ids = choices([text, text]).map((one) => one.id);
    expect(ids).toEqual(["amod", "amod>", "det", "det>", "nsubj", "nsubj>", "punct", "punct>"]);
    expect(choices([text, text])[0]!.n).toBe(2);
    expect(choices([])).toEqual([]);
  });

  it("count as found where they are the strongest link to another word", () => {
    const units = words(text);
    const found = (choice: string) =>
      verdicts(text, choice, square(), units).map((one) => one.found);
    expect(found("det")).toEqual([false]); // "The" looks at "old" more than at "dog"
    expect(found("amod")).toEqual([true]);
    expect(found("nsubj")).toEqual([true]); // [CLS] has more, but is no word
    expect(found("nsubj>")).toEqual([true]); // "barks" itself has more, but is the same word
    expect(verdicts(text, "det", square(), units)[0]!.weight).toBeCloseTo(0.3);
  });
});

describe("a drawn example", () => {
  const options = { pieces: false, relation: "", colour: "#123456", whole: false };

  it("has no special tokens, no links to sinks, weak links only for the pointer", () => {
    const one = prepare(arrays, example, text, options);
    expect(one.labels).toEqual(["The", "old", "dog", "barks", "."]);
    expect(one.links.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
      [3, 2],
      [3, 3],
    ]);
    expect(one.more.map(({ from, to }) => [from, to])).toEqual([[2, 3]]);
    expect(one.rest[2]).toBeCloseTo(0.9, 3);
  });

  it("colours arcs that are found and dashes those that are missed", () => {
    const found = prepare(arrays, example, text, { ...options, relation: "amod" });
    expect(found.links.filter((link) => link.colour)).toEqual([
      { from: 1, to: 2, weight: expect.closeTo(0.5, 3), colour: "#123456" },
    ]);
    const missed = prepare(arrays, example, text, { ...options, relation: "det" });
    expect(missed.links.filter((link) => link.dashed)).toEqual([
      { from: 0, to: 2, weight: expect.closeTo(0.3, 3), colour: "#123456", dashed: true },
    ]);
  });

  it("draws an arc that is found but too weak for a line", () => {
    const one = prepare(arrays, example, text, { ...options, relation: "nsubj" });
    const drawn = one.links.filter((link) => link.from === 2 && link.to === 3);
    expect(drawn).toEqual([
      { from: 2, to: 3, weight: expect.closeTo(0.05, 3), colour: "#123456", dashed: false },
    ]);
  });
});

describe("a passage of a long text", () => {
  it("begins and ends at sentences where the most is going on", () => {
    const sums = [0, 0, 0, 0, 5, 5, 0, 0, 0, 0];
    const stops = [3, 6, 9].reduce<boolean[]>(
      (all, at) => ((all[at] = true), all),
      new Array(10).fill(false),
    );
    expect(passage(sums, stops, 4)).toEqual([4, 7]);
  });

  it("is all of a short text", () => {
    expect(passage([1, 2], [false, false], 5)).toEqual([0, 2]);
    expect(passage([], [], 5)).toEqual([0, 0]);
  });
});

function statistic(id: string, more: Partial<Statistic> = {}): Statistic {
  return {
    id,
    group: "",
    measure: id.split(":")[0]!,
    title: id,
    unit: "share",
    kind: "share",
    source: "",
    n: 9,
    listed: true,
    reference: null,
    ...more,
  };
}

function atlas(
  statistics: Statistic[],
  value: number[],
  extra: Record<string, Float32Array> = {},
  relations: Relation[] = [],
): Atlas {
  const document = {
    model: { layers: 2, heads: 2, numbers: [1, 2] },
    statistics,
    relations,
    work: [],
    families: [],
  } as unknown as AtlasDocument;
  return new Atlas({ document, arrays: { value: Float32Array.from(value), ...extra }, shapes: {} });
}

describe("statistics of a head", () => {
  it("are the headline ones, then those where it stands out", () => {
    const made = atlas(
      [
        statistic("feature:a"),
        statistic("feature:b"),
        statistic("entropy"),
        statistic("link:c", { listed: false }),
      ],
      [0, 1, 2, 3, /**/ 1, 0.1, 2, 3, /**/ 1, 1, 2, 5, /**/ 9, 0, 0, 0],
    );
    expect(chosenStatistics(made, 0, 2)).toEqual([2, 0]);
    expect(extremity(made, 0, 0)).toBe(1);
    expect(extremity(made, 1, 0)).toBeCloseTo(1 / 3);
  });

  it("leave out values that are shown already", () => {
    const made = atlas([statistic("a:x"), statistic("b:x")], [5, 1, 2, 3, /**/ 5, 1, 2, 3]);
    expect(chosenStatistics(made, 0, 5)).toEqual([0]);
  });

  it("tell results of a survey from those of probes alone", () => {
    expect(surveyed(atlas([statistic("probe:depth")], [1, 2, 3, 4]))).toBe(false);
    expect(surveyed(atlas([statistic("copying")], [1, 2, 3, 4]))).toBe(false);
    expect(surveyed(atlas([statistic("entropy")], [1, 2, 3, 4]))).toBe(true);
  });
});

describe("relations of a head", () => {
  it("come by gain over the fixed offset, filled only if they pass", () => {
    const one = (relation: string, baseline: number) =>
      ({ relation, baseline, id: relation, title: relation }) as Relation;
    const made = atlas(
      [],
      [],
      {
        "relations/accuracy": Float32Array.from([
          0.6, 0.7, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.99, 0, 0, 0,
        ]),
        "relations/p": Float32Array.from([0.2, 1, 1, 1, 0.01, 1, 1, 1, 0.001, 1, 1, 1]),
      },
      [one("det", 0.5), one("amod", 0.4), one("punct", 0.1)],
    );
    const rows = relationRows(made, 0);
    expect(rows.map((row) => row.relation.relation)).toEqual(["amod", "det", "punct"]);
    expect(rows.map((row) => row.passes)).toEqual([true, false, true]);
    expect(rows.map((row) => row.rank)).toEqual([1, 2, 1]);
  });
});

describe("nearest heads", () => {
  it("leave out the head itself", () => {
    const distance = Float32Array.from([0, 3, 1, 2, ...new Array(12).fill(0)]);
    expect(nearest(atlas([], [], { distance }), 0, 2)).toEqual([
      { place: 2, distance: 1 },
      { place: 3, distance: 2 },
    ]);
    expect(nearest(atlas([], []), 0, 2)).toEqual([]);
  });
});

describe("short names", () => {
  it("keep what tells statistics apart", () => {
    const title = (words: string, measure = "position") =>
      statisticTitle(statistic("x", { title: words, measure }));
    expect(title("attention to the previous token")).toBe("Previous token");
    expect(title("attention to [CLS]")).toBe("Attention to [CLS]");
    expect(title("attention to [CLS] from [SEP]")).toBe("To [CLS] from [SEP]");
    expect(title("entropy of attention from all tokens")).toBe("Entropy, nats");
    expect(title("local: Within two tokens, itself included", "role")).toBe("Local, × uniform");
    expect(
      workTitle({ id: "modifier to noun", title: "from a modifier to its noun", family: "" }),
    ).toBe("Modifier → its noun");
    expect(workTitle({ id: "near", title: "near tokens: one or two away", family: "" })).toBe(
      "Near tokens (±2)",
    );
    expect(partTitle("probe for tree depth")).toBe("Tree depth");
  });
});

describe("half an interval", () => {
  it("has one digit", () => {
    expect(plusMinus(0, 0.0198, "number")).toBe("± 0.01");
    expect(plusMinus(0, 0.0062, "number")).toBe("± 0.003");
    expect(plusMinus(0, 0.04, "share")).toBe("± 2");
  });
});
