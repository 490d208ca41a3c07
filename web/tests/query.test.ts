import { describe, expect, it } from "vitest";

import cases from "../../tests/query/cases.json";
import { Atlas } from "../src/data/atlas";
import type { AtlasDocument } from "../src/data/types";
import { accept, complete } from "../src/query/complete";
import { findHeads } from "../src/query/evaluate";
import { headsQuery, placesOf } from "../src/query/heads";
import { parseQuery, splitValue } from "../src/query/parse";
import { closest } from "../src/query/values";

const NAN = Number.NaN;

/** Two layers (numbered 2 and 5) of three heads, with numbers that can be checked by eye. */
function atlas(): Atlas {
  const statistic = (id: string, title: string) => ({
    id,
    title,
    measure: id.split(":")[0]!,
    unit: "",
    kind: "number" as const,
    source: "",
    n: 9,
    listed: true,
  });
  const value = [
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], // entropy
    [6, 5, 4, 3, 2, 1], // entropy:cls
    [1, 1, NAN, 7, 7, 0], // role:induction
    [9, 0, 0, 0, 0, 8], // role:"rare word"
    [0, 0.5, 0, 0.5, 0, 0.5], // special:cls
    [0.25, 0, 0, 0, 0, 1], // special:cls:sep
  ];
  const document = {
    model: { name: "made", layers: 2, heads: 3, numbers: [2, 5] },
    statistics: [
      statistic("entropy", "entropy of attention from all tokens"),
      statistic("entropy:cls", "entropy from [CLS]"),
      statistic("role:induction", "induction"),
      statistic('role:"rare word"', "rare word"),
      statistic("special:cls", "attention to [CLS]"),
      statistic("special:cls:sep", "attention to [CLS] from [SEP]"),
    ],
    labels: {
      entropy: { row: ["all", "cls", "uniform"] },
      role: { role: ["induction", "rare word"] },
      special: { token: ["cls", "sep"], row: ["all", "sep"] },
      dependency: {
        direction: ["dependent to head", "head to dependent"],
        relation: ["all", "det"],
        words: ["every"],
      },
    },
    families: ["previous", "induction"],
    tests: [{ id: "induction", title: "" }],
    relations: [
      {
        id: "det:dependent to head",
        relation: "det",
        direction: "dependent to head",
        title: "det",
      },
    ],
    heads: [],
  } as unknown as AtlasDocument;
  const arrays = {
    value: Float32Array.from(value.flat()),
    "roles/family": Uint8Array.from([0, 1, 1, 0, 1, 1]),
    "tests/plain": Uint8Array.from([0, 0, 1, 1, 0, 0]),
    "tests/alone": Uint8Array.from([0, 1, 0, 0, 0, 0]),
    "relations/accuracy": Float32Array.from([0.9, 0.1, 0.1, 0.1, 0.1, 0.1]),
  };
  return new Atlas({ document, arrays, shapes: {} });
}

const found = (query: string) => {
  const made = atlas();
  return findHeads(made, query).map((place) => made.name(place));
};

describe("parsing", () => {
  it.each(cases)("reads $query as Python does", (one) => {
    if ("tree" in one) expect(parseQuery(one.query)).toEqual(one.tree);
    else expect(() => parseQuery(one.query)).toThrow(new Error(one.error));
  });

  it("refuses long and deep queries", () => {
    expect(() => parseQuery("x".repeat(2001))).toThrow("at most 2000 characters, got 2001");
    expect(() => parseQuery("not ".repeat(60) + "is:a")).toThrow("nested too deeply");
  });

  it("splits values at colons outside quotation marks", () => {
    expect(splitValue('dependency:det:"head: to dependent"')).toEqual([
      "dependency",
      "det",
      "head: to dependent",
    ]);
    expect(splitValue(": :")).toEqual([]);
  });
});

