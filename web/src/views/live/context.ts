import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { LiveModel } from "../../data/types";
import { family, isRole } from "../../families";
import type { Store } from "../../store";
import { type LiveOptions, nameOf, placeOf } from "./options";
import type { LiveSession } from "./session";
import { clearest } from "./units";

/** What the parts of the Live view share. */
export interface Live {
  session: LiveSession;
  model: LiveModel;
  options: LiveOptions;
  /** Heads whose links are drawn. */
  heads: string[];
  /** The head whose map is drawn. */
  shown: string;
}

export const LiveContext = createContext<Live | null>(null);

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error("no live session");
  return live;
}

/** The heads in the address; else two that have something to show. */
export function chosenHeads(store: Store, session: LiveSession, options: LiveOptions): string[] {
  if (options.heads) return options.heads;
  const { model } = session;
  if (session.defaults.length) return session.defaults;
  const fromResults = clearestRoles(store);
  if (fromResults.length) return (session.defaults = fromResults.map((place) => nameOf(place, model)));
  const small = session.small.value.value;
  const reading = session.reading.value.value;
  if (!small || !reading) return [];
  const whole = small.side === reading.tokens.length; // else the ends are special tokens or a sink
  const quiet = whole ? [...reading.special, ...reading.stop] : [0, small.side - 1];
  const skipped = new Set([...quiet, ...(model.causal ? [0] : [])]);
  const found = clearest(small.cells, model.layers * model.heads, small.side, skipped);
  return (session.defaults = found.map((one) => nameOf(one, model)));
}

/** The clearest head of each of the two clearest families among the results. */
function clearestRoles(store: Store): number[] {
  const atlas = store.atlas;
  if (!atlas?.hasRoles) return [];
  const best = new Map<string, number>();
  for (let place = 0; place < atlas.size; place++) {
    const id = atlas.family(place);
    const held = best.get(id);
    if (isRole(id) && (held === undefined || atlas.excess(place) > atlas.excess(held))) best.set(id, place);
  }
  const liked = ["noun phrase", "clause", "same", "induction", "near", "next", "previous"];
  return liked.filter((id) => best.has(id)).slice(0, 2).map((id) => best.get(id)!);
}

const COLOURS: [string, string][] = [
  ["#2A9D74", "#2FA97A"], ["#D98E1F", "#EDB652"], ["#7A5CC0", "#A48BE0"],
  ["#C2477F", "#E083B8"], ["#1F6FB5", "#5FA8E6"], ["#7B6A2B", "#C4AE5E"],
];

/** The colour of each head's lines: that of its main role where it is known, each colour once. */
export function headColours(store: Store, model: LiveModel, heads: string[]): Map<string, string> {
  const dark = store.dark.value ? 1 : 0;
  const used = new Set<string>();
  const found = new Map<string, string>();
  for (const head of heads) {
    const id = store.atlas?.family(placeOf(head, model)) ?? "";
    const own = isRole(id) ? family(id).colour[dark] : "";
    if (own && !used.has(own)) found.set(head, own);
    if (own) used.add(own);
  }
  for (const head of heads) {
    if (found.has(head)) continue;
    const free = COLOURS.find((one) => !used.has(one[dark])) ?? COLOURS[heads.indexOf(head) % COLOURS.length]!;
    used.add(free[dark]);
    found.set(head, free[dark]);
  }
  return found;
}

/** What a head does, in few words; "" without results. */
export function roleOf(store: Store, model: LiveModel, head: string): string {
  const id = store.atlas?.family(placeOf(head, model)) ?? "";
  return id ? family(id).title.toLowerCase() : "";
}

/** A token within a sentence: punctuation in quotation marks. */
export function quoted(token: string): string {
  return /[\p{L}\p{N}]/u.test(token) ? token : `“${token}”`;
}

/** "5-8", "5-8 and 6-8", "5-8, 6-8 and 6-9"; many are counted. */
export function listed(heads: readonly string[]): string {
  if (heads.length > 4) return `${heads.length} heads`;
  if (heads.length < 2) return heads[0] ?? "";
  return `${heads.slice(0, -1).join(", ")} and ${heads[heads.length - 1]}`;
}
