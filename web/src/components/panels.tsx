import { useMemo } from "preact/hooks";

import { fieldColouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { extent, type Field, field, joined } from "../data/fields";
import type { HeadsChart, PaperChart, Statistic } from "../data/types";
import { family, pointFill } from "../families";
import { plusMinus, shown } from "../format";
import { type Store, useStore } from "../store";
import { linear, Upward } from "./axis";
import { fitNames } from "./dot";
import { GridLabels } from "./grid";
import { type Arrangement, layersAcross, smallGrid } from "./grid-layout";
import { Ramp } from "./legend";
import { Cells, type Point, Points } from "./many";

export type PanelsChart = PaperChart | HeadsChart;

/** Charts of heads: one panel per statistic. */
export function Panels({ chart }: { chart: PanelsChart }) {
  const store = useStore();
  const parts = useMemo(() => partsOf(store, chart), [store, chart]);
  if (!parts.length) return null;
  return chart.kind === "layers" ? (
    <LayerPanels {...{ chart, parts }} />
  ) : (
    <GridPanels {...{ chart, parts }} />
  );
}

/** What the panels of a chart show: statistics of the atlas, or numbers of its own. */
export function partsOf(store: Store, chart: PanelsChart): Field[] {
  const atlas = store.atlas!;
  if ("statistics" in chart) return chart.statistics.flatMap((id) => field(atlas, id) ?? []);
  const arrays = store.document!.arrays;
  const row = (name: string, at: number) =>
    arrays[`chart/${chart.id}${name}`]?.subarray(at * atlas.size, (at + 1) * atlas.size);
  return chart.parts.map((title, at) => ({
    ...{ id: title, query: "", group: "", title, unit: chart.unit, kind: chart.value },
    values: row("", at)!,
    low: row("/low", at),
    high: row("/high", at),
    framed: row("/framed", at),
    diverging: chart.diverging,
  }));
}

interface Props {
  chart: PanelsChart;
  parts: Field[];
}

interface FrameProps extends Props {
  columns: number;
  width: number;
  height: number;
  left: number;
  panel(one: Field, at: number): preact.ComponentChildren;
}

/** Panels in rows, each below its title. */
function Frame({ chart, parts, columns, width, height, left, panel }: FrameProps) {
  const store = useStore();
  const across = Math.min(columns, parts.length);
  const rows = Math.ceil(parts.length / across);
  const font = getComputedStyle(store.root).fontFamily || "sans-serif";
  const titles = fitNames(parts.map(panelTitle), width - left - 8, 12, font);
  return (
    <svg
      class="hs-panels"
      viewBox={`0 0 ${across * width} ${rows * height}`}
      style={{ maxWidth: `${across * width}px` }}
      role="group"
      aria-label={`${chart.title}, ${parts.length} panels`}
    >
      {parts.map((one, at) => (
        <g
          key={one.id}
          transform={`translate(${(at % across) * width},${Math.floor(at / across) * height})`}
        >
          {parts.length > 1 && (
            <text class="hs-panel-title" x={left} y={14}>
              {titles[at]}
              <title>{one.title}</title>
            </text>
          )}
          {panel(one, at)}
        </g>
      ))}
    </svg>
  );
}

function panelTitle({ title }: Field): string {
  return title
    .replace(/^(largest )?attention (?=to |from |between )/, "")
    .replace(/^(probe for|entropy of) /, "")
    .replace(/: .*$/, "");
}

function said(atlas: Atlas, one: Field, place: number): string {
  const id = atlas.family(place);
  const [low = NaN, high = NaN] = [one.low?.[place], one.high?.[place]];
  const half = Number.isNaN(high - low) ? "" : ` ${plusMinus(low, high, one.kind)}`;
  const value = shown(one.values[place] ?? NaN, one as Pick<Statistic, "kind">) + half;
  return `${atlas.name(place)}: ${value}${id ? `, ${family(id).title.toLowerCase()}` : ""}`;
}

/** One small grid of heads per statistic. */
function GridPanels({ chart, parts }: Props) {
  const store = useStore();
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const shared = !("shared" in chart) || chart.shared;
  const colourings = useMemo(() => {
    const one = { ...joined(parts), diverging: parts[0]!.diverging };
    const all = fieldColouring(one, dark);
    return parts.map((part) => (shared ? all : fieldColouring(part, dark)));
  }, [parts, dark, shared]);
  const across = layersAcross(atlas);
  const cells = across ? atlas.layers : atlas.heads;
  const columns = parts.length === 1 ? 1 : cells > 16 ? 3 : 5;
  const [left, top, gap] = [22, across ? 36 : 24, 24];
  const most = parts.length === 1 ? 28 : 16;
  const room = Math.floor((960 / columns - left - gap) / cells);
  const cell = Math.max(2, Math.min(most, room));
  const arrangement = smallGrid(atlas, { cell: [cell, cell], left, top, across });
  const { layout } = arrangement;
  const height = layout.height + gap;
  return (
    <>
      <Frame
        {...{ chart, parts, columns, left, height }}
        width={Math.max(layout.width + gap, 120)}
        panel={(one, at) => (
          <>
            <GridLabels numbers={atlas.document.model.numbers} layout={layout} numbered={false} bare />
            <Cells
              arrangement={arrangement}
              colour={(place) => {
                const value = one.values[place]!;
                return Number.isNaN(value) ? "" : colourings[at]!.at(value);
              }}
              by={[one, colourings[at]]}
              label={(place) => said(atlas, one, place)}
            >
              <path class="hs-framed" d={framesOf(arrangement, one)} />
            </Cells>
            {!shared && (
              <text class="hs-tick" x={left} y={layout.height + 12}>
                {colourings[at]!.domain.map((end) => shown(end, one)).join(" to ")}
              </text>
            )}
          </>
        )}
      />
      <p class="hs-scale hs-small">
        {shared && <Ramp colouring={colourings[0]!} />}{" "}
        <span class="hs-quiet">
          {parts.length > 1 && (shared ? "one scale for all grids; " : "each grid has its own scale; ")}
          {across ? "layers from left to right, heads downward" : "layers upward, heads across"}
        </span>
      </p>
    </>
  );
}

function framesOf(arrangement: Arrangement, { framed }: Field): string {
  const places = framed ? Array.from(framed).flatMap((one, place) => (one ? place : [])) : [];
  return places
    .map((place) => arrangement.box(place))
    .map(([x, y, width, height]) => `M${x} ${y}h${width}v${height}h${-width}z`)
    .join("");
}

const [WIDTH, HEIGHT] = [304, 196];
const [LEFT, RIGHT, TOP, BOTTOM] = [40, WIDTH - 8, 28, HEIGHT - 24];

/** One panel per statistic: x = layer, one point per head, a line through the layers' means. */
function LayerPanels({ chart, parts }: Props) {
  const atlas = useStore().atlas!;
  const lines = "lines" in chart ? chart.lines : [];
  const references = parts.flatMap((one) => one.reference ?? []);
  for (const { values } of lines) references.push(...values.flatMap((one) => one ?? []));
  const [low, high] = extent([...joined(parts).values as Float32Array, ...references]);
  const share = parts.every(({ kind }) => kind === "share");
  const ends: [number, number] = share ? [0, Math.max(high, 0.1)] : [Math.min(low, 0), high];
  const y = linear(ends, [BOTTOM, TOP]);
  const x = linear([0.5, atlas.layers + 0.5], [LEFT, RIGHT], { nice: false });
  return (
    <Frame
      {...{ chart, parts }}
      columns={3}
      width={WIDTH}
      height={HEIGHT}
      left={LEFT}
      panel={(one) => (
        <>
          <Upward axis={y} from={LEFT} to={RIGHT} />
          {layerTicks(atlas.layers).map((layer) => (
            <text key={layer} class="hs-tick" x={x.at(layer)} y={HEIGHT - 6} text-anchor="middle">
              {atlas.document.model.numbers[layer - 1]}
            </text>
          ))}
          {one.reference !== undefined && (
            <path class="hs-reference" d={`M${LEFT} ${y.at(one.reference)}H${RIGHT}`} />
          )}
          {lines.map(({ name, values }) => (
            <g key={name}>
              <path class="hs-reference" d={lineOf(values, x.at, y.at)} />
              <text class="hs-tick" x={RIGHT} y={y.at(values.at(-1) ?? NaN) - 4} text-anchor="end">
                {name}
              </text>
            </g>
          ))}
          <Heads one={one} x={x.at} y={y.at} />
        </>
      )}
    />
  );
}

type Scale = (value: number) => number;

/** The room that the heads of a layer take, in layers. */
const SPREAD = 0.5;

/** A line through a value per layer, half a layer beyond the first and the last. */
function lineOf(values: (number | null)[], x: Scale, y: Scale): string {
  const at = (layer: number, value: number) => `${x(layer)} ${y(value)}`;
  return values
    .flatMap((value, layer) =>
      value === null ? [] : `M${at(layer + 0.5, value)}L${at(layer + 1.5, value)}`,
    )
    .join("");
}

function Heads({ one, x, y }: { one: Field; x: Scale; y: Scale }) {
  const store = useStore();
  const atlas = store.atlas!;
  const points: Point[] = [];
  const means: string[] = [];
  for (let layer = 0; layer < atlas.layers; layer++) {
    let [sum, known] = [0, 0];
    for (let head = 0; head < atlas.heads; head++) {
      const place = layer * atlas.heads + head;
      const value = one.values[place]!;
      if (Number.isNaN(value)) continue;
      // side by side, so that equal ones can be seen
      const aside = SPREAD * (head / Math.max(atlas.heads - 1, 1) - 0.5);
      points.push({ place, x: x(layer + 1 + aside), y: y(value) });
      sum += value;
      known++;
    }
    if (known) means.push(`${x(layer + 1)},${y(sum / known)}`);
  }
  return (
    <>
      <polyline class="hs-mean" points={means.join(" ")} />
      <Points
        points={points}
        radius={3.2}
        colour={(place) => pointFill(atlas.family(place), atlas.excess(place), store.dark.value)}
        area={{ x: LEFT, y: TOP - 6, width: RIGHT - LEFT + 6, height: BOTTOM - TOP + 12 }}
        label={(place) => said(atlas, one, place)}
      />
    </>
  );
}

/** Which layers get a number: at most about eight. */
export function layerTicks(layers: number): number[] {
  const step = Math.ceil(layers / 8);
  return Array.from({ length: layers }, (_, at) => at + 1).filter(
    (layer) => layer % step === 0 || layer === 1,
  );
}
