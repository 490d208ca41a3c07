import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";

import type { PaperChart, Statistic } from "../data/types";
import { family, pointFill } from "../families";
import { number, shown } from "../format";
import { useStore } from "../store";

const WIDTH = 304;
const HEIGHT = 196;
const LEFT = 40;
const BOTTOM = 24;
const TOP = 28;

/** One panel per statistic: x = layer, one point per head, a line through the layers' means. */
export function LayerPoints({ chart }: { chart: PaperChart }) {
  const store = useStore();
  const atlas = store.atlas!;
  const panels = chart.statistics
    .map((id) => atlas.statistic(id))
    .filter((one): one is { at: number; about: Statistic } => one !== undefined);
  const columns = Math.min(panels.length, 3);
  const rows = Math.ceil(panels.length / columns);
  const share = panels.every(({ about }) => about.kind === "share");
  const all = panels.flatMap(({ at, about }) => [
    ...Array.from(atlas.values(at)).filter((value) => !Number.isNaN(value)),
    ...(about.reference === undefined || about.reference === null ? [] : [about.reference]),
  ]);
  const [least, most] = extent(all) as [number, number];
  const y = scaleLinear()
    .domain(share ? [0, Math.max(most, 0.1)] : [Math.min(least, 0), most])
    .nice()
    .range([HEIGHT - BOTTOM, TOP]);
  const x = scaleLinear()
    .domain([0.5, atlas.layers + 0.5])
    .range([LEFT, WIDTH - 8]);
  const ticks = layerTicks(atlas.layers);
  return (
    <svg
      class="hs-panels"
      viewBox={`0 0 ${columns * WIDTH} ${rows * HEIGHT}`}
      style={{ maxWidth: `${columns * WIDTH}px` }}
      role="img"
      aria-label={`${chart.title}, ${panels.length} panels`}
    >
      {panels.map(({ at, about }, index) => (
        <g
          key={about.id}
          transform={`translate(${(index % columns) * WIDTH},${Math.floor(index / columns) * HEIGHT})`}
        >
          <text class="hs-panel-title" x={LEFT} y={14}>
            {shorten(about.title)}
            <title>{about.title}</title>
          </text>
          {y.ticks(4).map((tick) => (
            <g key={tick}>
              <line class="hs-rule" x1={LEFT} x2={WIDTH - 8} y1={y(tick)} y2={y(tick)} />
              <text class="hs-tick" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
                {number(tick, tick % 1 === 0 ? 0 : tick < 0.1 ? 2 : 1)}
              </text>
            </g>
          ))}
          {ticks.map((layer) => (
            <text key={layer} class="hs-tick" x={x(layer)} y={HEIGHT - 6} text-anchor="middle">
              {atlas.document.model.numbers[layer - 1]}
            </text>
          ))}
          {typeof about.reference === "number" && (
            <line
              class="hs-reference"
              x1={LEFT}
              x2={WIDTH - 8}
              y1={y(about.reference)}
              y2={y(about.reference)}
            />
          )}
          <Means at={at} x={x} y={y} />
          {Array.from({ length: atlas.size }, (_, place) => {
            const value = atlas.values(at)[place]!;
            if (Number.isNaN(value)) return null;
            const id = atlas.family(place);
            return (
              <circle
                key={place}
                class="hs-dot"
                cx={x(Math.floor(place / atlas.heads) + 1)}
                cy={y(value)}
                r={3.2}
                fill={pointFill(id, atlas.excess(place), store.dark.value)}
                onClick={() => store.go(`head/${atlas.name(place)}`)}
              >
                <title>
                  {`${atlas.name(place)}: ${shown(value, about)}${id ? `, ${family(id).title.toLowerCase()}` : ""}`}
                </title>
              </circle>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

type Scale = (value: number) => number;

function Means({ at, x, y }: { at: number; x: Scale; y: Scale }) {
  const atlas = useStore().atlas!;
  const values = atlas.values(at);
  const points: string[] = [];
  for (let layer = 0; layer < atlas.layers; layer++) {
    const row = Array.from(values.subarray(layer * atlas.heads, (layer + 1) * atlas.heads));
    const known = row.filter((value) => !Number.isNaN(value));
    if (!known.length) continue;
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
    points.push(`${x(layer + 1)},${y(mean)}`);
  }
  return <polyline class="hs-mean" points={points.join(" ")} />;
}

/** Which layers get a number: at most about eight. */
export function layerTicks(layers: number): number[] {
  const step = Math.ceil(layers / 8);
  return Array.from({ length: layers }, (_, at) => at + 1).filter((layer) => layer % step === 0 || layer === 1);
}

function shorten(title: string): string {
  const text = title.replace(/^attention to /, "to ").replace(/^entropy of /, "");
  return text.length > 44 ? `${text.slice(0, 42)}…` : text;
}
