import { useStore } from "../store";

const KEYS: [string, string][] = [
  ["/", "search: a head (3-9, L2H8), or a query (entropy < 1.5)"],
  ["← ↑ → ↓", "move over the grid of heads"],
  ["Enter", "open the head"],
  ["[ and ]", "the head before, the head after (on a head's page)"],
  ["Esc", "close, or clear the selection"],
  ["?", "this list"],
];

/** The list of keys. */
export function KeyHelp() {
  const store = useStore();
  return (
    <div class="hs-dialog" role="dialog" aria-modal="true" aria-label="Keys">
      <div class="hs-dialog-box">
        <h2>Keys</h2>
        <dl class="hs-keys">
          {KEYS.map(([key, words]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{words}</dd>
            </>
          ))}
        </dl>
        <button type="button" class="hs-button" autofocus onClick={() => (store.keys.value = false)}>
          Close
        </button>
      </div>
    </div>
  );
}
