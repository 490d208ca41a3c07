import { useEffect, useState } from "preact/hooks";

import type { Packed } from "../../data/pack";
import type { HeadDocument, Text, TextsDocument } from "../../data/types";
import { useStore } from "../../store";

export interface Loaded {
  head: Packed<HeadDocument>;
  texts: Text[];
  /** What the head does as a picture to share, as SVG. */
  card?: string;
}

/** Where a card has its grid of all heads, which is the same in each. */
const GRID = "<!--grid-->";

/** The examples of a head: undefined while they are loaded, a sentence where that fails. */
export function useExamples(name: string, wanted: boolean): Loaded | string | undefined {
  const { source } = useStore();
  const [state, setState] = useState<{ name: string; found: Loaded | string } | undefined>();
  useEffect(() => {
    if (!wanted) return;
    let current = true;
    const done = (found: Loaded | string) => current && setState({ name, found });
    Promise.all([source.load<HeadDocument>(`head/${name}`), source.load<TextsDocument>("texts")])
      .then(([head, { document }]) => {
        const card = head.document.card?.replace(GRID, () => document.grid);
        done({ head, texts: document.texts, card });
      })
      .catch((error: unknown) => done(error instanceof Error ? error.message : String(error)));
    return () => {
      current = false;
    };
  }, [name, wanted, source]);
  return state?.name === name ? state.found : undefined;
}
