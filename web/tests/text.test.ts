import { expect, test } from "vitest";

import { links, resting } from "../src/views/text/links";

// [CLS] dogs bark
const map = {
  size: 3,
  weights: Float32Array.from([1, 0, 0, 0.5, 0.3, 0.2, 0.25, 0.75, 0]),
};

test("links are the strongest first, without a token's attention to itself", () => {
  expect(links(map, []).map((one) => [one.from, one.to, one.weight])).toEqual([
    [2, 1, 0.75], [1, 0, 0.5], [2, 0, 0.25], [1, 2, expect.closeTo(0.2)],
  ]);
});

test("hidden tokens have no links, from or to", () => {
  expect(links(map, [0]).map((one) => [one.from, one.to])).toEqual([[2, 1], [1, 2]]);
});

test("what rests is the attention on hidden tokens", () => {
  expect(resting(map, [0])).toEqual([1, 0.5, 0.25]);
  expect(resting(map, [])).toEqual([0, 0, 0]);
});

test("an empty map has no links", () => {
  const none = { size: 0, weights: new Float32Array(0) };
  expect(links(none, [])).toEqual([]);
  expect(resting(none, [0])).toEqual([]);
});
