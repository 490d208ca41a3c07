import { useState } from "preact/hooks";

import { useStore, type Theme } from "../store";
import { SearchBox } from "./search";

export const VIEWS: [string, string][] = [
  ["document", "Paper"],
  ["atlas", "Atlas"],
  ["finder", "Finder"],
  ["head", "Heads"],
  ["papers", "Papers"],
  ["compare", "Compare"],
  ["training", "Training"],
  ["live", "Live"],
];
const NEXT: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

/** Name, model, navigation, search, light or dark. */
export function Header() {
  const store = useStore();
  const model = store.boot.live ?? store.atlas?.document.model;
  const first = store.document ? "document" : store.atlas ? "atlas" : "live";
  const current = store.route.value.view.split("/")[0] || first;
  const shape = model ? `${model.type} · ${model.layers} layers × ${model.heads} heads` : "";
  return (
    <header class="hs-header">
      <a class="hs-skip" href="#hs-main" onClick={(event) => skip(event, store.root)}>
        Skip to the content
      </a>
      <strong class="hs-brand">Headscope</strong>
      <span class="hs-model">
        <b>{model?.name}</b> <span class="hs-soft">{shape}</span>
      </span>
      <nav class="hs-nav" aria-label="Views">
        {VIEWS.filter(([id]) => shownView(id, store)).map(
          ([id, title]) => (
            <a
              key={id}
              href={`#/${id === "head" ? headTarget(store) : id}`}
              aria-current={current === id ? "page" : undefined}
              onClick={(event) => {
                if (store.addressed) return;
                event.preventDefault();
                store.go(id === "head" ? headTarget(store) : id);
              }}
            >
              {id === "document" ? store.boot.document : title}
            </a>
          ),
        )}
      </nav>
      {store.atlas && <SearchBox />}
      {store.addressed && <CopyLink />}
      <ThemeButton />
    </header>
  );
}

/** Light, dark, or as the browser wishes. */
export function ThemeButton() {
  const store = useStore();
  const said = `Colours: ${store.theme.value}`;
  return (
    <button
      type="button"
      class="hs-icon"
      title={`${said}. Click to change.`}
      aria-label={said}
      onClick={() => store.setTheme(NEXT[store.theme.value])}
    >
      {store.dark.value ? "☾" : "◐"}
    </button>
  );
}

/** Copies the address, which holds the view, the colours and the selection. */
function CopyLink() {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setSaid("copied");
    } catch {
      setSaid("not allowed here: copy the address of the page");
    }
    setTimeout(() => setSaid(""), 2500);
  };
  return (
    <span class="hs-copy">
      <button
        type="button"
        class="hs-icon"
        title="Copy a link to this view"
        aria-label="Copy a link to this view"
        onClick={() => void copy()}
      >
        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M6.5 9.5l3-3M7 4.5l1.6-1.6a3 3 0 014.3 4.3L11.3 8.8M9 11.5l-1.6 1.6a3 3 0 01-4.3-4.3l1.6-1.6" />
        </svg>
      </button>
      <span class="hs-copied" role="status">
        {said}
      </span>
    </span>
  );
}

function shownView(id: string, store: ReturnType<typeof useStore>): boolean {
  if (id === "document") return store.document !== undefined;
  if (id === "papers" && store.document) return false;
  if (id === "live") return store.boot.live !== undefined;
  if (id === "compare") return store.atlases.length > 1;
  if (id === "training") return Boolean(store.atlas?.document.track);
  return store.atlases.length > 0;
}

/** The head that "Heads" opens: the one in focus, or the clearest. */
function headTarget(store: ReturnType<typeof useStore>): string {
  const atlas = store.atlas;
  if (!atlas) return "atlas";
  let place = store.focus.value ?? -1;
  if (place < 0) {
    let most = -1;
    for (let one = 0; one < atlas.size; one++) {
      const excess = atlas.excess(one);
      if (excess > most) [most, place] = [excess, one];
    }
  }
  return `head/${atlas.name(Math.max(place, 0))}`;
}

function skip(event: Event, root: HTMLElement): void {
  event.preventDefault();
  root.querySelector<HTMLElement>("#hs-main")?.focus();
}
