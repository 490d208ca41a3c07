import { useEffect, useRef } from "preact/hooks";

import type { Atlas } from "../../data/atlas";
import { layersAcross } from "../../components/grid-layout";
import { family, fill, isRole } from "../../families";
import { percent } from "../../format";
import { type Store, useStore } from "../../store";
import { surveyed } from "./order";

/** Name, families, what the head does and how that is known, where it is in the model. */
export function Top({ place }: { place: number }) {
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
          {leadOf(atlas, place)}
        </p>
        {text.evidence && <p class="hs-head-evidence">{text.evidence}</p>}
      </div>
      <div class="hs-head-where">
        <MiniGrid place={place} />
        <Neighbours place={place} />
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

/** All heads, this one in a frame. Arrow keys walk over them. */
function MiniGrid({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const canvas = useRef<HTMLCanvasElement>(null);
  const flat = layersAcross(atlas);
  const [columns, rows] = flat ? [atlas.layers, atlas.heads] : [atlas.heads, atlas.layers];
  const across = Math.max(2, Math.min(14, Math.floor(168 / columns)));
  const up = Math.max(2, Math.min(10, Math.floor(160 / rows)));
  const [width, height] = [across * columns + 3, up * rows + 3];
  const dark = store.dark.value;
  useEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || !canvas.current) return;
    const dense = Math.min(devicePixelRatio || 1, 3);
    canvas.current.width = width * dense;
    canvas.current.height = height * dense;
    pen.setTransform(dense, 0, 0, dense, 1.5 * dense, 1.5 * dense);
    const gap = across > 4 && up > 4 ? 1 : 0;
    for (let one = 0; one < atlas.size; one++) {
      const [x, y] = corner(atlas, one, across, up);
      pen.fillStyle = fill(atlas.family(one) || "broad", atlas.excess(one), dark);
      pen.fillRect(x, y, across - gap, up - gap);
    }
    const [x, y] = corner(atlas, place, across, up);
    pen.strokeStyle = getComputedStyle(canvas.current).color;
    pen.lineWidth = 1.5;
    pen.strokeRect(x - 0.5, y - 0.5, across, up);
  }, [atlas, place, dark, across, up]);
  return (
    <canvas
      ref={canvas}
      class="hs-minigrid"
      style={{ width: `${width}px`, height: `${height}px` }}
      tabindex={0}
      role="application"
      aria-label={`Head ${atlas.name(place)} among all heads. Arrow keys open its neighbours.`}
      onKeyDown={(event) => walk(event, store, place)}
      onClick={(event) => {
        const box = canvas.current!.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left - 1.5) / across);
        const row = Math.floor((event.clientY - box.top - 1.5) / up);
        const [head, layer] = flat ? [row, column] : [column, atlas.layers - 1 - row];
        if (head >= 0 && head < atlas.heads && layer >= 0 && layer < atlas.layers) {
          open(store, layer * atlas.heads + head);
        }
      }}
    />
  );
}

function corner(atlas: Atlas, place: number, across: number, up: number): [number, number] {
  const [layer, head] = [Math.floor(place / atlas.heads), place % atlas.heads];
  if (layersAcross(atlas)) return [layer * across, head * up];
  return [head * across, (atlas.layers - 1 - layer) * up];
}

function walk(event: KeyboardEvent, store: Store, place: number): void {
  const atlas = store.atlas!;
  const steps = layersAcross(atlas)
    ? { ArrowLeft: -atlas.heads, ArrowRight: atlas.heads, ArrowUp: -1, ArrowDown: 1 }
    : { ArrowLeft: -1, ArrowRight: 1, ArrowUp: atlas.heads, ArrowDown: -atlas.heads };
  const step = steps[event.key as keyof typeof steps];
  if (step === undefined) return;
  event.preventDefault();
  const next = place + step;
  if (next >= 0 && next < atlas.size) open(store, next, true);
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

/** What a head does, in a few words, for tooltips. */
export function hint(atlas: Atlas, place: number): string {
  const id = atlas.family(place);
  const excess = atlas.excess(place);
  const more =
    isRole(id) && Number.isFinite(excess) ? `, ${percent(excess, 0)} over even attention` : "";
  const role = id ? `: ${family(id).title.toLowerCase()}${more}` : "";
  return `Head ${atlas.name(place)} (${atlas.zeroBased(place)})${role}`;
}

/** A link to a head that works with and without an address. */
export function HeadLink(props: {
  place: number;
  title?: string;
  children: preact.ComponentChildren;
}) {
  const store = useStore();
  const name = store.atlas!.name(props.place);
  return (
    <a
      href={`#/head/${name}`}
      title={props.title ?? hint(store.atlas!, props.place)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        open(store, props.place);
      }}
    >
      {props.children}
    </a>
  );
}
