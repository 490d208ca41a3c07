import { useMemo, useRef } from "preact/hooks";

import { HeadGrid } from "../components/grid";
import { gridLayout, headOrders } from "../components/grid-layout";
import { FamilyMark, Legend } from "../components/legend";
import { HeadLink } from "../components/link";
import { SaveMenu } from "../components/save";
import { type Option, Select } from "../components/select";
import { useWidth } from "../components/measure";
import { TrackLines } from "../components/tracklines";
import type { Atlas } from "../data/atlas";
import { field, unitText } from "../data/fields";
import {
  appearances,
  atCheckpoint,
  checkpointOf,
  checkpointText,
  colouringAt,
  linesOver,
} from "../data/track";
import type { Track } from "../data/types";
import { family } from "../families";
import { number, plural } from "../format";
import { useStore } from "../store";

const EXCESS = "above chance at the role of the last checkpoint, share 0–1";

/** A training: the grid of heads at one checkpoint, a slider, and when roles appear. */
export function TrainingView() {
  const store = useStore();
  const atlas = store.atlas!;
  const { track } = atlas.document;
  const choices = useMemo(() => (track ? choicesOf(atlas, track) : []), [atlas, track]);
  if (!track) {
    return (
      <p class="hs-empty">
        These results are of one model. To follow a training:{" "}
        <code>headscope track FOLDER... CORPUS</code>
      </p>
    );
  }
  const first = choices[0]?.id ?? "role";
  const asked = store.option("colour") ?? first;
  const colour = choices.some((one) => one.id === asked) ? asked : first;
  const at = checkpointOf(store.option("at"), track.names.length);
  return (
    <div class="hs-training">
      <div class="hs-tools">
        <Slider track={track} at={at} />
        <Select
          label="Colour"
          value={colour}
          options={choices}
          onPick={(id) => store.set({ colour: id === first ? undefined : id })}
        />
      </div>
      <div class="hs-columns">
        <div class="hs-wide">
          <Grid atlas={atlas} colour={colour} at={at} />
          <Lines atlas={atlas} colour={colour} at={at} />
        </div>
        <aside class="hs-side">{atlas.hasRoles && <Appear atlas={atlas} at={at} />}</aside>
      </div>
    </div>
  );
}

function choicesOf(atlas: Atlas, track: Track): Option[] {
  const found = track.statistics.flatMap((id) => {
    const one = field(atlas, id);
    return one ? [{ id, title: one.title, group: one.group, words: one.query }] : [];
  });
  const roles = { id: "role", title: "main role", group: "Main role" };
  return atlas.arrays["track/family"] ? [roles, ...found] : found;
}

/** Checkpoints, one after the other. */
function Slider({ track, at }: { track: Track; at: number }) {
  const store = useStore();
  const last = track.names.length - 1;
  const go = (to: number) =>
    store.set({ at: to === last ? undefined : String(Math.min(Math.max(to, 0), last) + 1) });
  return (
    <span class="hs-slider">
      <button
        type="button"
        class="hs-step"
        aria-label="Previous checkpoint"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        ‹
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Checkpoint"
        aria-valuetext={checkpointText(track, at)}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        class="hs-step"
        aria-label="Next checkpoint"
        disabled={at === last}
        onClick={() => go(at + 1)}
      >
        ›
      </button>
      <output title={track.names[at]}>
        <b>{checkpointText(track, at)}</b>{" "}
        <span class="hs-soft">
          {at + 1} of {track.names.length}
        </span>
      </output>
    </span>
  );
}

interface Shown {
  atlas: Atlas;
  colour: string;
  at: number;
}

