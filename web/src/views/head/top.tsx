import { useMemo } from "preact/hooks";

import type { Atlas } from "../../data/atlas";
import { moved } from "../../components/grid";
import { layersAcross, smallGrid } from "../../components/grid-layout";
import { HeadLink, Prose, hint } from "../../components/link";
import { Cells } from "../../components/many";
import { saveDrawing } from "../../components/save";
import { family, fill, isRole } from "../../families";
import { type Store, useStore } from "../../store";
import { surveyed } from "./order";

/** Name, families, what the head does and how that is known, where it is in the model. */
export function Top({ place, card }: { place: number; card?: string }) {
  const store = useStore();
  const atlas = store.atlas!;
  const text = atlas.document.heads[place] ?? { lead: "", evidence: "" };
  return (
    <header class="hs-head-top">
      <div class="hs-head-name">
        <h1>
          {atlas.name(place)}
          <span title="The same head counted from zero: layer, then head">
            {atlas.zeroBased(place)}
          </span>
        </h1>
        <Chips place={place} />
      </div>
      <div class="hs-head-said">
        <p class="hs-head-lead" dir="auto">
          <Prose text={leadOf(atlas, place)} />
        </p>
        {text.evidence && (
          <p class="hs-head-evidence">
            <Prose text={text.evidence} />
          </p>
        )}
      </div>
      <div class="hs-head-where">
        <MiniGrid place={place} />
        <Neighbours place={place} />
        {card && <SaveCard card={card} name={`${atlas.document.model.name}-${atlas.name(place)}`} />}
      </div>
    </header>
  );
}

/** The sentence that introduces a head; what was not measured is never "nothing stands out". */
export function leadOf(atlas: Atlas, place: number): string {
  if (!surveyed(atlas)) return "What this head does was not measured.";
  return atlas.document.heads[place]?.lead || plainLead(atlas, place);
}

function plainLead(atlas: Atlas, place: number): string {
  const role = atlas.family(place);
  if (!role) return `Head ${atlas.name(place)} of ${atlas.document.model.name}.`;
  return isRole(role)
    ? `${family(role).title}.`
    : `${family(role).title}: no role passes its test.`;
}

/** A picture of the head to share, as "headscope head FILE 3-9 -o card.png" draws it. */
function SaveCard({ card, name }: { card: string; name: string }) {
  const size = { width: 1200, height: 630, ground: "#FFFFFF" };
  return (
    <button
      type="button"
      class="hs-save-button"
      title="Save a picture of this head to share: its sentence, its best example, its place"
      onClick={() => void saveDrawing(card, name.replace(/[^\w.-]+/g, "-"), size)}
    >
      Save card
    </button>
  );
}

/** The families of the main role and of a second one that is close. */
function Chips({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  if (!atlas.hasRoles) return null;
  const dark = store.dark.value;
  const found = [atlas.family(place), atlas.second(place)].filter(
    (one, at, all) => one && all.indexOf(one) === at,
  );
  return (
    <p class="hs-chips">
      {found.map((id) => (
        <span key={id} class="hs-chip">
          <Swatch id={id} excess={1} dark={dark} />
          {family(id).title}
        </span>
      ))}
      {Boolean(atlas.number("roles/borderline", place)) && (
        <span
          class="hs-chip hs-soft"
          title="Drawing other documents often gives this head another role."
        >
          borderline
        </span>
      )}
    </p>
  );
}

/** A square in a family's colour with its symbol. */
export function Swatch({ id, excess, dark }: { id: string; excess: number; dark: boolean }) {
  const colour = fill(id, excess, dark);
  return (
    <span
      class={id === "rests" ? "hs-swatch hs-swatch-rests" : "hs-swatch"}
      style={{ background: colour }}
      aria-hidden="true"
    />
  );
}

/** All heads, this one in a frame. Arrow keys open its neighbours. */
function MiniGrid({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const across = layersAcross(atlas);
  const [columns, rows] = across ? [atlas.layers, atlas.heads] : [atlas.heads, atlas.layers];
  const wide = Math.max(2, Math.min(14, Math.floor(168 / columns)));
  const tall = Math.max(2, Math.min(10, Math.floor(160 / rows)));
  const arrangement = useMemo(
    () => smallGrid(atlas, { cell: [wide, tall], left: 1.5, top: 1.5, across }),
    [atlas, wide, tall],
  );
  const { width, height } = arrangement.layout;
  const [x, y, w, h] = arrangement.box(place);
  const dark = store.dark.value;
  const step = (from: number, key: string) => {
    const next = moved(arrangement, from, key);
    if (next >= 0 && next !== from) open(store, next, true);
    return next;
  };
  return (
    <svg class="hs-minigrid" width={width + 1.5} height={height + 1.5}>
      <Cells
        arrangement={arrangement}
        colour={(one) => fill(atlas.family(one) || "broad", atlas.excess(one), dark)}
        by={[dark]}
        label={(one) => hint(atlas, one)}
        pick={(one) => open(store, one)}
        start={place}
        about="Arrow keys open its neighbours."
        step={step}
      >
        <path class="hs-outline" d={`M${x - 1} ${y - 1}h${w + 2}v${h + 2}h${-w - 2}z`} />
      </Cells>
    </svg>
  );
}

/** Show another head with the same options. */
export function open(store: Store, place: number, replace = false): void {
  store.go(`head/${store.atlas!.name(place)}`, store.route.value.options, replace);
}

/** Links to the heads before and after. */
function Neighbours({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const link = (other: number, words: (name: string) => [string, string], key: string) => {
    if (other < 0 || other >= atlas.size) return <span />;
    const name = atlas.name(other);
    const [before, after] = words(name);
    return (
      <HeadLink place={other} title={`${hint(atlas, other)} (key ${key})`}>
        {before && <kbd>{before}</kbd>} {name} {after && <kbd>{after}</kbd>}
      </HeadLink>
    );
  };
  return (
    <nav class="hs-neighbours" aria-label="Neighbouring heads">
      {link(place - 1, () => ["←", ""], "[")}
      {link(place + 1, () => ["", "→"], "]")}
    </nav>
  );
}
