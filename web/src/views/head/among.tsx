import { useMemo, useRef, useState } from "preact/hooks";

import { bandLook } from "../../components/band";
import { fitNames, ROW } from "../../components/dot";
import { fitText, useWidth } from "../../components/measure";
import { Strip } from "../../components/strip";
import { bandCells, bandColumns, bandText, nullNames, standing } from "../../data/nulls";
import type { Statistic } from "../../data/types";
import { family, isRole } from "../../families";
import { plusMinus, shown } from "../../format";
import { useStore } from "../../store";
import { Block } from "./block";
import { allStatistics, chosenStatistics } from "./order";
import { statisticTitle } from "./titles";

/** A line below a row, for the band of one null model. */
const LINE = 15;
const TOP = 22;
const SHOWN = 14;
/** Room for the value, its interval and its rank. */
const RIGHT = 148;
/** Where the value ends, from the right. */
const VALUE = 92;

/** The colour of a head: its family's, or ink where it has no role. */
export function headColour(id: string, dark: boolean): string {
  return isRole(id) ? family(id).colour[dark ? 1 : 0] : dark ? "#b9babf" : "#5a5b60";
}

/** Every statistic as a strip of all heads. */
export function Among({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const chart = useRef<SVGSVGElement>(null);
  const [box, width, font] = useWidth<HTMLDivElement>();
  const [everything, setEverything] = useState(false);
  const nulls = useMemo(() => nullNames(atlas.document.statistics), [atlas]);
  const most = SHOWN - 2 * nulls.length; // rows with bands are taller
  const chosen = useMemo(
    () => (everything ? allStatistics(atlas, place) : chosenStatistics(atlas, place, most)),
    [atlas, place, everything, most],
  );
  const total = useMemo(() => allStatistics(atlas, place).length, [atlas, place]);
  const name = atlas.name(place);
  const data = () => ({
    columns: [
      ...["head", "statistic", "title", "unit", "value", "low", "high", "rank", "heads"],
      ...bandColumns(nulls),
    ],
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
        ...bandCells(one.nulls, nulls),
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
      {nulls.length > 0 && <BandsNote />}
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

/** What the bands of null models are. */
export function BandsNote() {
  return (
    <p class="hs-note">
      Band: the middle 95 % of a null model’s heads. Hollow: inside a band. A band is not a test of
      one head.
    </p>
  );
}

/** Where each row begins, and after the last one the height of all. */
export function rowTops(bands: number[]): number[] {
  const tops = [TOP];
  for (const count of bands) tops.push(tops[tops.length - 1]! + ROW + count * LINE);
  return tops;
}

function Rows({ chosen, place, width, chart, font }: RowsProps) {
  const store = useStore();
  const atlas = store.atlas!;
  const left = Math.min(168, (width - RIGHT) * 0.52);
  const strip = Math.max(60, width - left - RIGHT);
  const all = chosen.map((at) => atlas.document.statistics[at]!);
  const names = fitNames(all.map(statisticTitle), left - 6, 12.5, font);
  const tops = rowTops(all.map((one) => one.nulls?.length ?? 0));
  const colour = headColour(atlas.family(place), store.dark.value);
  return (
    <svg
      ref={chart}
      width={width}
      height={tops[tops.length - 1]}
      role="group"
      aria-label={`Statistics of head ${atlas.name(place)} among all heads`}
    >
      <text class="hs-axis-text" x={left + 6} y={12}>
        lowest
      </text>
      <text class="hs-axis-text" x={left + strip - 6} y={12} text-anchor="end">
        highest
      </text>
      <text class="hs-axis-text" x={width - VALUE} y={12} text-anchor="end">
        {atlas.name(place)}
      </text>
      <text class="hs-axis-text" x={width} y={12} text-anchor="end">
        rank
        <title>1 is the largest value of all heads.</title>
      </text>
      {chosen.map((at, row) => (
        <Row
          key={all[row]!.id}
          {...{ at, place, colour, left, strip, width, font }}
          name={names[row]!}
          y={tops[row]!}
        />
      ))}
    </svg>
  );
}

interface RowProps {
  /** Which statistic. */
  at: number;
  name: string;
  place: number;
  colour: string;
  left: number;
  strip: number;
  width: number;
  y: number;
  font: string;
}

function Row({ at, name, place, colour, left, strip, width, y, font }: RowProps) {
  const atlas = useStore().atlas!;
  const one = atlas.document.statistics[at]!;
  const [value, low, high] = ["value", "low", "high"].map((key) =>
    atlas.number(key, place, at),
  ) as [number, number, number];
  const rank = atlas.rank(at, place);
  const interval = plusMinus(low, high, one.kind);
  const said = `${one.title}: ${shown(value, one)} ${interval}, rank ${rank} of ${atlas.defined(at)}`;
  const more = [one.unit, one.source, `${one.n} examples`].filter(Boolean).join("; ");
  const inside = one.nulls?.some((band) => standing(value, band) === "inside");
  return (
    <g class="hs-row">
      <title>{`${said} (${more})`}</title>
      <rect x={0} y={y} width={width} height={ROW} fill="transparent" />
      <text class="hs-row-name" x={0} y={y + 16}>
        {name}
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
          bands={one.nulls}
          hollow={inside}
          width={strip}
          label={said}
        />
      </g>
      <text class="hs-row-value" x={width - VALUE} y={y + 16} text-anchor="end">
        {shown(value, one)}
      </text>
      <text class="hs-row-soft" x={width - 34} y={y + 16} text-anchor="end">
        {interval}
      </text>
      <text
        class={rank <= 3 ? "hs-row-first" : "hs-row-soft"}
        x={width}
        y={y + 16}
        text-anchor="end"
      >
        {rank}
      </text>
      <BandLines {...{ one, value, width, font }} y={y + ROW} />
    </g>
  );
}

/** Below a statistic: the band of each null model, and where the head is by it. */
function BandLines(props: {
  one: Statistic;
  value: number;
  width: number;
  y: number;
  font: string;
}) {
  const { one, value, width, y, font } = props;
  return (
    <>
      {one.nulls?.map((band, at) => {
        const where = standing(value, band);
        return (
          <g key={band.null} transform={`translate(0 ${y + at * LINE})`}>
            <rect class={bandLook(at)} x={0.5} y={0.5} width={10} height={8} />
            <text class="hs-axis-text" x={16} y={8}>
              {fitText(bandText(band, one.kind), width - 72, 11, font)}
            </text>
            <text
              class={where === "inside" ? "hs-axis-text" : "hs-axis-text hs-beyond"}
              x={width}
              y={8}
              text-anchor="end"
            >
              {where}
            </text>
          </g>
        );
      })}
    </>
  );
}
