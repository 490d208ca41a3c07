import { percent } from "../../format";
import { useStore } from "../../store";
import { useLive } from "./context";

/** Words or pieces, what is hidden, scales, the threshold. */
export function Toolbar() {
  const store = useStore();
  const { options, model } = useLive();
  const hidden = model.causal ? "the first token, “.” and “,”" : "special tokens, “.” and “,”";
  return (
    <div class="hs-live-tools" role="group" aria-label="What is drawn">
      <Switch
        label="Units" value={options.unit} choices={[["words", "Words"], ["pieces", "Pieces"]]}
        onPick={(unit) => store.set({ unit: unit === "words" ? undefined : unit })}
      />
      <Switch
        label="Weights" value={options.weights}
        choices={[
          ["attention", "Raw", "Attention weights"],
          ["norm", "Norm-weighted", "Times the length of what each key sends through the head, as shares of a row (Kobayashi et al. 2020)"],
        ]}
        onPick={(weights) => store.set({ weights: weights === "norm" ? "norm" : undefined })}
      />
      <Check
        label={`hide ${hidden}`} value={options.hide}
        title="No lines from or to these: much attention rests on them"
        onChange={(hide) => store.set({ hide: hide ? undefined : "no" })}
      />
      <Check
        label="renormalise" value={options.renormalise}
        title="Leave the hidden ones out of lines and map, and divide the rest of each row by its sum"
        onChange={(yes) => store.set({ renormalise: yes ? "yes" : undefined })}
      />
      <Check
        label="log scale" value={options.log} title="Colours of the map by the logarithm of the weight, from 0.1 %"
        onChange={(log) => store.set({ log: log ? "yes" : undefined })}
      />
      <label class="hs-live-over">
        lines over <b>{percent(options.over, 0)}</b>
        <input
          type="range" min={1} max={60} step={1} value={Math.round(options.over * 100)}
          aria-label="Draw lines over this share of attention, in per cent"
          onInput={(event) => store.set({ over: event.currentTarget.value })}
        />
      </label>
    </div>
  );
}

interface SwitchProps<Value extends string> {
  label: string;
  value: Value;
  choices: readonly (readonly [Value, string, string?])[];
  onPick: (value: Value) => void;
}

/** Buttons of which one is pressed. */
export function Switch<Value extends string>({ label, value, choices, onPick }: SwitchProps<Value>) {
  return (
    <span class="hs-live-switch" role="group" aria-label={label}>
      {choices.map(([id, title, about]) => (
        <button key={id} type="button" aria-pressed={id === value} title={about} onClick={() => onPick(id)}>
          {title}
        </button>
      ))}
    </span>
  );
}

interface CheckProps {
  label: string;
  value: boolean;
  title: string;
  onChange: (value: boolean) => void;
}

function Check({ label, value, title, onChange }: CheckProps) {
  return (
    <label class="hs-live-check" title={title}>
      <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
