import { useMemo, useRef } from "preact/hooks";

import { HeadCard } from "../components/card";
import { FamilyMark, Ramp } from "../components/legend";
import { SaveMenu } from "../components/save";
import { Scatter } from "../components/scatter";
import { QueryLine } from "../components/search";
import { Select } from "../components/select";
import { useWidth } from "../components/measure";
import { extent, field, type Field, fields, fieldText, spansDecades } from "../data/fields";
import { family } from "../families";
import { useStore } from "../store";
import { colourChoices, colouringOf } from "./atlas/colours";
import { HeadTable } from "./finder/table";
import { TopControl } from "./finder/top";

/** What the address says about axes, colour and size, and what can be chosen. */
function useFinder() {
  const store = useStore();
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const all = useMemo(() => fields(atlas), [atlas]);
  const pick = (name: string, fallback: string | undefined) =>
    field(atlas, store.option(name)) ?? field(atlas, fallback) ?? all[0]!;
  const x = pick("x", atlas.hasRoles ? "main:spread" : all[0]?.id);
  const y = pick("y", atlas.hasRoles ? "main:activity" : (all[1] ?? all[0])?.id);
  const size = field(atlas, store.option("size"));
  const colours = useMemo(() => colourChoices(atlas), [atlas]);
  const first = colours[0]?.id ?? "layer";
  const asked = store.option("colour") ?? first;
  const colour = colours.some((one) => one.id === asked) ? asked : first;
  const colouring = useMemo(() => colouringOf(atlas, colour, dark), [atlas, colour, dark]);
  const log = (store.option("log") ?? "").split(",");
  return { atlas, all, x, y, size, colours, first, colour, colouring, log };
}

type Finder = ReturnType<typeof useFinder>;

/** All heads by any two statistics; drag or ask to select, and read the selection as a table. */
export function FinderView() {
  const finder = useFinder();
  const shown = unique([finder.x, finder.y, finder.colouring.field, finder.size]);
  return (
    <div class="hs-finder">
      <div class="hs-tools">
        <QueryLine
          form="hs-query"
          label="Query"
          placeholder="Query: induction > 5 and entropy < 1.5, is:previous, layer 3-5"
        />
        <TopControl fields={finder.all} />
      </div>
      <Controls {...finder} />
      <div class="hs-columns">
        <Chart {...finder} shown={shown} />
        <aside class="hs-side">
          <HeadCard keys={false} />
        </aside>
      </div>
      <HeadTable fields={shown} />
    </div>
  );
}

/** Which statistics the axes, colours and sizes show. */
function Controls({ all, x, y, size, colours, first, colour, log }: Finder) {
  const store = useStore();
  const options = useMemo(
    () => all.map(({ id, title, group, query }) => ({ id, title, group, words: query })),
    [all],
  );
  const sizes = [{ id: "none", title: "the same" }, ...options];
  const or = (id: string, usual: string) => (id === usual ? undefined : id);
  return (
    <div class="hs-tools">
      <Select label="x" value={x.id} options={options} onPick={(id) => store.set({ x: id })} />
      <LogToggle name="x" of={x} log={log} />
      <Select label="y" value={y.id} options={options} onPick={(id) => store.set({ y: id })} />
      <LogToggle name="y" of={y} log={log} />
      <Select
        label="Colour"
        value={colour}
        options={colours}
        onPick={(id) => store.set({ colour: or(id, first) })}
      />
      <Select
        label="Size"
        value={size?.id ?? "none"}
        options={sizes}
        onPick={(id) => store.set({ size: or(id, "none") })}
      />
    </div>
  );
}

/** The scatter with its legend. */
function Chart({ atlas, x, y, size, colouring, log, shown }: Finder & { shown: Field[] }) {
  const svg = useRef<SVGSVGElement>(null);
  const [block, width] = useWidth<HTMLDivElement>();
  const height = Math.min(520, Math.max(320, width * 0.6));
  const logarithmic = (name: string, of: Field) => log.includes(name) && spansDecades(of.values);
  return (
    <div class="hs-wide" ref={block}>
      <div class="hs-title">
        <h2>All heads</h2>
        <span>drag to select, click to open</span>
        <SaveMenu name="finder" chart={() => svg.current} data={() => table(atlas, shown)} />
      </div>
      {width > 0 && (
        <Scatter
          {...{ atlas, x, y, colouring, size, width, height }}
          svgRef={svg}
          labels={width > 700 ? 28 : 14}
          logX={logarithmic("x", x)}
          logY={logarithmic("y", y)}
        />
      )}
      <div class="hs-keys-row hs-small">
        {size && <SizeKey of={size} />}
        {colouring.kind === "roles" ? (
          <Families />
        ) : (
          <span class="hs-key">
            <Ramp colouring={colouring} />
          </span>
        )}
      </div>
    </div>
  );
}

function unique(all: (Field | undefined)[]): Field[] {
  return [...new Map(all.flatMap((one) => (one ? [[one.id, one] as const] : []))).values()];
}

function table(atlas: NonNullable<ReturnType<typeof useStore>["atlas"]>, shown: Field[]) {
  return {
    columns: ["head", ...shown.map((one) => one.title)],
    rows: Array.from({ length: atlas.size }, (_, place) => [
      atlas.name(place),
      ...shown.map((one) => one.values[place] ?? null),
    ]),
  };
}

/** Only where values span more than two decades. */
function LogToggle({ name, of, log }: { name: string; of: Field; log: string[] }) {
  const store = useStore();
  if (!spansDecades(of.values)) return null;
  const on = log.includes(name);
  const next = on ? log.filter((one) => one !== name) : [...log, name];
  return (
    <button
      type="button"
      class="hs-button hs-toggle"
      aria-pressed={on}
      title={`Logarithmic ${name} axis`}
      onClick={() => store.set({ log: next.filter(Boolean).join(",") || undefined })}
    >
      log
    </button>
  );
}

/** What the sizes of points mean. */
function SizeKey({ of }: { of: Field }) {
  const [low, high] = extent(of.values);
  return (
    <span class="hs-key">
      <span>
        {of.short ?? of.title}: {fieldText(of, low)}
        <svg width="28" height="16" aria-hidden="true">
          <circle class="hs-size-key" cx="4" cy="8" r="2" />
          <circle class="hs-size-key" cx="18" cy="8" r="8" />
        </svg>
        {fieldText(of, high)}
      </span>
    </span>
  );
}

function Families() {
  const store = useStore();
  const atlas = store.atlas!;
  const present = new Set(Array.from({ length: atlas.size }, (_, place) => atlas.family(place)));
  return (
    <span class="hs-key">
      {atlas.document.families
        .filter((id) => present.has(id))
        .map((id) => (
          <span key={id}>
            <FamilyMark id={id} dark={store.dark.value} /> {family(id).title.toLowerCase()}
          </span>
        ))}
    </span>
  );
}
