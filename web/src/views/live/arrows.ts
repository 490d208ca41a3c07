import { useRef, useState } from "preact/hooks";

import type { LiveModel } from "../../data/types";
import { nameOf, placeOf } from "./options";

const STEPS: Record<string, [layer: number, head: number]> = {
  ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
};

/** The head that is reached by a step on a grid with layers upward; the same at its edges. */
export function stepped(name: string, key: string, model: Pick<LiveModel, "numbers" | "heads">): string {
  const step = STEPS[key];
  if (!step) return name;
  const place = placeOf(name, model);
  const layer = Math.floor(place / model.heads) + step[0];
  const head = (place % model.heads) + step[1];
  if (layer < 0 || layer >= model.numbers.length || head < 0 || head >= model.heads) return name;
  return nameOf(layer * model.heads + head, model);
}

/** A grid of heads as one stop of the tab key, in which arrow keys move. */
export function useArrows(model: LiveModel, first: string) {
  const box = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState("");
  const active = moved || first || nameOf((model.layers - 1) * model.heads, model);
  const onKeyDown = (event: KeyboardEvent) => {
    const from = (event.target as HTMLElement).dataset.head;
    if (!from || !(event.key in STEPS)) return;
    event.preventDefault();
    const next = stepped(from, event.key, model);
    setMoved(next);
    box.current?.querySelector<HTMLElement>(`[data-head="${next}"]`)?.focus();
  };
  return { box, active, onKeyDown };
}
