import { useEffect } from "preact/hooks";

import type { Prediction } from "../../data/live";
import { useStore } from "../../store";
import { ink, mix } from "../../families";
import { number } from "../../format";
import { SaveMenu } from "../../components/save";
import { useArrows } from "./arrows";
import { useLive } from "./context";
import { nameOf, toggled } from "./options";

const FLOOR = 0.01;
/** Models of at most so many heads begin by themselves, with the text that is there at first. */
const SOON = 600;

/** How far the prediction moves when each head is off in turn. */
export function EffectsCard() {
  const store = useStore();
  const { session, model, options } = useLive();
  const found = session.effects.value;
  const current = found && found.key === session.effectsKey(options) ? found : null;
  const error = session.effectsError.value;
  const asks = session.prediction.error.value;
  const predicted = session.prediction.value.value !== null;
  const answer = answerOf(session.prediction.value.value);
  const wanted = options.sweep || (session.first && model.layers * model.heads <= SOON);
  useEffect(() => {
    if (predicted && wanted && !session.effects.value) void session.sweep(options);
    if (predicted) session.first = false;
  }, [predicted, wanted]);
  const start = () => {
    store.set({ sweep: "yes" });
    void session.sweep(options);
  };
  return (
    <section class="hs-block" aria-label="Which heads does this answer need?">
      <div class="hs-title">
        <h2>Which heads does {answer ? `“${answer}”` : "this answer"} need?</h2>
        <span title="Each head is switched off in turn. Kullback–Leibler divergence of the prediction with the head off from that with all heads on">
          each head off in turn: KL of the prediction, nats; log scale from {FLOOR}
        </span>
        {current && (
          <SaveMenu
            name="each-head-off"
            data={() => ({
              columns: ["head", `KL, nats (${options.how})`],
              rows: Array.from(current.values, (value, place) => [nameOf(place, model), value]),
            })}
          />
        )}
      </div>
      {current && <Grid values={current.values} />}
      <p class="hs-live-note">
        {error || (current ? said(current.values, current, model) : "")}
        {!current && (
          <button type="button" class="hs-button" disabled={asks !== ""} onClick={start}>
            Switch off {model.layers * model.heads} heads in turn
          </button>
        )}{" "}
        {current?.running && (
          <button type="button" class="hs-more" onClick={() => session.stopSweep()}>
            Stop
          </button>
        )}
        {current && !current.running && (
          <button type="button" class="hs-more" onClick={start}>
            {current.done < model.layers ? "Start again" : "Replay"}
          </button>
        )}
      </p>
    </section>
  );
}

/** The likeliest word, where the prediction is one of words. */
function answerOf(found: Prediction | null): string {
  if (!found || found.score || !found.choices.length) return "";
  const [best] = [...found.choices].sort((a, b) => b.before - a.before);
  return best!.name.trim().slice(0, 24);
}

/** One cell per head, layers upward. */
function Grid({ values }: { values: Float32Array }) {
  const store = useStore();
  const { model, options } = useLive();
  const { box, active, onKeyDown } = useArrows(model, "");
  const dark = store.dark.value;
  const rows = Array.from({ length: model.layers }, (_, at) => model.layers - 1 - at);
  const low = model.layers > 16;
  return (
    <div
      class={low ? "hs-live-effects hs-live-effects-low" : "hs-live-effects"} ref={box} role="group"
      aria-label="Each head off in turn: arrow keys move" onKeyDown={onKeyDown}
    >
      {rows.map((layer) => (
        <div key={layer} class="hs-live-effect-row">
          <span class="hs-live-layer">{model.numbers[layer]}</span>
          {Array.from({ length: model.heads }, (_, head) => {
            const place = layer * model.heads + head;
            const value = values[place]!;
            const name = nameOf(place, model);
            const strong = strength(value);
            const fill = mix(dark ? "#F0975A" : "#C05717", dark ? "#2a2b2e" : "#f3f2f0", strong);
            return (
              <button
                key={head} type="button" class={options.off.includes(name) ? "hs-live-effect hs-live-effect-off" : "hs-live-effect"}
                style={strong > 0 ? { background: fill, color: ink(fill) } : {}}
                aria-label={`Head ${name} off: ${Number.isNaN(value) ? "not known yet" : `${number(value)} nats`}`}
                title={`${name}: ${Number.isNaN(value) ? "not known yet" : `${number(value, 3)} nats`}`}
                data-head={name} tabIndex={name === active ? 0 : -1}
                onClick={() => store.set({ off: toggled(options.off, name).join(",") || undefined })}
              >
                {!low && value >= 0.095 ? value.toFixed(2) : ""}
              </button>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** 0 at the floor, 1 at a nat or more. */
function strength(value: number): number {
  if (!(value > FLOOR)) return 0;
  return Math.min(1, 0.12 + (0.88 * Math.log(value / FLOOR)) / Math.log(1 / FLOOR));
}

function said(
  values: Float32Array, { done, running }: { done: number; running: boolean }, model: { layers: number; heads: number; numbers: number[] },
): string {
  if (running) return `${done} of ${model.layers} layers done.`;
  let best = -1;
  values.forEach((value, place) => {
    if (value > (values[best] ?? -1)) best = place;
  });
  if (best < 0) return "";
  const clear = values[best]! >= 0.05;
  return clear
    ? `${nameOf(best, model)} matters most here; click a cell to switch its head off.`
    : "No single head changes the prediction much.";
}
