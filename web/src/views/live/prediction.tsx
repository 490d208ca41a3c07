import type { Choice, Prediction } from "../../data/live";
import { SaveMenu } from "../../components/save";
import { number, percent, placesOf } from "../../format";
import { useStore } from "../../store";
import { listed, quoted, useLive } from "./context";
import { WAYS } from "./options";
import { Switch } from "./toolbar";

const ABOUT = {
  zero: "The head’s output is 0",
  mean: "The head’s output is its mean over the tokens of this text, all heads on",
  uniform: "The head attends equally to every token that it may see",
};

/** What the model predicts, with all heads on and with some off. */
export function PredictionCard() {
  const { session, options, model } = useLive();
  const found = session.prediction.value.value;
  const error = session.prediction.error.value;
  const off = options.off.length > 0;
  return (
    <section class="hs-block hs-live-prediction" aria-label="Prediction">
      <div class="hs-title">
        <h2>{title(model.predicts, found, session.reading.value.value?.tokens ?? [])}</h2>
        {found && (
          <SaveMenu
            name="prediction"
            data={() => ({
              columns: ["name", "all heads on", off ? `${options.off.join(" ")} off (${options.how})` : "after"],
              rows: found.choices.map((one) => [one.name, one.before, one.after]),
            })}
          />
        )}
      </div>
      <OffBar />
      {error && <p class="hs-live-note">{error}</p>}
      {found && <Table found={found} off={options.off} />}
      {found && off && <p class="hs-live-note">{summary(found, options.off)}</p>}
    </section>
  );
}

/** Which heads are off, and how. */
function OffBar() {
  const store = useStore();
  const { options } = useLive();
  const off = options.off.length > 0;
  return (
    <>
      <div class="hs-live-offs">
        <span class="hs-soft">Heads off</span>
        {options.off.map((head) => (
          <button
            key={head} type="button" class="hs-live-off" aria-label={`Switch ${head} on again`}
            onClick={() => store.set({ off: options.off.filter((one) => one !== head).join(",") || undefined })}
          >
            {head} <span aria-hidden="true">×</span>
          </button>
        ))}
        {!off && <span class="hs-soft">none: shift-click a small map</span>}
        {off && (
          <Switch
            label="How heads are switched off" value={options.how}
            choices={WAYS.map((way) => [way, way, ABOUT[way]] as const)}
            onPick={(how) => store.set({ how: how === "zero" ? undefined : how })}
          />
        )}
      </div>
      {off && <p class="hs-small">{ABOUT[options.how]}.</p>}
    </>
  );
}

/** For models that predict nothing: heads can be switched off all the same. */
export function OffCard() {
  return (
    <section class="hs-block" aria-label="Heads off">
      <div class="hs-title">
        <h2>No predictions</h2>
      </div>
      <OffBar />
      <p class="hs-live-note">
        This model was loaded without a language-model head and without a classifier. Switch heads off to see how
        later maps change.
      </p>
    </section>
  );
}

function title(kind: string, found: Prediction | null, tokens: string[]): string {
  if (kind === "class") return found?.score ? "Score" : "Class";
  const token = found ? tokens[found.at] : undefined;
  if (kind === "masked") return token ? `Prediction at ${token}` : "Prediction";
  return token ? `Next token after “${token}”` : "Next token";
}

function Table({ found, off }: { found: Prediction; off: string[] }) {
  const most = Math.max(...found.choices.flatMap((one) => [Math.abs(one.before), Math.abs(one.after)]), 1e-9);
  const shown = (value: number) => (found.score ? number(value) : share(value));
  return (
    <table class="hs-live-table">
      <thead>
        <tr>
          <th>{found.at < 0 ? "class" : "token"}</th>
          <th colSpan={2}>all heads on</th>
          {off.length > 0 && <th colSpan={2}>{listed(off)} off</th>}
          {off.length > 0 && <th class="hs-num">change</th>}
        </tr>
      </thead>
      <tbody>
        {found.choices.map((one) => (
          <tr key={one.id}>
            <th scope="row"><bdi>{quoted(one.name)}</bdi></th>
            <td class="hs-live-bar"><Bar share={one.before / most} /></td>
            <td class="hs-num">{shown(one.before)}</td>
            {off.length > 0 && <td class="hs-live-bar"><Bar share={one.after / most} off /></td>}
            {off.length > 0 && <td class="hs-num">{shown(one.after)}</td>}
            {off.length > 0 && <td class="hs-num hs-soft">{found.score ? number(one.after - one.before) : factor(one)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Bar({ share, off }: { share: number; off?: boolean }) {
  return (
    <span class={off ? "hs-live-share hs-live-share-off" : "hs-live-share"}>
      <i style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
    </span>
  );
}

function share(value: number): string {
  return value < 0.001 ? "< 0.1 %" : percent(value, 1);
}

/** How many times as likely. */
export function factor({ before, after }: Pick<Choice, "before" | "after">): string {
  if (!(before > 0)) return "–";
  const times = after / before;
  return `× ${times >= 1000 ? "> 1000" : number(times, Math.min(placesOf(times), 2))}`;
}

/** The most likely before, and how far the whole distribution moves. */
function summary(found: Prediction, off: string[]): string {
  const before = [...found.choices].sort((a, b) => b.before - a.before)[0];
  const after = [...found.choices].sort((a, b) => b.after - a.after)[0];
  if (!before || !after) return "";
  const heads = `With ${listed(off)} off`;
  if (found.score) return `${heads} the score goes from ${number(before.before)} to ${number(before.after)}.`;
  const [was, is] = [share(before.before).replace(" %", ""), share(before.after)];
  const verb = before.after < before.before ? "falls" : "rises";
  const moved = `“${before.name}” ${verb} from ${was} to ${is}`;
  const first = after.id === before.id ? "" : `, and “${after.name}” comes first`;
  return `${heads}, ${moved}${first}. KL ${number(found.divergence)} nats.`;
}
