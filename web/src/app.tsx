import { useEffect } from "preact/hooks";

import { Header, VIEWS } from "./components/header";
import { KeyHelp } from "./components/keys";
import { SelectionBar } from "./components/search-selection";
import { family } from "./families";
import { parse } from "./route";
import { type Store, StoreContext } from "./store";
import { AtlasView } from "./views/atlas";
import { CompareView } from "./views/compare";
import { DocumentView } from "./views/document";
import { GalleryView } from "./views/gallery";
import { FinderView } from "./views/finder";
import { HeadView } from "./views/head";
import { LiveView } from "./views/live";
import { PapersView } from "./views/papers";
import { TextView } from "./views/text";
import { TrainingView } from "./views/training";

/** The whole page: header, the view that the address names, a line for messages. */
export function App({ store }: { store: Store }) {
  useEffect(() => listen(store), [store]);
  const title = titleOf(store);
  useEffect(() => {
    if (store.addressed) document.title = title;
  }, [store, title]);
  const alone = store.addressed && new URLSearchParams(location.search).has("embed");
  return (
    <StoreContext.Provider value={store}>
      {!alone && !store.gallery && (store.atlas || store.boot.live) && <Header />}
      <SelectionBar />
      <main class="hs-main" id="hs-main" tabIndex={-1}>
        {!HEADED.has(store.route.value.view.split("/")[0]!) && !documented(store) && (
          <h1 class="hs-unseen">{title}</h1>
        )}
        <View store={store} />
      </main>
      {store.message.value && (
        <p class="hs-message" role="status">
          {store.message.value}
        </p>
      )}
      {store.keys.value && <KeyHelp />}
    </StoreContext.Provider>
  );
}

/** Views with a heading of their own. */
const HEADED = new Set(["head", "papers", "document"]);

function documented({ document, route }: Store): boolean {
  return document !== undefined && route.value.view === "";
}

/** What the browser's tab says: "3-9 · within the noun phrase · demo". */
export function titleOf(store: Store): string {
  const { atlas } = store;
  if (store.gallery) return `${store.atlases.length} models · Headscope`;
  const [name = "", head = ""] = store.route.value.view.split("/");
  const model = (store.boot.live ?? atlas?.document.model)?.name ?? "";
  const about = name === "" || name === "document" ? store.boot.document : undefined;
  const place = name === "head" ? atlas?.place(head) : undefined;
  const role = place === undefined ? "" : atlas!.family(place);
  const parts =
    place === undefined
      ? [about ?? VIEWS.find(([id]) => id === name)?.[1] ?? ""]
      : [atlas!.name(place), role ? family(role).title.toLowerCase() : ""];
  return [...parts, model, "Headscope"].filter(Boolean).join(" · ");
}

function View({ store }: { store: Store }) {
  const { view } = store.route.value;
  const [name, ...rest] = view.split("/");
  if (store.gallery) return <GalleryView />;
  if (name === "live" && store.boot.live) return <LiveView />;
  if (name === "text" && store.boot.source === "notebook") return <TextView />;
  if (store.document && (name === "" || name === "document")) return <DocumentView />;
  if (!store.atlas) {
    if (store.boot.live) return <LiveView />;
    return <p class="hs-empty">There are no results on this page.</p>;
  }
  switch (name) {
    case "":
    case "atlas":
      return <AtlasView />;
    case "finder":
      return <FinderView />;
    case "head":
      return <HeadView name={rest.join("/")} />;
    case "papers":
      return <PapersView />;
    case "compare":
      return <CompareView />;
    case "training":
      return <TrainingView />;
    default:
      return (
        <p class="hs-empty">
          There is no view called “{name}”. <a href="#/atlas">Go to the atlas.</a>
        </p>
      );
  }
}

/** Keys that work everywhere: / searches, ? lists keys, Escape closes or clears. */
function listen(store: Store): () => void {
  const press = (event: KeyboardEvent) => {
    const at = event.target as HTMLElement;
    const typing = at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    if (event.key === "Escape") {
      if (store.keys.value) store.keys.value = false;
      else if (typing) at.blur();
      else store.select(null);
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      store.root.querySelector<HTMLInputElement>(".hs-search input")?.focus();
      event.preventDefault();
    } else if (event.key === "?") {
      store.keys.value = !store.keys.value;
    }
  };
  const target: HTMLElement | Document = store.addressed ? document : store.root;
  const click = (event: Event) => inside(store, event);
  target.addEventListener("keydown", press as EventListener);
  if (!store.addressed) store.root.addEventListener("click", click);
  return () => {
    target.removeEventListener("keydown", press as EventListener);
    store.root.removeEventListener("click", click);
  };
}

/** In a notebook, links between views must not change the notebook's address. */
function inside(store: Store, event: Event): void {
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  const href = link.getAttribute("href") ?? "";
  if (!href.startsWith("#/")) return;
  const { view, options } = parse(href);
  store.go(view, options);
}
