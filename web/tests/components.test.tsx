// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { App } from "../src/app";
import { fitNames } from "../src/components/dot";
import { gridLayout } from "../src/components/grid-layout";
import { HeadGrid } from "../src/components/grid";
import { Prose } from "../src/components/link";
import { byColour } from "../src/components/many";
import { Panels } from "../src/components/panels";
import { roleColouring } from "../src/colour";
import type { PaperChart } from "../src/data/types";
import { type Store, StoreContext } from "../src/store";
import { atlas, browser, store } from "./make";

beforeEach(() => {
  browser();
  localStorage.clear();
  history.replaceState(null, "", "/");
  document.body.textContent = "";
  HTMLCanvasElement.prototype.getContext = (() => null) as never;
});

async function show(page: Store, what = <App store={page} />): Promise<HTMLElement> {
  const all = <StoreContext.Provider value={page}>{what}</StoreContext.Provider>;
  await act(() => render(all, page.root));
  return page.root;
}

const chart = (kind: PaperChart["kind"], statistics: string[]): PaperChart => ({
  ...{ id: "c", kind, title: "A chart", caption: "", unit: "", statistics },
});

/** The pointer over a cover that is seen one pixel per unit. */
async function point(cover: Element, type: string, x: number, y: number): Promise<void> {
  const box = { left: 0, top: 0, width: Number(cover.getAttribute("width")) };
  cover.getBoundingClientRect = () => ({ ...box, height: 1 }) as DOMRect;
  const [left, top] = ["x", "y"].map((name) => Number(cover.getAttribute(name)));
  const event = new MouseEvent(type, { clientX: x - left!, clientY: y - top!, bubbles: true });
  await act(() => void cover.dispatchEvent(event));
}

