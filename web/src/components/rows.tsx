import { useRef } from "preact/hooks";

import type { ChartRow, RowsChart } from "../data/types";
import { percent, plusMinus } from "../format";
import { useStore } from "../store";
import { Across, linear } from "./axis";
import { DotRow, fitNames, ROW } from "./dot";
import { useWidth } from "./measure";

const TOP = 26;

/** One row per label: the best head's share with its interval, and what it is held against. */
export function RowsPlot({ chart }: { chart: RowsChart }) {
  const store = useStore();
  const [box, room, font] = useWidth<HTMLDivElement>();
  const drawn = useRef<SVGSVGElement>(null);
  const width = Math.min(room, 960);
  const narrow = width < 640;
  const left = Math.min(210, width * 0.3);
  const right = narrow ? 96 : 330;
  const x = linear([0, 1], [left, width - right], { count: narrow ? 3 : 5, percent: true });
  const height = TOP + chart.rows.length * ROW;
  const names = fitNames(chart.rows.map((row) => row.name), left - 12, 12.5, font);
  const beside = (row: ChartRow) => (narrow ? row.beside.split(",")[0]! : row.beside);
  const head = ({ beside: text }: ChartRow) => text.split(",")[0]!;
  const open = (row: ChartRow) => {
    if (store.document?.document.linked && store.atlas?.place(head(row)) !== undefined) {
      store.go(`head/${head(row)}`);
    }
  };
  return (
    <div ref={box} class="hs-chart">
      {width > 0 && (
        <svg ref={drawn} width={width} height={height} role="group" aria-label={chart.title}>
          <Across axis={x} from={TOP - 4} to={height} above={14} />
          {chart.rows.map((row, at) => (
            <g key={row.name} class="hs-row-link" onClick={() => open(row)}>
              <DotRow
                x={x.at}
                top={TOP + at * ROW}
                name={names[at]!}
                title={said(row)}
                {...{ width, from: left, to: width - right, colour: "var(--seq)" }}
                value={row.value ?? NaN}
                low={row.low ?? NaN}
                high={row.high ?? NaN}
                cells={[
                  { end: width - right + 52, text: percent(row.value ?? NaN, 1) },
                  { end: width, text: beside(row), look: "soft" },
                ]}
              >
                {row.baseline !== null && (
                  <line
                    class="hs-baseline"
                    x1={x.at(row.baseline)}
                    x2={x.at(row.baseline)}
                    y1={TOP + at * ROW}
                    y2={TOP + at * ROW + 16}
                  />
                )}
              </DotRow>
            </g>
          ))}
        </svg>
      )}
      <p class="hs-small">
        Dot: best head, with its 95 % interval. Tick: what a fixed offset would get.
      </p>
    </div>
  );
}

function said(row: ChartRow): string {
  const half = plusMinus(row.low ?? NaN, row.high ?? NaN, "share");
  return `${row.name}: ${row.beside}; ${percent(row.value ?? NaN, 1)} ${half}, fixed offset ${percent(row.baseline ?? NaN, 1)}`;
}
