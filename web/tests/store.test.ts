// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";

import { titleOf } from "../src/app";
import { csv } from "../src/components/save";
import { atlas, browser, store } from "./make";

beforeEach(() => {
  browser();
  localStorage.clear();
  history.replaceState(null, "", "/");
});

const arrived = () => new Promise((done) => setTimeout(done, 20));

describe("a table as CSV", () => {
  const cells = (...row: (string | number | null)[]) =>
    csv({ columns: ["a"], rows: [row] }).split("\n").slice(1).join("\n").trimEnd();

  it("keeps a spreadsheet from running what a token or a name says", () => {
    for (const text of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "-1-2", "@SUM(A1)", "\t=1", "\r=1"]) {
      expect(cells(text).replace(/^"/, "")).toMatch(/^'/);
    }
    expect(cells('=HYPERLINK("x","y")')).toBe(`"'=HYPERLINK(""x"",""y"")"`);
    expect(csv({ columns: ["=1"], rows: [] })).toBe("'=1\n");
  });

  it("leaves numbers, heads and other words as they are", () => {
    expect(cells("-3.5", "+2", "3-9", -4, "a-b", "'")).toBe("-3.5,+2,3-9,-4,a-b,'");
    expect(cells(NaN, null, Infinity, 0)).toBe(",,,0");
    expect(cells("a,b", 'say "x"', "two\nlines")).toBe('"a,b","say ""x""","two\nlines"');
  });
});

describe("the page's state", () => {
  it("follows the address, and the address follows it", async () => {
    location.hash = "#2-1";
    const page = store([atlas()]);
    expect(page.route.value.view).toBe("head/2-1");
    page.go("finder", { x: "m:a", y: undefined });
    await arrived();
    expect(location.hash).toBe("#/finder?x=m%3Aa");
    const steps = history.length;
    page.set({ size: "layer" });
    expect([history.length, location.hash]).toEqual([steps, "#/finder?x=m%3Aa&size=layer"]);
    expect(page.option("size")).toBe("layer");
    expect(page.option("x")).toBe("m:a");
    page.set({ x: undefined });
    expect(location.hash).toBe("#/finder?size=layer");
    location.hash = "#/papers";
    await arrived();
    expect(page.route.value).toEqual({ view: "papers", options: {} });
  });

  it("leaves the address of a notebook alone", () => {
    const page = store([atlas()], false);
    page.go("head/1-2");
    expect([page.route.value.view, location.hash]).toEqual(["head/1-2", ""]);
  });

  it("remembers the colours that were chosen", () => {
    store([atlas()]).setTheme("dark");
    const page = store([atlas()]);
    expect([page.theme.value, page.dark.value, page.root.dataset.theme]).toEqual(["dark", true, "dark"]);
  });

  it("loads the words that heads link once, and not where there are no examples", async () => {
    const page = store([atlas()]);
    const asked: string[] = [];
    const load = async (name: string) => {
      asked.push(name);
      return { document: { tokens: [["he"]] }, arrays: {}, shapes: {} };
    };
    Object.assign(page, { source: { load } });
    await page.loadTokens();
    expect([asked, page.tokens]).toEqual([[], []]);
    page.atlas!.document.examples.kept = 3;
    await page.loadTokens();
    await page.loadTokens();
    expect([asked, page.tokens]).toEqual([["tokens"], [["he"]]]);
  });

  it("selects heads, with what they were selected by, or none", () => {
    const page = store([atlas()]);
    page.select([1, 2], "near");
    expect([[...page.selection.value!], page.selectedBy.value]).toEqual([[1, 2], "near"]);
    page.select(null);
    expect([page.selection.value, page.selectedBy.value]).toEqual([null, ""]);
  });

  it.each([
    ["#/head/1-2", "1-2 · within the noun phrase · made · Headscope"],
    ["#L0H1", "1-2 · within the noun phrase · made · Headscope"],
    ["#/papers", "Papers · made · Headscope"],
    ["#/head/9-9", "Heads · made · Headscope"],
    ["", "made · Headscope"],
  ])("names the tab of %s", (hash, title) => {
    history.replaceState(null, "", `/${hash}`);
    expect(titleOf(store([atlas()]))).toBe(title);
  });
});
