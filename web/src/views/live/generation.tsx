import { useRef, useState } from "preact/hooks";

import { Superseded } from "../../data/live";
import { useStore } from "../../store";
import { useLive } from "./context";
import { readOptions } from "./options";

/** Let a causal model write on, one token at a time. */
export function Generation() {
  const store = useStore();
  const { session, model, options } = useLive();
  const [said, setSaid] = useState("");
  const running = useRef(false);
  const busy = session.generating.value;
  if (model.predicts !== "next") return null;
  const write = async (steps: number) => {
    running.current = true;
    session.generating.value = true;
    setSaid("");
    try {
      for (let step = 0; step < steps && running.current; step++) {
        const now = readOptions((name) => store.option(name), model);
        const found = await session.next(now);
        if (found.ends) {
          setSaid("The model ends the text here.");
          break;
        }
        store.set({ more: [...now.more, found.id].join("."), token: undefined });
      }
    } catch (error) {
      if (!(error instanceof Superseded)) setSaid((error as Error).message);
    } finally {
      running.current = false;
      session.generating.value = false;
    }
  };
  const change = (more: number[]) => store.set({ more: more.join(".") || undefined, token: undefined });
  return (
    <div class="hs-live-write">
      <span class="hs-soft" title="The most likely token each time; nothing is drawn at random">Continue</span>
      <button type="button" class="hs-button" disabled={busy} onClick={() => void write(1)}>
        Next token
      </button>
      <button type="button" class="hs-button" disabled={busy} onClick={() => void write(10)}>
        10 tokens
      </button>
      {busy && (
        <button type="button" class="hs-more" onClick={() => (running.current = false)}>
          Stop
        </button>
      )}
      {!busy && options.more.length > 0 && (
        <>
          <button type="button" class="hs-more" onClick={() => change(options.more.slice(0, -1))}>
            Take one back
          </button>
          <button type="button" class="hs-more" onClick={() => change([])}>
            Take all {options.more.length} back
          </button>
        </>
      )}
      {said && <span class="hs-small">{said}</span>}
    </div>
  );
}
