// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it } from "vitest";

import { App } from "../src/app";
import { drawing } from "../src/components/picture";
import { order, sorted } from "../src/components/table";
import type { PageDocument, Section, Table } from "../src/data/types";
import { type Store, StoreContext } from "../src/store";
import { browser, documentStore, section } from "./make";

beforeEach(() => {
  browser();
  localStorage.clear();
  history.replaceState(null, "", "/");
  document.body.textContent = "";
  HTMLCanvasElement.prototype.getContext = (() => null) as never;
});

async function show(page: Store): Promise<HTMLElement> {
  const all = (
    <StoreContext.Provider value={page}>
      <App store={page} />
    </StoreContext.Provider>
  );
  await act(() => render(all, page.root));
  return page.root;
}

const table = (rows: Table["rows"], more: Partial<Table> = {}): Table => ({
  ...{ id: "t", title: "T", note: "", sortable: false, rows },
  columns: (rows[0] ?? []).map((_, at) => ({ title: `c${at}`, number: at > 0 })),
  ...more,
});

const claims = (verdicts: string[]): Partial<PageDocument> => ({
  verdicts,
  sections: [
    section({ id: "claims", title: "Claims", tables: [table(verdicts.map((one) => [one, "x"]))] }),
    section({ id: "later", title: "Later" }),
  ],
});

describe("a paper's page", () => {
  it("begins with the model, the claims that hold and the grid; what is missing comes last", async () => {
    const given = claims(["yes", "no", "undecided", "not tested", "yes"]);
    const root = await show(documentStore({ ...given, missing: ["Skipped: gradients."] }));
    expect(root.querySelector("h1")!.textContent).toBe("made");
    expect(root.querySelector(".hs-score")!.textContent).toBe("2 of 4 claims hold");
    expect(root.querySelector(".hs-verdict-key")!.textContent).toBe(
      "✓ holds: 2   ✕ does not hold: 1   ? undecided: 1   · not tested: 1",
    );
    const marks = [...root.querySelectorAll(".hs-verdict")].map((one) => one.textContent);
    expect(marks.join("")).toBe("✓✕?·✓");
    const places = [...root.querySelectorAll(".hs-scoreboard, .hs-grid-block, section.hs-paper")];
    expect(places.map((one) => one.id || one.className)).toEqual([
      ...["hs-scoreboard", "hs-grid-block", "hs-claims", "hs-later", "hs-missing"],
    ]);
  });

  it("leads from a claim's square to its row", async () => {
    const root = await show(documentStore(claims(["yes", "no"])));
    await act(() => root.querySelectorAll<HTMLElement>(".hs-verdict")[1]!.click());
    const [row] = root.querySelectorAll(".hs-shown");
    expect(row!.textContent).toBe("✕nox");
  });

  it("is the first view, and names the tab and the navigation", async () => {
    const root = await show(documentStore({}));
    expect(document.title).toBe("A paper · made · Headscope");
    const here = root.querySelector('[aria-current="page"]')!;
    expect([here.textContent, here.getAttribute("href")]).toEqual(["A paper", "#/document"]);
    const views = [...root.querySelectorAll(".hs-nav a")].map((one) => one.textContent);
    expect(views).toEqual(["A paper", "Atlas", "Finder", "Heads"]);
  });

  it("says so where no claim could be tested, and has no scoreboard without claims", async () => {
    const root = await show(documentStore(claims(["not tested"])));
    expect(root.querySelector(".hs-score")!.textContent).toBe("No claim could be tested");
    expect((await show(documentStore({}))).querySelector(".hs-scoreboard")).toBeNull();
  });

  it("has sections without results, too", async () => {
    const root = await show(documentStore({ sections: [section({ text: "1-1 said" })] }, []));
    expect(root.querySelector(".hs-grid-block")).toBeNull();
    expect(root.querySelector(".hs-section-text")!.innerHTML).toBe("1-1 said");
  });

  it("draws numbers of its own as the page draws all charts of heads", async () => {
    const chart = {
      ...{ id: "c", kind: "layers" as const, title: "C", about: "on texts", caption: "", unit: "u" },
      ...{ parts: ["a", "b"], value: "share" as const, diverging: false, shared: true },
      lines: [{ name: "half", values: [0.5, null] }],
    };
    const values = Float32Array.from({ length: 12 }, (_, at) => at / 12);
    const page = documentStore({ sections: [section({ plots: [chart] })] }, undefined, {
      "chart/c": values,
    });
    const root = await show(page);
    const titles = [...root.querySelectorAll(".hs-panel-title")].map((one) => one.textContent);
    expect(titles).toEqual(["aa", "bb"]); // each with its tooltip
    expect(root.querySelector(".hs-title span")!.textContent).toBe("u; on texts");
    const [line] = root.querySelectorAll(".hs-reference");
    expect(line!.getAttribute("d")!.match(/M/g)).toHaveLength(1); // none where it is not defined
  });
});

