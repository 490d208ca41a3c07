import { extent } from "d3-array";

import type { PaperChart, Statistic } from "../data/types";
import { mix } from "../families";
import { shown } from "../format";
import { useStore } from "../store";

const LEFT = 22;
const TOP = 24;
const GAP = 24;

/** One small grid of heads per statistic, all on one scale: layers upward, heads across. */
export function HeadGrids({ chart }: { chart: PaperChart }) {
  const store = useStore();
  const atlas = store.atlas!;
  const panels = chart.statistics
    .map((id) => atlas.statistic(id))
    .filter((one): one is { at: number; about: Statistic } => one !== undefined);
  const values = panels.flatMap(({ at }) =>
    Array.from(atlas.values(at)).filter((value) => !Number.isNaN(value)),
  );
  const [least = 0, most = 1] = extent(values) as [number, number];
  const low = least < 0 ? least : 0;
  const columns = atlas.heads > 16 ? 3 : 5;
  const cell = Math.max(2, Math.min(16, Math.floor((960 / columns - LEFT - GAP) / atlas.heads)));
  const width = LEFT + cell * atlas.heads + GAP;
  const height = TOP + cell * atlas.layers + GAP;
  const rows = Math.ceil(panels.length / columns);
  const across = Math.min(columns, panels.length);
  const dark = store.dark.value;
  const colour = (value: number) =>
    Number.isNaN(value)
      ? "transparent"
      : mix(dark ? "#8CC2F2" : "#174A86", dark ? "#232427" : "#F3F4F6", ((value - low) / (most - low || 1)) ** 0.7);
  return (
    <>
      <svg
        class="hs-panels"
        viewBox={`0 0 ${across * width} ${rows * height}`}
        style={{ maxWidth: `${across * width}px` }}
        role="img"
        aria-label={`${chart.title}, one grid of heads per statistic`}
      >
        {panels.map(({ at, about }, index) => (
          <g
            key={about.id}
            transform={`translate(${(index % columns) * width},${Math.floor(index / columns) * height})`}
          >
            <text class="hs-panel-title" x={LEFT} y={14}>
              {panelTitle(about.title, width - LEFT - 8)}
              <title>{about.title}</title>
            </text>
            <text class="hs-tick" x={LEFT - 5} y={TOP + cell * atlas.layers - cell / 2 + 4} text-anchor="end">
              {atlas.document.model.numbers[0]}
            </text>
            <text class="hs-tick" x={LEFT - 5} y={TOP + cell / 2 + 4} text-anchor="end">
              {atlas.document.model.numbers[atlas.layers - 1]}
            </text>
            {Array.from({ length: atlas.size }, (_, place) => {
              const layer = Math.floor(place / atlas.heads);
              const value = atlas.values(at)[place]!;
              return (
                <rect
                  key={place}
                  class="hs-dot"
                  x={LEFT + (place % atlas.heads) * cell}
                  y={TOP + (atlas.layers - 1 - layer) * cell}
                  width={cell - (cell > 4 ? 1 : 0)}
                  height={cell - (cell > 4 ? 1 : 0)}
                  fill={colour(value)}
                  onClick={() => store.go(`head/${atlas.name(place)}`)}
                >
                  <title>{`${atlas.name(place)}: ${shown(value, about)}`}</title>
                </rect>
              );
            })}
          </g>
        ))}
      </svg>
      <p class="hs-scale hs-small">
        {panels[0] && shown(low, panels[0].about)}
        <span
          class="hs-ramp"
          style={{ background: `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((part) => colour(low + part * (most - low))).join(",")})` }}
        />
        {panels[0] && shown(most, panels[0].about)} <span class="hs-quiet">one scale for all grids; layers upward, heads across</span>
      </p>
    </>
  );
}

function panelTitle(title: string, width: number): string {
  const text = title.replace(/^largest attention /, "").replace(/^probe for /, "").replace(/: .*$/, "");
  const most = Math.floor(width / 6.2);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
