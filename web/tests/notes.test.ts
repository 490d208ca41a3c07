// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";

import { Notes } from "../src/data/notes";

beforeEach(() => localStorage.clear());

describe("notes", () => {
  it("are there again when the page is opened again, for the same model only", () => {
    new Notes("demo").write("3-9", { label: "prepositions" });
    expect(new Notes("demo").of("3-9")).toEqual({ label: "prepositions", remark: "" });
    expect(new Notes("other").of("3-9").label).toBe("");
  });
  it("vanish when they are emptied", () => {
    const notes = new Notes("demo");
    notes.write("3-9", { remark: "x" });
    notes.write("3-9", { remark: " " });
    expect(notes.all.value).toEqual({});
  });
  it("are saved in the order of the model, one line each", () => {
    const notes = new Notes("demo");
    notes.write("2-1", { label: "b", remark: "one\ttwo\nthree" });
    notes.write("1-1", { label: "a" });
    expect(notes.tsv((head) => Number(head[0]))).toBe(
      "head\tlabel\tremark\n1-1\ta\t\n2-1\tb\tone two three\n",
    );
  });
  it("that another page damaged are left out", () => {
    localStorage.setItem("headscope-notes:demo", '{"1-1": {"label": 3}, "1-2": null}');
    expect(new Notes("demo").all.value).toEqual({});
    localStorage.setItem("headscope-notes:demo", "{");
    expect(new Notes("demo").all.value).toEqual({});
  });
});
