import { render } from "preact";

import { App } from "./app";
import { Atlas } from "./data/atlas";
import { supported } from "./data/pack";
import { embedded, files } from "./data/source";
import type { AtlasDocument, Boot, Gallery, PageDocument } from "./data/types";
import { Store } from "./store";
import "./styles/index.css";

/** Start the page of a report or of the explorer. */
async function start(): Promise<void> {
  const root = document.getElementById("headscope");
  const start = document.getElementById("headscope-boot");
  if (!root || !start) return;
  if (!supported()) {
    root.textContent =
      "This page needs a browser from 2023 or later (Chrome 80, Firefox 113, Safari 16.4).";
    return;
  }
  try {
    const boot = JSON.parse(start.textContent ?? "{}") as Boot;
    const source = boot.source === "embedded" ? embedded() : files();
    if (boot.source !== "embedded") root.textContent = "Loading …";
    const packs = boot.atlases.map((name) => source.load<AtlasDocument>(name));
    const atlases = (await Promise.all(packs)).map((one) => new Atlas(one));
    const about = boot.document ? await source.load<PageDocument>("document") : undefined;
    const gallery = boot.gallery ? await source.load<Gallery>("gallery") : undefined;
    const store = new Store(boot, source, atlases, root, true, undefined, about, gallery);
    root.textContent = "";
    render(<App store={store} />, root);
  } catch (error) {
    root.textContent =
      location.protocol === "file:"
        ? "This page loads its data from files beside it, which browsers allow only from a web " +
          "server. Type in its folder: python -m http.server"
        : `The page's data could not be read: ${error instanceof Error ? error.message : error}`;
  }
}

void start();
