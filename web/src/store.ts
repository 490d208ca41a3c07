import { signal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Atlas } from "./data/atlas";
import { Notes } from "./data/notes";
import type { Packed } from "./data/pack";
import type { Source } from "./data/source";
import type { Boot, Gallery, PageDocument, TokensDocument } from "./data/types";
import { format, parse, type Route } from "./route";

export type Theme = "auto" | "light" | "dark";

/**
 * What all views of one page share: the results, which view is shown, which heads are selected.
 * There may be several on one HTML page (a notebook), so nothing of it is global.
 */
export class Store {
  readonly route: Signal<Route>;
  /** Places of the selected heads; null when nothing is selected. */
  readonly selection = signal<ReadonlySet<number> | null>(null);
  /** What the selection came from: a query, or words. */
  readonly selectedBy = signal("");
  /** The head under the pointer or the keyboard. */
  readonly focus = signal<number | null>(null);
  readonly theme = signal<Theme>("auto");
  readonly dark = signal(false);
  readonly message = signal("");
  readonly keys = signal(false);
  /** What the reader says of heads. */
  readonly notes: Notes;
  private ended = new AbortController();

  constructor(
    readonly boot: Boot,
    readonly source: Source,
    /** The main results first. Empty in an explorer without results. */
    readonly atlases: Atlas[],
    /** The element that the page lives in. */
    readonly root: HTMLElement,
    /** Whether the address of the browser follows the route. */
    readonly addressed: boolean,
    /** Whether what surrounds the page is dark; undefined where only the browser's wish is known. */
    private surroundings: () => boolean | undefined = () => undefined,
    /** Sections around the atlas: a paper's page. */
    readonly document?: Packed<PageDocument>,
    /** Several models: the front page of a site. */
    readonly gallery?: Packed<Gallery>,
  ) {
    this.notes = new Notes((boot.live ?? atlases[0]?.document.model)?.name ?? "");
    this.route = signal(parse(addressed ? location.hash : ""));
    if (addressed) addEventListener("hashchange", () => this.arrive());
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const { signal: until } = this.ended;
    scheme.addEventListener?.("change", () => this.applyTheme(), { signal: until });
    this.theme.value = (read("headscope-theme") as Theme | null) ?? "auto";
    this.applyTheme();
  }

  get atlas(): Atlas | undefined {
    return this.atlases[0];
  }

  /** The words that each head links most, by place, once the search was begun. */
  tokens: string[][] = [];

  /** Results without examples have none. */
  async loadTokens(): Promise<void> {
    if (this.tokens.length || !this.atlas?.document.examples.kept) return;
    const found = await this.source.load<TokensDocument>("tokens").catch(() => undefined);
    this.tokens = found?.document.tokens ?? [];
  }

  private arrive(): void {
    this.route.value = parse(location.hash);
    this.message.value = "";
  }

  /** Show a view. `replace` changes the address without a new step to go back to. */
  go(view: string, options: Record<string, string | undefined> = {}, replace = false): void {
    const next = { view, options: clean(options) };
    if (!this.addressed) {
      this.route.value = next;
      return;
    }
    const hash = format(next);
    if (hash === location.hash) return;
    if (replace) {
      history.replaceState(null, "", hash);
      this.route.value = next;
    } else {
      location.hash = hash;
    }
  }

  /** Change options of the present view. */
  set(options: Record<string, string | undefined>, replace = true): void {
    const { view, options: before } = this.route.value;
    this.go(view, { ...before, ...options }, replace);
  }

  option(name: string): string | undefined {
    return this.route.value.options[name];
  }

  select(places: Iterable<number> | null, by = ""): void {
    this.selection.value = places === null ? null : new Set(places);
    this.selectedBy.value = by;
  }

  setTheme(theme: Theme): void {
    this.theme.value = theme;
    write("headscope-theme", theme);
    this.applyTheme();
  }

  /** Forget the listeners: a notebook's cell was closed. */
  end(): void {
    this.ended.abort();
  }

  applyTheme(): void {
    const wanted = this.theme.value;
    const around = this.surroundings() ?? matchMedia("(prefers-color-scheme: dark)").matches;
    const dark = wanted === "dark" || (wanted === "auto" && around);
    this.dark.value = dark;
    this.root.dataset.theme = dark ? "dark" : "light";
    if (this.addressed) document.documentElement.dataset.theme = dark ? "dark" : "light";
  }
}

function clean(options: Record<string, string | undefined>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(options)) if (value) found[name] = value;
  return found;
}

/** Storage may be refused: in frames, and for files in some browsers. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the choice lasts for this page only
  }
}

export const StoreContext = createContext<Store | null>(null);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("no store");
  return store;
}
