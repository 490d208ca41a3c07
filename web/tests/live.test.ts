import { describe, expect, it } from "vitest";

import type { LiveClient, Reading } from "../src/data/live";
import { sentence } from "../src/data/live";
import type { LiveModel } from "../src/data/types";
import { exampleText, headName, headNames, nameOf, placeOf, readOptions, toggled } from "../src/views/live/options";
import { stepped } from "../src/views/live/arrows";
import { factor } from "../src/views/live/prediction";
import { LiveSession } from "../src/views/live/session";
import { parts } from "../src/views/live/textfield";
import {
  clearest, hiddenUnits, linksOver, renormalised, replaceWord, unitMap, unitsOf, windowOf, wordSpans,
} from "../src/views/live/units";

const MODEL: LiveModel = {
  name: "m", type: "bert", layers: 2, heads: 4, numbers: [1, 2], longest: 64, causal: false,
  predicts: "masked", mask: "<mask>",
};
const HYBRID = { numbers: [4, 8], heads: 2 };
const READING: Reading = {
  tokens: ["[CLS]", "un", "happy", "dogs", ".", "[SEP]"],
  words: ["unhappy", "dogs", "."],
  unit: [-1, 0, 0, 1, 2, -1],
  special: [0, 5], stop: [4], masks: [], written: 0,
};

describe("names of heads", () => {
  it("are read from 1 and from 0, and must exist", () => {
    expect(headName("2-4", MODEL)).toBe("2-4");
    expect(headName(" l1h3 ", MODEL)).toBe("2-4");
    expect(headName("3-1", MODEL)).toBeUndefined();
    expect(headName("2-5", MODEL)).toBeUndefined();
    expect(headName("2-0", MODEL)).toBeUndefined();
    expect(headName("L3H0", HYBRID)).toBe("4-1");
    expect(headNames("1-1, 2-2,2-2 9-9,<b>", MODEL)).toEqual(["1-1", "2-2"]);
  });
  it("have places, with the model's own numbers of layers", () => {
    expect(placeOf("8-2", HYBRID)).toBe(3);
    expect(nameOf(3, HYBRID)).toBe("8-2");
  });
  it("are reached by arrow keys, layers upward, and not beyond the edges", () => {
    expect(stepped("1-2", "ArrowUp", MODEL)).toBe("2-2");
    expect(stepped("1-2", "ArrowRight", MODEL)).toBe("1-3");
    expect(stepped("1-4", "ArrowRight", MODEL)).toBe("1-4");
    expect(stepped("1-2", "ArrowDown", MODEL)).toBe("1-2");
    expect(stepped("4-2", "ArrowUp", HYBRID)).toBe("8-2");
  });
  it("are switched on and off", () => {
    expect(toggled(["1-1", "2-2"], "1-1")).toEqual(["2-2"]);
    expect(toggled(["1-1"], "2-2")).toEqual(["1-1", "2-2"]);
  });
});

describe("the address", () => {
  const read = (options: Record<string, string>) => readOptions((name) => options[name], MODEL);
  it("has defaults, with an example text of the model's own mask", () => {
    const options = read({});
    expect(options.text).toContain("<mask>");
    expect(options).toMatchObject({ heads: null, off: [], how: "zero", unit: "words", hide: true, over: 0.1, token: null });
    expect(exampleText({ predicts: "next" })).not.toContain("MASK");
  });
  it("is read, and nonsense in it is left out", () => {
    const options = read({
      text: "a", heads: "1-1,7-7", off: "2-2", how: "mean", unit: "pieces", hide: "no", over: "25", token: "3", more: "5.x.7",
    });
    expect(options).toMatchObject({
      text: "a", heads: ["1-1"], off: ["2-2"], how: "mean", unit: "pieces", hide: false, over: 0.25, token: 3, more: [5, 7],
    });
    const wrong = read({ how: "rm", over: "many", token: "-1", from: "x", heads: "none" });
    expect(wrong).toMatchObject({ how: "zero", over: 0.1, token: null, from: 0, heads: [] });
    expect([read({ weights: "norm" }).weights, read({ weights: "x" }).weights]).toEqual(["norm", "attention"]);
    expect(read({ text: "" }).text).toBe("");
  });
});

