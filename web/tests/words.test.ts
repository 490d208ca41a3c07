import { describe, expect, it } from "vitest";

import { Atlas } from "../src/data/atlas";
import type { AtlasDocument } from "../src/data/types";
import { emptyBecause } from "../src/query/evaluate";
import { findByWords } from "../src/query/words";
import { parse } from "../src/route";

/** One layer of four heads: two with sentences, one with tokens, one with nothing. */
function atlas(): Atlas {
  const document = {
    model: { name: "made", layers: 1, heads: 4, numbers: [1] },
    statistics: [
      {
        id: "special:stops",
        measure: "special",
        title: "attention to “.” and “,”",
        unit: "share of attention",
        kind: "share",
        source: "",
        n: 9,
        listed: true,
      },
    ],
    labels: { special: { token: ["stops", "cls"] } },
    families: ["noun phrase", "previous", "no clear role"],
    tests: [],
    work: [],
    relations: [
      { id: "pobj:a", relation: "pobj", title: "preposition to object", words: "", baseline: 0.2 },
    ],
    heads: [
      { lead: "Finds the objects of prepositions.", evidence: "" },
      { lead: "Previous-token head.", evidence: "" },
      { lead: "", evidence: "" },
      { lead: "", evidence: "" },
    ],
  } as unknown as AtlasDocument;
  const arrays = {
    value: Float32Array.from([0.1, 0.4, 0.2, 0.9]),
    "roles/family": Uint8Array.from([0, 1, 2, 2]),
    "roles/second": Uint8Array.from([255, 255, 255, 255]),
    "roles/excess": Float32Array.from([0.5, 0.9, 0, 0]),
    "relations/accuracy": Float32Array.from([0.8, 0.6, 0.9, 0.1]),
    "relations/p": Float32Array.from([0.01, 0.01, 0.2, 0.01]),
  };
  return new Atlas({ document, arrays, shapes: {} });
}

const names = (text: string) => {
  const one = atlas();
  return findByWords(one, text, undefined, [[], [], ["he", "she"]])?.places.map((place) => one.name(place));
};

describe("words", () => {
  it("find heads by their description first, whatever the case and the number", () => {
    expect(names("Preposition")).toEqual(["1-1", "1-2"]);
    expect(names("objects of prepositions")).toEqual(["1-1", "1-2"]);
  });
  it("find heads by relations that pass their test, not by others", () => {
    expect(names("pobj")).toEqual(["1-2", "1-1"]);
  });
  it("find heads by role and by token", () => {
    expect(names("previous")).toEqual(["1-2"]);
    expect(names("he")).toEqual(["1-3"]);
  });
  it("find the largest heads of a statistic that the words name", () => {
    expect(names("commas")).toEqual(["1-4", "1-2", "1-3", "1-1"]);
  });
  it("find nothing where no head and no statistic has them", () => {
    expect(names("zebra")).toBeUndefined();
    expect(names("the")).toBeUndefined();
  });
});

describe("an empty result", () => {
  it("says which values there are", () => {
    expect(emptyBecause(atlas(), "special:stops > 0.95 and layer 1")).toBe(
      "special:stops is 0.10 to 0.90",
    );
  });
});

describe("short addresses", () => {
  it("open a head by either name", () => {
    expect(parse("#3-9").view).toBe("head/3-9");
    expect(parse("#L2H8?show=map")).toEqual({ view: "head/L2H8", options: { show: "map" } });
    expect(parse("#/finder").view).toBe("finder");
  });
});