function Grid({ atlas, colour, at }: Shown) {
  const store = useStore();
  const dark = store.dark.value;
  const [block, room] = useWidth<HTMLDivElement>();
  const layout = useMemo(() => gridLayout(atlas, room), [atlas, room]);
  const orders = useMemo(() => headOrders(atlas), [atlas]);
  const then = useMemo(() => atCheckpoint(atlas, at), [atlas, at]);
  const colouring = useMemo(
    () => colouringAt(atlas, colour, at, dark),
    [atlas, colour, at, dark],
  );
  return (
    <div ref={block} class="hs-grid-block">
      {room > 0 && <HeadGrid {...{ colouring, layout, orders, dark }} atlas={then} numbered />}
      <div class="hs-keys-row hs-small">
        <Legend atlas={then} colouring={colouring} dark={dark} marks={layout.marks} />
        <SaveMenu
          name={`heads-checkpoint-${at + 1}`}
          chart={() =>
            block.current?.querySelector<SVGSVGElement | HTMLCanvasElement>("svg.hs-grid, canvas")
          }
          data={() => ({
            columns: ["head", "main role", colouring.field?.title ?? "above chance"],
            rows: Array.from({ length: atlas.size }, (_, place) => [
              atlas.name(place),
              then.family(place),
              colouring.value(place),
            ]),
          })}
        />
      </div>
    </div>
  );
}

function Lines({ atlas, colour, at }: Shown) {
  const store = useStore();
  const [block, room] = useWidth<HTMLDivElement>();
  const chart = useRef<HTMLDivElement>(null);
  const values = useMemo(() => linesOver(atlas, colour), [atlas, colour]);
  const about = colour === "role" ? undefined : field(atlas, colour);
  const unit = about ? `${about.title}, ${unitText(about)}` : EXCESS;
  const track = atlas.document.track!;
  const focus = store.focus.value;
  return (
    <section ref={block} class="hs-training-lines">
      <div class="hs-title">
        <h2>Over training</h2>
        <span>{unit}</span>
        <SaveMenu
          name="training"
          chart={() => chart.current?.querySelector("svg")}
          data={() => ({
            columns: ["head", ...track.names],
            rows: Array.from({ length: atlas.size }, (_, place) => [
              atlas.name(place),
              ...track.names.map((_, one) => values[one * atlas.size + place] ?? null),
            ]),
          })}
        />
      </div>
      <div ref={chart}>
        {room > 0 && (
          <TrackLines {...{ atlas, values, unit, at }} width={room} dark={store.dark.value} />
        )}
      </div>
      <p class="hs-small hs-soft">
        {focus === null
          ? "One line per head, coloured by its role at the last checkpoint. Point at a line or a cell."
          : `Head ${atlas.name(focus)}: ${family(atlas.family(focus)).title.toLowerCase()} at the last checkpoint`}
      </p>
    </section>
  );
}

/** Main roles of the last checkpoint, by when they appeared for good. */
function Appear({ atlas, at }: { atlas: Atlas; at: number }) {
  const store = useStore();
  const track = atlas.document.track!;
  const found = useMemo(() => appearances(track), [track]);
  const count = found.reduce((all, one) => all + one.rows.length, 0);
  return (
    <section class="hs-appear" aria-label="When roles appear">
      <h2>When roles appear</h2>
      <p class="hs-small hs-soft">
        The first checkpoint from which on a head keeps the main role that it has at the end: at
        least {track.least} above chance, by a corrected test.{" "}
        {count ? `${plural(count, "head")} of ${atlas.size} have a role at the end.` : ""}
      </p>
      {!found.length && <p>No head has a role at the last checkpoint.</p>}
      <dl>
        {found.map(({ checkpoint, rows }) => (
          <div key={checkpoint} class={checkpoint === at ? "hs-appear-now" : undefined}>
            <dt>
              <button
                type="button"
                class="hs-appear-step"
                title={`Show ${track.names[checkpoint]}`}
                onClick={() => store.set({ at: String(checkpoint + 1) })}
              >
                {checkpointText(track, checkpoint)}
              </button>
            </dt>
            {rows.map((row) => (
              <dd key={row.head + row.role}>
                <FamilyMark id={row.family} dark={store.dark.value} />
                <HeadLink place={atlas.place(row.head) ?? 0} />
                <span class="hs-soft">
                  {family(row.family).title.toLowerCase()} {number(row.last, 2)}
                </span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  );
}
