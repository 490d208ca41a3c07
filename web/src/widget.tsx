import { effect } from "@preact/signals";
import { render as mount } from "preact";

import { App } from "./app";
import { Atlas } from "./data/atlas";
import { kernel, type Model } from "./data/kernel";
import { supported } from "./data/pack";
import type { AtlasDocument, Boot } from "./data/types";
import { notebookIsDark, watchTheme } from "./notebook";
import { format, parse } from "./route";
import { Store } from "./store";

/** Below this, one cannot read anything. */
const LEAST = 240;

/** Show one widget; anywidget calls this for every cell that displays it. */
async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
  const root = document.createElement("div");
  root.className = "headscope hs-widget";
  // Arrows and letters pressed here are ours, not commands of JupyterLab.
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  el.append(root);
  const size = () => {
    root.style.height = `${Math.max(LEAST, Number(model.get("height")) || 0)}px`;
  };
  size();
  model.on("change:height", size);
  const ends: (() => void)[] = [() => model.off("change:height", size), () => root.remove()];
  if (!supported()) {
    root.textContent = "This view needs a browser from 2023 or later.";
  } else {
    try {
      ends.unshift(await start(model, root));
      hideStill(String(model.get("still") ?? ""));
    } catch (error) {
      root.textContent = `The results could not be shown: ${error instanceof Error ? error.message : error}`;
    }
  }
  return () => ends.forEach((end) => end());
}

/** Hide the HTML that stands where a widget cannot be shown, such as in exported pages. */
function hideStill(name: string) {
  if (!name) return;
  for (const still of document.getElementsByClassName(name)) {
    (still as HTMLElement).style.display = "none";
  }
}

/** Load what the first view needs, and draw it; returns how to end it. */
async function start(model: Model, root: HTMLElement): Promise<() => void> {
  const boot = JSON.parse(String(model.get("boot"))) as Boot;
  const source = kernel(model);
  const packs = boot.atlases.map((name) => source.load<AtlasDocument>(name));
  const atlases = (await Promise.all(packs)).map((one) => new Atlas(one));
  const store = new Store(boot, source, atlases, root, false, () => notebookIsDark());
  store.route.value = parse(String(model.get("route") ?? ""));
  const unfollow = follow(store, model);
  const unwatch = watchTheme(() => store.applyTheme());
  mount(<App store={store} />, root);
  return () => {
    unfollow();
    unwatch();
    store.end();
    mount(null, root);
  };
}

/** The view follows the trait `route`, and the trait the view. */
function follow(store: Store, model: Model): () => void {
  const arrive = () => {
    const wanted = String(model.get("route") ?? "");
    if (wanted !== here(store)) store.route.value = parse(wanted);
  };
  model.on("change:route", arrive);
  let before = store.route.value.view;
  const stop = effect(() => {
    const now = here(store);
    if (store.route.value.view !== before) store.root.querySelector("#hs-main")?.scrollTo(0, 0);
    before = store.route.value.view;
    if (now === format(parse(String(model.get("route") ?? ""))).slice(2)) return;
    try {
      model.set("route", now);
      model.save_changes();
    } catch {
      // a saved page has no kernel: the view changes all the same
    }
  });
  return () => {
    stop();
    model.off("change:route", arrive);
  };
}

/** The route as the trait has it: "head/3-9?show=map". */
function here(store: Store): string {
  return format(store.route.value).slice(2);
}

export default { render };