describe("the charts of a paper", () => {
  const shares = { "m:a": (place: number) => place / 6, "m:b": () => 0.25 };

  it("name the head under the pointer and open it by a click", async () => {
    const page = store([atlas({ statistics: shares })], false);
    const root = await show(page, <Panels chart={chart("grids", ["m:a", "m:b"])} />);
    const cover = root.querySelector(".hs-cover")!;
    // layers upward: the left cell of the lower of two rows is 1-1, above it is 2-1
    await point(cover, "pointermove", 30, 30);
    expect(cover.querySelector("title")?.textContent).toBe("2-1: 50.0 % ± 1, broad");
    await point(cover, "click", 30, 30 + 16);
    expect(page.route.value.view).toBe("head/1-1");
  });

  it("are reached by keys, and say which head it is", async () => {
    const page = store([atlas({ statistics: shares })], false);
    const root = await show(page, <Panels chart={chart("grids", ["m:a"])} />);
    const cover = root.querySelector<SVGElement>(".hs-cover")!;
    const press = (key: string) =>
      act(() => void cover.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
    await press("ArrowRight");
    await press("ArrowUp");
    expect(cover.getAttribute("aria-label")).toContain("2-2: 66.7 %");
    await press("Enter");
    expect(page.route.value.view).toBe("head/2-2");
  });

  it("find the nearest point of a panel by layer", async () => {
    const page = store([atlas({ statistics: shares })], false);
    const root = await show(page, <Panels chart={chart("layers", ["m:b"])} />);
    const cover = root.querySelector(".hs-cover")!;
    const path = root.querySelector(".hs-points")!.getAttribute("d")!;
    const [, left, top] = /^M([\d.]+) ([\d.]+)a3.2/.exec(path)!;
    await point(cover, "pointermove", Number(left), Number(top) + 3);
    expect(cover.querySelector("title")!.textContent).toMatch(/^1-\d: 25.0 %/);
    await point(cover, "pointermove", 104, 140);
    expect(cover.querySelector("title")).toBeNull();
  });

  it("of 1,920 heads are few elements", async () => {
    const ids = Array.from({ length: 22 }, (_, at) => `m:${at}`);
    const noisy = (at: number) => (place: number) => ((place * 7919 + at * 104729) % 1000) / 1000;
    const statistics = Object.fromEntries(ids.map((id, at) => [id, noisy(at)]));
    const page = store([atlas({ layers: 40, heads: 48, statistics })]);
    const root = await show(
      page,
      <>
        <Panels chart={chart("layers", ids.slice(0, 11))} />
        <Panels chart={chart("grids", ids.slice(11))} />
      </>,
    );
    expect(root.querySelectorAll("*").length).toBeLessThan(3000);
    const paths = root.querySelectorAll(".hs-panels")[1]!.querySelectorAll("path[fill]");
    expect(paths.length).toBeLessThanOrEqual(65 * 11);
  });

  it("leave out heads without a value", () => {
    const paths = byColour(4, (place) => ["red", "", "blue", "red"][place]!, String);
    expect(paths).toEqual([
      ["red", "03"],
      ["blue", "2"],
    ]);
  });
});

describe("names", () => {
  it("that would be cut to the same are told apart", () => {
    const titles = ["attention to what followed earlier", "attention to what followed before", "x"];
    const cut = fitNames(titles, 170, 12.5, "sans-serif");
    expect(new Set(cut).size).toBe(3);
    expect(cut[0]).toContain("earlier");
    expect(cut[1]).toContain("before");
    expect(cut[2]).toBe("x");
  });
});

describe("a large model's grid", () => {
  it("is a canvas with the same marks, and says the head in focus", async () => {
    const drawn: string[] = [];
    const dashes: number[][] = [];
    const pen = {
      ...{ scale() {}, fill() {}, stroke() {}, setLineDash: (one: number[]) => dashes.push(one) },
      fillText: (text: string) => drawn.push(text),
    };
    HTMLCanvasElement.prototype.getContext = (() => pen) as never;
    const large = atlas({ layers: 25, heads: 24 });
    const page = store([large]);
    const layout = gridLayout(large, 1016);
    expect([layout.canvas, layout.marks]).toEqual([true, true]);
    const orders = Uint16Array.from({ length: 600 }, (_, place) => place % 24);
    const colouring = roleColouring(large, false);
    const props = { atlas: large, colouring, layout, orders, numbered: true, dark: false };
    const root = await show(page, <HeadGrid {...props} />);
    expect(drawn.filter((one) => one === "←").length).toBe(150);
    expect(dashes.filter((one) => one[0] === 0).length).toBe(38); // borderline: every 16th of 600
    await act(() => void (page.focus.value = 1));
    expect(root.querySelector("[aria-live]")!.textContent).toBe(
      "Head 1-2: within the noun phrase, 60 % above chance",
    );
  });
});

describe("the whole page", () => {
  it("shows a header, unless it is embedded", async () => {
    expect((await show(store([atlas()]))).querySelector("header.hs-header")).not.toBeNull();
    history.replaceState(null, "", "/?embed#/papers");
    const root = await show(store([atlas()]));
    expect(root.querySelector("header.hs-header")).toBeNull();
    expect(root.querySelector("main")!.textContent).toContain("no measure of the papers");
  });

  it("copies a link to the view, or says that it may not", async () => {
    history.replaceState(null, "", "/#/papers");
    const write = vi.fn(async () => {});
    Object.assign(navigator, { clipboard: { writeText: write } });
    const root = await show(store([atlas()]));
    const press = () =>
      act(async () => root.querySelector<HTMLElement>(".hs-copy button")!.click());
    await press();
    expect(write).toHaveBeenCalledWith(expect.stringMatching(/\/#\/papers$/));
    expect(root.querySelector(".hs-copied")!.textContent).toBe("copied");
    write.mockRejectedValueOnce(new Error("refused"));
    await press();
    expect(root.querySelector(".hs-copied")!.textContent).toContain("copy the address");
  });

  it("says so where nothing has to do with a word, and explains mistakes in queries", async () => {
    history.replaceState(null, "", "/#/papers");
    const root = await show(store([atlas()]));
    const line = root.querySelector<HTMLInputElement>(".hs-search input")!;
    const ask = async (text: string) => {
      await act(() => {
        line.value = text;
        line.dispatchEvent(new Event("input", { bubbles: true }));
      });
      const submit = new Event("submit", { bubbles: true, cancelable: true });
      await act(() => void line.form!.dispatchEvent(submit));
      return root.querySelector(".hs-search .hs-answer")!.textContent;
    };
    expect(await ask("zebra crossing")).toBe("No head has to do with “zebra crossing”.");
    expect(await ask("zebra <")).toMatch(/expected|unknown|no /i);
    expect(await ask("previous")).toMatch(/^\d heads?$/);
  });

  it("names the tab", async () => {
    history.replaceState(null, "", "/#/papers");
    await show(store([atlas()]));
    expect(document.title).toBe("Papers · made · Headscope");
  });

  it("compares without testing, in points where values are shares", async () => {
    const first = atlas({ statistics: { "m:a": () => 0.2, "m:b": () => 0.5 } });
    const moved = (place: number) => (place === 4 ? 0.3 : 0.21);
    const second = atlas({ name: "b", statistics: { "m:a": moved, "m:b": () => 0.5 } });
    history.replaceState(null, "", "/#/compare");
    const root = await show(store([first, second]));
    const text = root.querySelector("main")!.textContent!;
    expect(text).toContain("intervals of A and B do not overlap for 1 head of 6");
    expect(text).toContain("Share m:a: the 95 %");
    expect(text).not.toMatch(/chance|Holm|significant/);
    const cells = [...root.querySelectorAll("tbody tr")[0]!.querySelectorAll("td")];
    expect(cells.map((one) => one.textContent).filter(Boolean)).toEqual([
      ...["2-2", "20.0 %", "30.0 %", "+10.0"],
      "Previous token",
    ]);
    expect(root.querySelectorAll(".hs-ramp-legend").length).toBe(3);
  });
});

describe("prose", () => {
  it("keeps a number and its unit, or p and its value, on one line and changes no letter", async () => {
    const said = "right for 79 % of 1,277 words (a rule: 49 %; p < 1e-5; p = 0.035); most (63 %).";
    const page = await show(store([atlas()]), <Prose text={said} />);
    expect(page.textContent).toBe(said);
    const whole = [...page.querySelectorAll(".hs-whole")].map((part) => part.textContent);
    expect(whole).toEqual(["79 %", "49 %", "p < 1e-5", "p = 0.035", "63 %"]);
  });
});
