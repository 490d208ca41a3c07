import { useState } from "preact/hooks";

import { useStore } from "../../store";
import { headColours, roleOf, useLive } from "./context";
import { headName } from "./options";

/** The heads whose lines are drawn, each with its colour. */
export function HeadChips() {
  const store = useStore();
  const { heads, shown, model } = useLive();
  const colours = headColours(store, model, heads);
  return (
    <div class="hs-live-chips" role="group" aria-label="Heads that are drawn">
      {heads.map((head, at) => {
        const words = [roleOf(store, model, head), at % 2 ? "below" : "above"].filter(Boolean).join(", ");
        return (
          <span key={head} class={head === shown ? "hs-live-chip hs-live-chip-on" : "hs-live-chip"}>
            <button type="button" title={`Show the map of ${head}`} onClick={() => store.set({ map: head, heads: heads.join(",") })}>
              <i style={{ background: colours.get(head)! }} />
              <b>{head}</b> {words}
            </button>
            <button
              type="button" class="hs-live-x" aria-label={`Remove ${head}`}
              onClick={() => store.set({ heads: heads.filter((one) => one !== head).join(",") || "none" })}
            >
              ×
            </button>
          </span>
        );
      })}
      <AddHead />
    </div>
  );
}

function AddHead() {
  const store = useStore();
  const { heads, model } = useLive();
  const [open, setOpen] = useState(false);
  const [wrong, setWrong] = useState(false);
  if (!open) {
    return (
      <button type="button" class="hs-live-add" onClick={() => setOpen(true)}>
        + head
      </button>
    );
  }
  return (
    <form
      class="hs-live-add"
      onSubmit={(event) => {
        event.preventDefault();
        const name = headName(String(new FormData(event.currentTarget).get("head") ?? ""), model);
        setWrong(!name);
        if (!name) return;
        setOpen(false);
        store.set({ heads: [...heads.filter((one) => one !== name), name].join(","), map: name });
      }}
    >
      <input
        name="head" autofocus size={6} placeholder="3-9" aria-label="A head, such as 3-9 or L2H8" aria-invalid={wrong}
        title={wrong ? `The model has ${model.layers} layers of ${model.heads} heads` : undefined}
        onBlur={(event) => !event.currentTarget.value && setOpen(false)}
      />
    </form>
  );
}
