import { useEffect, useMemo } from "preact/hooks";

import type { Prediction } from "../../data/live";
import { useStore } from "../../store";
import { ink, mix } from "../../families";
import { number } from "../../format";
import { GridLabels } from "../../components/grid";
import { smallGrid } from "../../components/grid-layout";
import { Cells } from "../../components/many";
import { SaveMenu } from "../../components/save";
import { useWidth } from "../../components/measure";
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

/** One cell per head, layers upward; a click switches the head off or on. */
function Grid({ values }: { values: Float32Array }) {
  const store = useStore();
  const { model, options } = useLive();
  const [box, width] = useWidth<HTMLDivElement>();
  const dark = store.dark.value;
  const low = model.layers > 16;
  const arrangement = useMemo(() => {
    const cell: [number, number] = [Math.max(width - 24, 40) / model.heads, low ? 14 : 22];
    return smallGrid(model, { cell, left: 24, gap: 2 });
  }, [model, width, low]);
  const { layout } = arrangement;
  const colours = Array.from(values, (value) => {
    const strong = strength(value);
    const [full, ground] = dark ? ["#F0975A", "#2a2b2e"] : ["#C05717", "#f3f2f0"];
    return mix(full, ground, Math.round(strong * 64) / 64);
  });
  const label = (place: number) => {
    const value = values[place]!;
    return `${nameOf(place, model)}: ${Number.isNaN(value) ? "not known yet" : `${number(value, 3)} nats`}`;
  };
  const boxes = (places: number[]) => places.map((place) => ({ place, box: arrangement.box(place) }));
  const all = Array.from(values, (_, place) => place);
  return (
    <div ref={box} class="hs-live-effects">
      {width > 0 && (
        <svg width={width} height={layout.height} role="group" aria-label="Each head off in turn">
          <GridLabels numbers={model.numbers} layout={layout} numbered={false} bare />
          <Cells
            arrangement={arrangement}
            colour={(place) => colours[place]!}
            by={[values, dark]}
            label={label}
            about="Arrow keys move, Enter switches the head off or on."
            pick={(place) =>
              store.set({ off: toggled(options.off, nameOf(place, model)).join(",") || undefined })
            }
          >
            {!low &&
              boxes(all.filter((place) => values[place]! >= 0.095)).map(({ place, box: [x, y, w] }) => (
                <text
                  key={place}
                  x={x + w / 2}
                  y={y + 14}
                  font-size={10.5}
                  text-anchor="middle"
                  fill={ink(colours[place]!)}
                >
                  {number(values[place]!, 2)}
                </text>
              ))}
            {boxes(all.filter((place) => options.off.includes(nameOf(place, model)))).map(
              ({ place, box: [x, y, w, h] }) => (
                <path key={place} class="hs-live-effect-off" d={`M${x + 1} ${y + 1}h${w - 2}v${h - 2}h${2 - w}z`} />
              ),
            )}
          </Cells>
        </svg>
      )}
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
