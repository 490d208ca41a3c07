import { useMemo, useRef } from "preact/hooks";

import { HeatMap } from "../../components/heatmap";
import { SaveMenu } from "../../components/save";
import { useStore } from "../../store";
import { listed, useLive } from "./context";
import { fits } from "./lines";
import { Switch } from "./toolbar";
import { hiddenUnits, renormalised, unitMap, unitsOf, windowOf } from "./units";

/** The map of one head. */
export function MapCard() {
  const store = useStore();
  const { session, model, options, shown } = useLive();
  const reading = session.reading.value.value;
  const maps = session.maps.value.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const range = reading ? windowOf(reading.tokens.length, options.from) : ([0, 0] as [number, number]);
  const units = useMemo(
    () => (reading ? unitsOf(reading, options.unit, range) : []),
    [reading, options.unit, range[0], range[1]],
  );
  const weights = maps && fits(maps.size, maps.first, units) ? maps.weights.get(shown) : undefined;
  const map = useMemo(() => {
    if (!weights || !maps) return null;
    const plain = unitMap(weights, maps.size, maps.first, units);
    return options.renormalise ? renormalised(plain, units.length, hiddenUnits(units, model.causal)) : plain;
  }, [weights, units, options.renormalise]);
  const labels = useMemo(() => units.map((unit) => unit.label), [units]);
  if (!shown) return <section class="hs-block"><p class="hs-small">Choose a head to see its map.</p></section>;
  const off = listed(options.off);
  const at = session.prediction.value.value?.at ?? null;
  const token = options.token ?? (model.predicts === "masked" ? at : null);
  const row = units.findIndex((unit) => token !== null && unit.tokens.includes(token));
  const scale = options.log ? "log" : "sqrt";
  return (
    <section class="hs-block hs-live-map" aria-label={`Map of ${shown}`}>
      <div class="hs-title">
        <h2>{options.weights === "norm" ? "Norm-weighted map" : "Map"} of {shown}{options.off.length ? `, ${options.after ? `${off} off` : "all heads on"}` : ""}</h2>
        <span title={options.log ? "Colours by the logarithm of the weight" : "Colours by the square root of the weight"}>
          {options.log ? "log" : "√"} scale; row maximum in %
        </span>
        <SaveMenu
          name={`map-${shown}`} chart={() => canvas.current}
          data={() => ({
            columns: ["from", ...labels],
            rows: labels.map((label, at) => [label, ...(map ?? []).slice(at * labels.length, (at + 1) * labels.length)]),
          })}
        />
      </div>
      {options.off.length > 0 && (
        <Switch
          label="Heads" value={options.after ? "off" : "on"}
          choices={[["on", "all heads on"], ["off", `${off} off`]]}
          onPick={(one) => store.set({ after: one === "off" ? "yes" : undefined })}
        />
      )}
      {map ? (
        <HeatMap
          rows={labels} columns={labels} weights={map} scale={scale} cell={20} row={row < 0 ? null : row}
          onPick={(from) => {
            const tokens = units[from]!.tokens;
            store.set({ token: String(model.causal ? tokens[tokens.length - 1] : tokens[0]) });
          }}
          label={`Map of head ${shown}: queries in rows, keys in columns`} canvas={canvas}
        />
      ) : (
        <p class="hs-small hs-live-wait">…</p>
      )}
    </section>
  );
}
