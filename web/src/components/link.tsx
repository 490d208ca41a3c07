import type { ComponentChildren } from "preact";

import type { Atlas } from "../data/atlas";
import { family, isRole } from "../families";
import { percent } from "../format";
import { type Store, useStore } from "../store";

/** Open a view; in a notebook there is no address to follow. */
export function follow(store: Store, view: string, options: Record<string, string> = {}) {
  return (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
    event.preventDefault();
    store.go(view, options);
  };
}

/** What a head does, in a few words, for tooltips. */
export function hint(atlas: Atlas, place: number): string {
  const id = atlas.family(place);
  const excess = atlas.excess(place);
  const more =
    isRole(id) && Number.isFinite(excess) ? `, ${percent(excess, 0)} above chance` : "";
  const role = id ? `: ${family(id).title.toLowerCase()}${more}` : "";
  return `Head ${atlas.name(place)} (${atlas.zeroBased(place)})${role}`;
}

interface Props {
  place: number;
  title?: string;
  children?: ComponentChildren;
}

/** A head's name as a link to its page; pointing at it shows its card. */
export function HeadLink({ place, title, children }: Props) {
  const store = useStore();
  const atlas = store.atlas!;
  const view = `head/${atlas.name(place)}`;
  const { view: here, options } = store.route.value;
  return (
    <a
      class="hs-head-link"
      href={`#/${view}`}
      title={title ?? hint(atlas, place)}
      onMouseEnter={() => (store.focus.value = place)}
      onFocus={() => (store.focus.value = place)}
      onClick={follow(store, view, here.startsWith("head/") ? options : {})}
    >
      {children ?? atlas.name(place)}
    </a>
  );
}

const NUMBERS = /(\bp [<=] [\d.e-]+\d|\d[\d.,]* %)/;

/** A sentence whose lines never end within a number: "63 %", "p < 1e-5". */
export function Prose({ text }: { text: string }) {
  const parts = text.split(NUMBERS);
  return (
    <>
      {parts.map((part, at) => (at % 2 ? <span key={at} class="hs-whole">{part}</span> : part))}
    </>
  );
}

const NAMES = /(?<![\w.,–-])\d{1,3}-\d{1,3}(?![\w–-]|[.,]\d)/g;

/** A text whose heads are links to their pages, where the page is about one model. */
export function Linked({ text }: { text: string }) {
  const store = useStore();
  const { atlas } = store;
  if (!atlas || store.document?.document.linked === false) return <>{text}</>;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(NAMES)) {
    const place = atlas.place(match[0]);
    if (place === undefined) continue;
    parts.push(text.slice(from, match.index), <HeadLink key={from} place={place} />);
    from = match.index + match[0].length;
  }
  return <>{parts.length ? [...parts, text.slice(from)] : text}</>;
}

/** Pages about the same model, in files beside this one. */
export function BesidePages() {
  const pages = useStore().boot.beside ?? [];
  if (!pages.length) return null;
  return (
    <p class="hs-small hs-beside">
      Beside this page:{" "}
      {pages.map(({ title, href }, at) => (
        <span key={href}>
          {at > 0 && ", "}
          <a href={href}>{title}</a> <span class="hs-quiet">{decodeURI(href)}</span>
        </span>
      ))}
    </p>
  );
}
