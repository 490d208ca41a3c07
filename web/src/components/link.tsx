import type { ComponentChildren } from "preact";

import { useStore } from "../store";

/** Open a view; in a notebook there is no address to follow. */
export function follow(store: ReturnType<typeof useStore>, view: string) {
  return (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
    event.preventDefault();
    store.go(view);
  };
}

/** A head's name as a link to its page; pointing at it shows its card. */
export function HeadLink({ place, children }: { place: number; children?: ComponentChildren }) {
  const store = useStore();
  const atlas = store.atlas!;
  const name = atlas.name(place);
  return (
    <a
      class="hs-head-link"
      href={`#/head/${name}`}
      title={`${atlas.zeroBased(place)} counted from 0`}
      onMouseEnter={() => (store.focus.value = place)}
      onFocus={() => (store.focus.value = place)}
      onClick={follow(store, `head/${name}`)}
    >
      {children ?? name}
    </a>
  );
}
