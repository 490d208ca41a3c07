import { useMemo, useRef, useState } from "preact/hooks";

import { fitText, useWidth } from "../../components/measure";
import { Strip } from "../../components/strip";
import { family, isRole } from "../../families";
import { plusMinus, shown } from "../../format";
import { useStore } from "../../store";
import { Block } from "./block";
import { allStatistics, chosenStatistics } from "./order";
import { statisticTitle } from "./titles";

const ROW = 24;
const TOP = 22;
const SHOWN = 14;

/** The colour of a head: its family's, or ink where it has no role. */
export function headColour(id: string, dark: boolean): string {
  return isRole(id) ? family(id).colour[dark ? 1 : 0] : dark ? "#b9babf" : "#5a5b60";
}

/** Every statistic as a strip of all heads. */
export function Among({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<SVGSVGElement>(null);
  const [width, font] = useWidth(box);
  const [everything, setEverything] = useState(false);
  const chosen = useMemo(
    () => (everything ? allStatistics(atlas, place) : chosenStatistics(atlas, place, SHOWN)),
    [atlas, place, everything],
  );
  const total = useMemo(() => allStatistics(atlas, place).length, [atlas, place]);
  const name = atlas.name(place);
  const data = () => ({
    columns: ["head", "statistic", "title", "unit", "value", "low", "high", "rank", "heads"],
    rows: allStatistics(atlas, place).map((at) => {
      const one = atlas.document.statistics[at]!;
      return [
        name,
        one.id,
        one.title,
        one.unit,
        ...["value", "low", "high"].map((key) => atlas.number(key, place, at)),
        atlas.rank(at, place),
        atlas.defined(at),
      ];
    }),
  });
  return (
    <Block
      title={`Among the ${atlas.size} heads`}
      note={`layer ${atlas.layerNumber(place)} in ${store.dark.value ? "white" : "black"}`}
      name={`statistics-${name}`}
      chart={() => chart.current}
      data={data}
    >
      <div ref={box} class="hs-chart">
        {width > 0 && chosen.length > 0 && <Rows {...{ chosen, place, width, chart, font }} />}
      </div>
      {!chosen.length && <p class="hs-note">These results have no statistics of single heads.</p>}
      {total > chosen.length || everything ? (
        <button
          type="button"
          class="hs-more"
          aria-expanded={everything}
          onClick={() => setEverything(!everything)}
        >
          {everything ? "Show fewer" : `Show all ${total} statistics`}
        </button>
      ) : null}
    </Block>
  );
}

interface RowsProps {
  chosen: number[];
  place: number;
  width: number;
  font: string;
  chart: preact.Ref<SVGSVGElement>;
}

function Rows({ chosen, place, width, chart, font }: RowsProps) {
  const store = useStore();
  const atlas = store.atlas!;
  const right = 132;
  const left = Math.min(168, (width - right) * 0.52);
  const strip = Math.max(60, width - left - right);
  const height = TOP + chosen.length * ROW;
  const colour = headColour(atlas.family(place), store.dark.value);
  return (
    <svg
      ref={chart}
      width={width}
      height={height}
      role="group"
      aria-label={`Statistics of head ${atlas.name(place)} among all heads`}
    >
      <text class="hs-axis-text" x={left + 6} y={12}>
        lowest
      </text>
      <text class="hs-axis-text" x={left + strip - 6} y={12} text-anchor="end">
        highest
      </text>
      <text class="hs-axis-text" x={width - 76} y={12} text-anchor="end">
        {atlas.name(place)}
      </text>
      <text class="hs-axis-text" x={width} y={12} text-anchor="end">
        rank
        <title>1 is the largest value of all heads.</title>
      </text>
      {chosen.map((at, row) => {
        const one = atlas.document.statistics[at]!;
        const [value, low, high] = ["value", "low", "high"].map((key) =>
          atlas.number(key, place, at),
        ) as [number, number, number];
        const rank = atlas.rank(at, place);
        const y = TOP + row * ROW;
        const interval = plusMinus(low, high, one.kind);
        const standing = `rank ${rank} of ${atlas.defined(at)}`;
        const said = `${one.title}: ${shown(value, one)} ${interval}, ${standing}`;
        const more = [one.unit, one.source, `${one.n} examples`].filter(Boolean).join("; ");
        return (
          <g key={one.id} class="hs-row">
            <title>{`${said} (${more})`}</title>
            <rect x={0} y={y} width={width} height={ROW} fill="transparent" />
            <text class="hs-row-name" x={0} y={y + 16}>
              {fitText(statisticTitle(one), left - 6, 12.5, font)}
            </text>
            <g transform={`translate(${left} ${y + 2})`}>
              <Strip
                values={atlas.values(at)}
                place={place}
                heads={atlas.heads}
                colour={colour}
                low={low}
                high={high}
                reference={one.reference}
                width={strip}
                label={said}
              />
            </g>
            <text class="hs-row-value" x={width - 76} y={y + 16} text-anchor="end">
              {shown(value, one)}
            </text>
            <text class="hs-row-soft" x={width - 34} y={y + 16} text-anchor="end">
              {plusMinus(low, high, one.kind)}
            </text>
            <text
              class={rank <= 3 ? "hs-row-first" : "hs-row-soft"}
              x={width}
              y={y + 16}
              text-anchor="end"
            >
              {rank}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