describe("charts of a document", () => {
  const plain = { about: "", caption: "", unit: "share", value: "share" as const, lines: [] };
  const grids = (more: object) => ({
    ...{ id: "c", kind: "grids" as const, title: "C", parts: ["a", "b"], diverging: false },
    ...{ ...plain, shared: true, ...more },
  });
  const shown = async (plot: Section["plots"][number], linked = true) => {
    const values = Float32Array.from({ length: 12 }, (_, at) => (at < 6 ? at / 100 : at / 12));
    const framed = Uint8Array.from({ length: 12 }, (_, at) => Number(at === 2 || at === 7));
    const arrays = { "chart/c": values, "chart/c/framed": framed };
    const page = documentStore({ sections: [section({ plots: [plot] })], linked }, undefined, arrays);
    return { page, root: await show(page) };
  };

  it("have one scale for all grids, or one for each", async () => {
    const one = (await shown(grids({}))).root.querySelector(".hs-scale")!;
    expect([one.querySelectorAll("svg").length, one.textContent]).toEqual([
      1,
      expect.stringContaining("one scale for all grids"),
    ]);
    const { root } = await shown(grids({ shared: false }));
    const ends = [...root.querySelectorAll(".hs-panels .hs-tick")].map((text) => text.textContent);
    expect(ends).toEqual(["0.0 % to 5.0 %", "0.0 % to 91.7 %"]);
    const colours = [...root.querySelectorAll(".hs-panels path[fill^='#']")].map((path) =>
      path.getAttribute("fill"),
    );
    expect(colours.filter((colour) => colour === "#0b2f5c")).toHaveLength(2); // each has its own top
  });

  it("frame the heads that stand out", async () => {
    const { root } = await shown(grids({}));
    const frames = [...root.querySelectorAll(".hs-framed")].map((path) => path.getAttribute("d"));
    expect(frames.map((path) => path!.match(/M/g)?.length)).toEqual([1, 1]);
    expect(frames[0]).not.toBe(frames[1]);
  });

  const rows = (beside: string): Section["plots"][number] => ({
    ...{ id: "r", kind: "rows", title: "R", about: "", caption: "", unit: "share" },
    rows: [{ name: "det", beside, value: 0.9, low: 0.8, high: 0.95, baseline: 0.5 }],
  });

  it("open the head of a row, if it is one of the page's model", async () => {
    Object.defineProperty(HTMLElement.prototype, "clientWidth", { value: 900, configurable: true });
    const press = async (beside: string, linked: boolean) => {
      history.replaceState(null, "", "/");
      const { page, root } = await shown(rows(beside), linked);
      const row = root.querySelector(".hs-row-link")!;
      await act(() => void row.dispatchEvent(new MouseEvent("click", { bubbles: true })));
      return [page.route.value.view, location.hash];
    };
    expect((await press("1-2, dependent → head", true))[1]).toBe("#/head/1-2");
    expect((await press("1-2, dependent → head", false))[1]).toBe("");
    expect((await press("9-9, dependent → head", true))[1]).toBe("");
  });
});

