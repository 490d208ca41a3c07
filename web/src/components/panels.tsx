import { useMemo } from "preact/hooks";

import { fieldColouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { extent, type Field, field, joined } from "../data/fields";
import type { PaperChart, Statistic } from "../data/types";
import { family, pointFill } from "../families";
import { shown } from "../format";
import { useStore } from "../store";
import { linear, Upward } from "./axis";
import { fitNames } from "./dot";
import { GridLabels } from "./grid";
import { smallGrid } from "./grid-layout";
import { Ramp } from "./legend";
import { Cells, type Point, Points } from "./many";

/** The charts of a paper: one panel per statistic, all on one scale. */
export function Panels({ chart }: { chart: PaperChart }) {
  const atlas = useStore().atlas!;
  const parts = useMemo(
    () => chart.statistics.flatMap((id) => field(atlas, id) ?? []),
    [atlas, chart],
  );
  if (!parts.length) return null;
  return chart.kind === "layers" ? (
    <LayerPanels {...{ chart, parts }} />
  ) : (
    <GridPanels {...{ chart, parts }} />
  );
}

interface Props {
  chart: PaperChart;
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
          <text class="hs-panel-title" x={left} y={14}>
            {titles[at]}
            <title>{one.title}</title>
          </text>
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
  const value = shown(one.values[place] ?? NaN, one as Pick<Statistic, "kind">);
  return `${atlas.name(place)}: ${value}${id ? `, ${family(id).title.toLowerCase()}` : ""}`;
}

/** One small grid of heads per statistic. */
function GridPanels({ chart, parts }: Props) {
  const store = useStore();
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const colouring = useMemo(() => fieldColouring(joined(parts), dark), [parts, dark]);
  const columns = atlas.heads > 16 ? 3 : 5;
  const [left, top, gap] = [22, 24, 24];
  const cell = Math.max(2, Math.min(16, Math.floor((960 / columns - left - gap) / atlas.heads)));
  const arrangement = smallGrid(atlas, { cell: [cell, cell], left, top });
  const { layout } = arrangement;
  return (
    <>
      <Frame
        {...{ chart, parts, columns, left }}
        width={layout.width + gap}
        height={layout.height + gap}
        panel={(one) => (
          <>
            <GridLabels numbers={atlas.document.model.numbers} layout={layout} numbered={false} bare />
            <Cells
              arrangement={arrangement}
              colour={(place) => {
                const value = one.values[place]!;
                return Number.isNaN(value) ? "" : colouring.at(value);
              }}
              by={[one, colouring]}
              label={(place) => said(atlas, one, place)}
            />
          </>
        )}
      />
      <p class="hs-scale hs-small">
        <Ramp colouring={colouring} />{" "}
        <span class="hs-quiet">one scale for all grids; layers upward, heads across</span>
      </p>
    </>
  );
}

const [WIDTH, HEIGHT] = [304, 196];
const [LEFT, RIGHT, TOP, BOTTOM] = [40, WIDTH - 8, 28, HEIGHT - 24];

/** One panel per statistic: x = layer, one point per head, a line through the layers' means. */
function LayerPanels({ chart, parts }: Props) {
  const atlas = useStore().atlas!;
  const references = parts.flatMap((one) => one.reference ?? []);
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
          <Heads one={one} x={x.at} y={y.at} />
        </>
      )}
    />
  );
}

type Scale = (value: number) => number;

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
      points.push({ place, x: x(layer + 1), y: y(value) });
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