describe("evaluation", () => {
  it.each([
    ["entropy > 0.3", ["5-1", "5-2", "5-3"]],
    ["entropy <= 0.3", ["2-1", "2-2", "2-3"]], // 0.3 itself, which float32 rounds
    ["entropy = 0.1", ["2-1"]],
    ["entropy:all > 0.5", ["5-3"]],
    ["entropy:cls >= 5", ["2-1", "2-2"]],
    ["induction > 0.5", ["2-1", "2-2", "5-1", "5-2"]],
    ["induction != 7", ["2-1", "2-2", "5-3"]], // not defined: fulfils no comparison
    ["not induction != 7", ["2-3", "5-1", "5-2"]],
    ['"rare word" > 1', ["2-1", "5-3"]],
    ["special:cls > 0.1", ["2-2", "5-1", "5-3"]],
    ["special:cls:sep > 0.1", ["2-1", "5-3"]],
    ["special:cls:all > 0.1", ["2-2", "5-1", "5-3"]],
    ["dependency:det > 0.5", ["2-1"]],
    ["layer 3-5", ["5-1", "5-2", "5-3"]],
    ["layer < 5", ["2-1", "2-2", "2-3"]],
    ["is:induction", ["2-3", "5-1"]], // the tested role, not the family of that name
    ["is:positional-induction", ["2-2"]],
    ["is:previous", ["2-1", "5-1"]],
    ["heads 5-*,L1H0", ["2-1", "5-1", "5-2", "5-3"]],
    ["top 2 by entropy", ["5-2", "5-3"]],
    ["top 3 by induction", ["2-1", "5-1", "5-2"]], // equal values: the first head
    ["top 99 by induction", ["2-1", "2-2", "5-1", "5-2", "5-3"]],
    ["is:previous and layer 2 or entropy > 0.5", ["2-1", "5-3"]],
  ])("%s", (query, heads) => expect(found(query)).toEqual(heads));

  it.each([
    ["entrpy > 1", "there is no value called 'entrpy': did you mean entropy?"],
    ["role > 1", 'role has several values by role: role:induction, role:"rare word"'],
    ["entropy:sideways > 1", "entropy has no value called 'sideways'"],
    ["cls > 1", "'cls' may mean entropy:cls, special:cls"],
    ["entropy:uniform > 1", "this page does not hold entropy:uniform"],
    ["is:nothing", "there is no role called 'nothing'"],
    ["heads 3-1", "the model has no head 3-1; its heads run from 2-1 to 5-3"],
    ["heads x", "a head must be given as"],
  ])("%s is answered in words", (query, message) => {
    expect(() => found(query)).toThrow(message);
  });

  it("writes heads as a query that reads back", () => {
    const made = atlas();
    const query = headsQuery(made, [0, 3, 4, 5]);
    expect(query).toBe("heads 2-1,5-*");
    expect(findHeads(made, query)).toEqual([0, 3, 4, 5]);
    expect(placesOf(made, "*-3")).toEqual([2, 5]);
  });

  it("finds near names only", () => {
    expect(closest("entrpy", ["entropy", "position"])).toEqual(["entropy"]);
    expect(closest("xyz", ["entropy", "position"])).toEqual([]);
  });
});

describe("completion", () => {
  const inserts = (text: string) => complete(atlas(), text).items.map((one) => one.insert);

  it("knows what is expected where", () => {
    expect(inserts("entropy ")).toEqual([">", "<", ">=", "<="]);
    expect(inserts("entropy > 1 ")).toEqual(["and", "or"]);
    expect(inserts("is:previous a")).toEqual(["and"]);
    expect(inserts("top ")).toEqual(["5", "10", "20"]);
    expect(inserts("top 5 ")).toEqual(["by"]);
    expect(inserts("top 5 by ent")).toEqual(["entropy", "entropy:cls"]);
    expect(inserts("top 5 by entropy ")).toEqual(["and", "or"]);
    expect(inserts("layer 3 ")).toEqual(["and", "or"]);
    expect(inserts("heads ")).toEqual([]);
  });

  it("offers roles, also with spaces, and quantiles of a value", () => {
    expect(inserts("not is:pre")).toEqual(["is:previous"]);
    expect(inserts('role:"rare w')).toEqual(['role:"rare word"']);
    expect(inserts("entropy > ")[1]).toBe("0.4");
  });

  it("puts a suggestion in the place of what was typed", () => {
    const text = "layer 2 and ent < 3";
    const done = complete(atlas(), text, 15);
    expect(accept(text, done, done.items[0]!)).toEqual({
      text: "layer 2 and entropy < 3",
      caret: 20,
    });
    const is = complete(atlas(), "is");
    expect(accept("is", is, { insert: "is:", about: "" })).toEqual({ text: "is:", caret: 3 });
  });
});
