import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { HeatMap } from "../../components/heatmap";
import { mix } from "../../families";
import { percent } from "../../format";
import { useStore } from "../../store";
import { useLive } from "./context";
import { fits } from "./lines";
import { Field } from "./textfield";
import { type Unit, unitMap, unitsOf, windowOf } from "./units";

/** The same head on another text, and the difference where both have as many words. */
export function TwoTexts() {
  const store = useStore();
  const { session, options, model, shown } = useLive();
  const [open, setOpen] = useState(options.other !== "");
  const found = session.other.value.value;
  const error = session.other.error.value;
  const mine = session.maps.value.value;
  const reading = session.reading.value.value;
  const here = useMemo(
    () => (reading ? unitsOf(reading, options.unit, windowOf(reading.tokens.length, options.from)) : []),
    [reading, options.unit, options.from],
  );
  const there = useMemo(
    () => (found ? unitsOf(found.reading, options.unit, windowOf(found.reading.tokens.length, options.from)) : []),
    [found, options.unit, options.from],
  );
  if (!open) {
    return (
      <p class="hs-live-other">
        <button type="button" class="hs-more" onClick={() => setOpen(true)}>
          Compare with another text
        </button>
      </p>
    );
  }
  const other = found?.maps.weights.get(shown);
  const own = mine?.weights.get(shown);
  const first = own && mine && fits(mine.size, mine.first, here) ? unitMap(own, mine.size, mine.first, here) : null;
  const second = other && found && fits(found.maps.size, found.maps.first, there)
    ? unitMap(other, found.maps.size, found.maps.first, there) : null;
  return (
    <section class="hs-block hs-live-other" aria-label="Comparison of two texts">
      <div class="hs-title">
        <h2>{shown} on another text</h2>
        <button
          type="button" class="hs-more hs-live-end"
          onClick={() => {
            setOpen(false);
            store.set({ other: undefined });
          }}
        >
          Close
        </button>
      </div>
      <Field
        label="Another text" value={options.other} mask={model.mask ?? ""}
        onText={(text) => store.set({ other: text || undefined })}
      />
      {error && <p class="hs-live-error">{error}</p>}
      {first && second && (
        <div class="hs-live-pair">
          <div>
            <p class="hs-small">Map of {shown}, other text</p>
            <HeatMap rows={labels(there)} columns={labels(there)} weights={second} cell={18} label={`Map of ${shown} on the other text`} />
          </div>
          <div>
            <p class="hs-small">
              {here.length === there.length ? "Difference: other text − first text" : "No difference is drawn"}
            </p>
            {here.length === there.length ? (
              <Difference units={there} first={first} second={second} />
            ) : (
              <p class="hs-small">
                The texts have {here.length} and {there.length} {options.unit}; a difference needs equally many.
              </p>
            )}
          </div>
        </div>
      )}
    </section>
  );
}

function labels(units: readonly Unit[]): string[] {
  return units.map((unit) => unit.label);
}

interface DifferenceProps {
  units: Unit[];
  first: Float32Array;
  second: Float32Array;
}

/** More attention in orange, less in blue. */
function Difference({ units, first, second }: DifferenceProps) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [said, setSaid] = useState("");
  const dark = store.dark.value;
  const count = units.length;
  const cell = Math.max(3, Math.min(18, Math.floor(340 / Math.max(count, 1))));
  useEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen) return;
    const dense = Math.min(devicePixelRatio || 1, 3);
    element.width = element.height = count * cell * dense;
    pen.scale(dense, dense);
    const ground = dark ? "#212225" : "#FFFFFF";
    for (let at = 0; at < count * count; at++) {
      const change = second[at]! - first[at]!;
      const colour = change > 0 ? (dark ? "#F0975A" : "#B5480F") : dark ? "#6DB3EE" : "#1F6FB5";
      pen.fillStyle = mix(colour, ground, Math.sqrt(Math.min(1, Math.abs(change))));
      pen.fillRect((at % count) * cell, Math.floor(at / count) * cell, cell, cell);
    }
  }, [first, second, count, cell, dark]);
  return (
    <>
      <canvas
        ref={canvas} class="hs-live-difference" style={{ width: `${count * cell}px`, height: `${count * cell}px` }}
        role="img" aria-label="Difference of the two maps: more attention in orange, less in blue"
        onPointerMove={(event) => {
          const bounds = event.currentTarget.getBoundingClientRect();
          const [row, column] = [event.clientY - bounds.top, event.clientX - bounds.left].map((one) => Math.floor(one / cell));
          const change = second[row! * count + column!]! - first[row! * count + column!]!;
          const names = [units[row!]?.label, units[column!]?.label];
          setSaid(`${names[0]} → ${names[1]} ${change > 0 ? "+" : ""}${percent(change, 1)}`);
        }}
        onPointerLeave={() => setSaid("")}
      />
      <p class="hs-small">{said || "More attention in orange, less in blue; square-root scale."}</p>
    </>
  );
}
