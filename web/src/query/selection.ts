import { effect } from "@preact/signals";

import type { Store } from "../store";
import { findHeads } from "./evaluate";
import { headsQuery } from "./heads";
import { LONGEST, parseQuery } from "./parse";

/** The query that stands for the selection in the address; "" where it would be too long. */
export function selectionQuery(store: Store): string {
  const [chosen, by] = [store.selection.value, store.selectedBy.value];
  if (!chosen || !store.atlas) return "";
  if (isQuery(by)) return by;
  const query = headsQuery(store.atlas, chosen);
  return query.length > LONGEST ? "" : query;
}

export function isQuery(text: string): boolean {
  try {
    parseQuery(text);
    return true;
  } catch {
    return false;
  }
}

/** Select the heads for which a query holds. Throws QueryError. */
export function selectByQuery(store: Store, query: string): number {
  const places = findHeads(store.atlas!, query);
  store.select(places, query);
  return places.length;
}

/**
 * Keep the selection and the option q of the address the same: an address with a query selects,
 * and a selection stays in the address when another view is opened.
 */
export function followSelection(store: Store): () => void {
  let known = "";
  return effect(() => {
    const asked = store.route.value.options.q ?? "";
    const current = selectionQuery(store);
    if (asked && asked !== known && asked !== current) {
      known = asked;
      try {
        selectByQuery(store, asked);
      } catch (error) {
        store.message.value = (error as Error).message;
        store.select(null);
      }
      return;
    }
    known = current;
    if (asked !== current) store.set({ q: current || undefined });
  });
}