describe("heads in a text", () => {
  const linked = async (text: string, given: Partial<PageDocument> = {}) => {
    const root = await show(documentStore({ sections: [section({ text })], ...given }));
    return [...root.querySelectorAll(".hs-section-text a")].map((one) => one.textContent);
  };

  it("are links, and nothing else is", async () => {
    expect(await linked("1-2 and 2-3 (1-1), not 9-9")).toEqual(["1-2", "2-3", "1-1"]);
    expect(await linked("2026-1-2, 0.1-2, 1-2.5, layers 1–2, a-1-2, 1-2-3")).toEqual([]);
  });

  it("are plain where the page is about several models", async () => {
    expect(await linked("1-2", { linked: false })).toEqual([]);
  });
});

describe("the order of a column", () => {
  it("is that of heads, of numbers whatever follows them, or of words", () => {
    expect(["3-12", "0.5", "26.3 [24, 28]", "\u22121.5", "1,204", "<0.001"].map(order)).toEqual([
      ...[3012, 0.5, 26.3, -1.5, 1204, 0.001],
    ]);
    expect(order("det")).toBe("det");
    expect([order("–"), order(null), order("")]).toEqual([NaN, NaN, NaN]);
  });

  it("keeps rows without a value last, either way", () => {
    const rows = [["–"], ["2"], ["10"], ["1"]];
    expect(sorted(rows, 0, true)).toEqual([3, 1, 2, 0]);
    expect(sorted(rows, 0, false)).toEqual([2, 1, 3, 0]);
    expect(sorted([["b"], ["a"]], 0, true)).toEqual([1, 0]);
  });

  it("turns round with each click on its head", async () => {
    const rows = [["a", "1"], ["b", "3"], ["c", "2"]];
    const given = section({ tables: [table(rows, { sortable: true })] });
    const root = await show(documentStore({ sections: [given] }));
    const first = () => [...root.querySelectorAll("tbody td:first-child")].map((td) => td.textContent);
    const click = () => act(() => root.querySelectorAll<HTMLElement>(".hs-sort")[1]!.click());
    await click();
    expect(first()).toEqual(["b", "c", "a"]);
    expect(root.querySelectorAll(".hs-table th")[1]!.getAttribute("aria-sort")).toBe("descending");
    await click();
    expect(first()).toEqual(["a", "c", "b"]);
  });
});

describe("a figure drawn beforehand", () => {
  const svg = (inside: string) =>
    drawing(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">${inside}</svg>`)!;

  it("keeps what draws, and nothing that runs or loads", () => {
    const drawn = svg(
      '<script>window.bad = 1</script><foreignObject><b>x</b></foreignObject><a href="javascript:1"><rect/></a>' +
        '<rect onclick="bad()" style="x" fill="red"/><image href="https://example.org/x.png"/>' +
        '<image xlink:href="data:image/png;base64,AA"/><use href="#y"/><animate/><style>*{}</style>',
    );
    expect([...drawn.querySelectorAll("*")].map((one) => one.localName)).toEqual([
      ...["rect", "image", "image"],
    ]);
    expect(drawn.querySelector("rect")!.outerHTML).not.toMatch(/onclick|style/);
    expect(drawn.outerHTML).not.toContain("example.org");
    expect(drawn.outerHTML).toContain("data:image/png");
  });

  it("says of its marks to the pointer what it says to screen readers", () => {
    const drawn = svg('<path role="graphics-symbol" aria-label="head: 1-2; value: 3"/>');
    expect(drawn.querySelector("title")!.textContent).toBe("head: 1-2\nvalue: 3");
  });

  it("is nothing where it is no SVG", () => {
    expect(drawing("<p>")).toBeNull();
  });
});