describe("a session", () => {
  const asked: [string, Record<string, unknown>][] = [];
  const client = {
    ask: async (action: string, _slot: string, body: Record<string, unknown>) => {
      asked.push([action, body]);
      if (action === "read") return { document: READING, arrays: {}, shapes: {} };
      const weights = new Uint16Array(36);
      return { document: { side: 1 }, arrays: { weights, small: weights }, shapes: { weights: [1, 6, 6] } };
    },
    drop() {},
  } as unknown as LiveClient;
  const options = (given: Record<string, string>) => readOptions((name) => given[name], MODEL);
  const settled = () => new Promise((done) => setTimeout(done, 5));

  it("asks for maps and thumbnails anew when their weights change, and only then", async () => {
    const session = new LiveSession(client, { ...MODEL, predicts: "" });
    for (const weights of ["attention", "norm", "norm"]) {
      session.update(options({ text: "a", weights }), ["1-1"]);
      await settled();
      session.update(options({ text: "a", weights }), ["1-1"]); // the reading is here now
      await settled();
    }
    const of = (action: string) => asked.filter(([one]) => one === action).map(([, body]) => body.weights);
    expect(of("maps")).toEqual(["attention", "norm"]);
    expect(of("thumbnails")).toEqual(["attention", "norm"]);
    expect(of("read")).toHaveLength(1);
  });

  it("draws another text's map with the same weights", async () => {
    asked.length = 0;
    const session = new LiveSession(client, MODEL);
    session.compare(options({ other: "b", weights: "norm" }), "1-1");
    await settled();
    expect(asked.map(([action, body]) => [action, body.text, body.weights])).toEqual([
      ["read", "b", undefined],
      ["maps", "b", "norm"],
    ]);
  });
});

describe("words of a text", () => {
  it("group their pieces; special tokens stand for themselves", () => {
    const units = unitsOf(READING, "words", [0, 6]);
    expect(units.map((one) => one.label)).toEqual(["[CLS]", "unhappy", "dogs", ".", "[SEP]"]);
    expect(units[1]!.tokens).toEqual([1, 2]);
    expect(unitsOf(READING, "pieces", [0, 6]).map((one) => one.label)).toEqual(READING.tokens);
    expect([...hiddenUnits(units, false)]).toEqual([0, 3, 4]);
    expect([...hiddenUnits(unitsOf({ ...READING, special: [] }, "pieces", [0, 6]), true)]).toEqual([0, 4]);
  });
  it("add up attention to a word and average that from a word", () => {
    const units = [
      { label: "a", tokens: [5, 6], special: false, stop: false, masked: false },
      { label: "b", tokens: [7], special: false, stop: false, masked: false },
    ];
    const weights = Float32Array.from([0.5, 0.25, 0.25, 0, 0, 1, 0.25, 0.25, 0.5]);
    expect(Array.from(unitMap(weights, 3, 5, units))).toEqual([0.375, 0.625, 0.5, 0.5]);
  });
  it("are found in the text in order and replaced", () => {
    expect(wordSpans("the cat, the dog", ["the", "cat", ",", "the", "dog"])[3]).toEqual([9, 12]);
    expect(replaceWord("the cat, the dog", ["the", "cat", ",", "the", "dog"], 3, "[MASK]")).toBe("the cat, [MASK] dog");
    expect(replaceWord("a", ["b"], 0, "c")).toBe("a");
  });
});

describe("maps", () => {
  const map = Float32Array.from([0.5, 0.25, 0.25, 0.5, 0, 0.5, 1, 0, 0]);
  it("are renormalised without hidden keys; a row without others stays empty", () => {
    expect(Array.from(renormalised(map, 3, new Set([0])))).toEqual([0, 0.5, 0.5, 0, 0, 1, 0, 0, 0]);
  });
  it("give the links over a weight, none to itself or to what is hidden", () => {
    expect(linksOver(map, 3, 0.3, new Set())).toEqual([
      { from: 1, to: 0, weight: 0.5 }, { from: 1, to: 2, weight: 0.5 }, { from: 2, to: 0, weight: 1 },
    ]);
    expect(linksOver(map, 3, 0.3, new Set([0]), { below: true })).toEqual([{ from: 1, to: 2, weight: 0.5, below: true }]);
  });
  it("of long texts are drawn in windows that stay inside", () => {
    expect(windowOf(100, 50)).toEqual([0, 100]);
    expect(windowOf(1000, 0)).toEqual([0, 128]);
    expect(windowOf(1000, 990)).toEqual([872, 1000]);
  });
  it("choose heads with clear links, one of them between words apart", () => {
    const side = 3;
    const small = new Uint8Array(3 * side * side);
    small[1 * 9 + 2 * 3 + 0] = 255; // head 1: from 2 to 0
    small[2 * 9 + 1 * 3 + 0] = 255; // head 2: from 1 to 0 and from 2 to 1
    small[2 * 9 + 2 * 3 + 1] = 255;
    expect(clearest(small, 3, side, new Set())).toEqual([1, 2]);
  });
});

describe("words on the page", () => {
  it("are sentences", () => {
    expect(sentence("the text is empty")).toBe("The text is empty.");
    expect(sentence("Really?")).toBe("Really?");
  });
  it("say how many times as likely", () => {
    expect(factor({ before: 0.5, after: 0.02 })).toBe("× 0.04");
    expect(factor({ before: 0.0001, after: 0.0449 })).toBe("× 449");
    expect(factor({ before: 0, after: 0.1 })).toBe("–");
  });
  it("show masks in boxes, and hostile text as it is", () => {
    expect(parts("a [MASK] b[MASK]", "[MASK]")).toEqual(["a ", "[MASK]", " b", "[MASK]", ""]);
    expect(parts("<script>", "")).toEqual(["<script>"]);
  });
});
