import { scaleLinear } from "d3-scale";
import { useMemo, useRef, useState } from "preact/hooks";

import { fitText, useWidth } from "../../components/measure";
import { Bands } from "../../components/band";
import { bandCells, bandColumns, bandsText, nullNames } from "../../data/nulls";
import { family, isRole } from "../../families";
import { count, number, percent, pValue } from "../../format";
import { useStore } from "../../store";
import { Block } from "./block";
import { type RelationRow, relationRows } from "./order";
import { relationTitle } from "./titles";

const ROW = 24;
const TOP = 28;
const SHOWN = 9;

/** Dependency relations by gain over the best fixed offset. */
export function Relations({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<SVGSVGElement>(null);
  const [width, font] = useWidth(box);
  const [everything, setEverything] = useState(false);
  const all = useMemo(() => relationRows(atlas, place), [atlas, place]);
  const rows = everything ? all : all.slice(0, SHOWN);
  const name = atlas.name(place);
  const nulls = useMemo(() => nullNames(atlas.document.relations), [atlas]);
  const data = () => ({
    columns: [
      "head",
      "relation",
      "direction",
      "accuracy",
      "low",
      "high",
      "offset",
      "offset_accuracy",
      "gain",
      "p_corrected",
      "n",
      "rank",
      ...bandColumns(nulls),
    ],
    rows: all.map((row) => [
      name,
      row.relation.relation,
      row.relation.direction,
      row.accuracy,
      row.low,
      row.high,
      row.relation.offset,
      row.relation.baseline,
      row.gain,
      row.p,
      row.relation.n,
      row.rank,
      ...bandCells(row.relation.nulls, nulls),
    ]),
  });
  if (!all.length) {
    return (
      <Block title="Best relations" name="relations">
        <p class="hs-note">
          {atlas.document.relations.length || atlas.document.statistics.length === 0
            ? "No relation has enough words."
            : "Not measured, or no relation has enough words: survey a corpus with trees and add "}
          {!atlas.document.relations.length && <code>--measure dependency</code>}
        </p>
      </Block>
    );
  }
  return (
    <Block
      title="Best relations"
      note={
        <span title="The best fixed offset: always the word so many places before or after">
          ❙ best fixed offset
        </span>
      }
      name={`relations-${name}`}
      chart={() => chart.current}
      data={data}
    >
      <div ref={box} class="hs-chart">
        {width > 0 && <Chart {...{ rows, width, name, chart, font }} />}
      </div>
      <p class="hs-note">
        Words right, with a 95 % interval. Hollow: not better than the offset (p corrected over
        heads and relations).{nulls.length > 0 && ` Bands: ${nulls.join(", ")}.`}
      </p>
      {all.length > SHOWN && (
        <button
          type="button"
          class="hs-more"
          aria-expanded={everything}
          onClick={() => setEverything(!everything)}
        >
          {everything ? "Show fewer" : `Show all ${all.length} relations`}
        </button>
      )}
    </Block>
  );
}

function Chart(props: {
  rows: RelationRow[];
  width: number;
  name: string;
  font: string;
  chart: preact.Ref<SVGSVGElement>;
}) {
  const { rows, width, name, font } = props;
  const dark = useStore().dark.value;
  const right = 118;
  const left = Math.min(176, (width - right) * 0.56);
  const x = scaleLinear()
    .domain([0, 1])
    .range([left, width - right - 4]);
  const height = TOP + rows.length * ROW;
  return (
    <svg
      ref={props.chart}
      width={width}
      height={height}
      role="img"
      aria-label={`Relations of head ${name}: ${rows
        .slice(0, 3)
        .map((row) => `${row.relation.title} ${percent(row.accuracy, 0)}`)
        .join(", ")}`}
    >
      {[0, 0.5, 1].map((tick) => (
        <g key={tick}>
          <line class="hs-axis" x1={x(tick)} x2={x(tick)} y1={TOP - 6} y2={height} />
          <text
            class="hs-axis-text"
            x={x(tick)}
            y={12}
            text-anchor={tick === 0.5 ? "middle" : tick ? "end" : "start"}
          >
            {percent(tick, 0)}
          </text>
        </g>
      ))}
      <text class="hs-axis-text" x={width - 76} y={12} text-anchor="end">
        right
      </text>
      <text class="hs-axis-text" x={width - 34} y={12} text-anchor="end">
        gain
        <title>Points over the best fixed offset</title>
      </text>
      <text class="hs-axis-text" x={width} y={12} text-anchor="end">
        rank
        <title>Among all heads, by words right</title>
      </text>
      {rows.map((row, at) => (
        <Line
          key={row.relation.id}
          {...{ row, x, left, width, dark, font }}
          y={TOP + at * ROW + ROW / 2 - 4}
        />
      ))}
    </svg>
  );
}

function Line(props: {
  row: RelationRow;
  x: (value: number) => number;
  y: number;
  left: number;
  width: number;
  dark: boolean;
  font: string;
}) {
  const { row, x, y, left, width, dark, font } = props;
  const { relation } = row;
  const known = isRole(relation.family);
  const colour = known
    ? family(relation.family).colour[dark ? 1 : 0]
    : dark
      ? "#b9babf"
      : "#5a5b60";
  const gain = Math.round(row.gain * 100);
  const offset = relation.offset > 0 ? `+${relation.offset}` : number(relation.offset, 0);
  return (
    <g class={row.passes ? "hs-row" : "hs-row hs-row-fails"}>
      <title>
        {`${relation.title} (${relationTitle(relation).toLowerCase()}): ` +
          `${percent(row.accuracy, 0)} of ${count(relation.n)} right; ` +
          `fixed offset ${offset}: ${percent(relation.baseline, 0)}; corrected p ${pValue(row.p)}` +
          bandsText(row.accuracy, relation.nulls, "share")}
      </title>
      <rect x={0} y={y - ROW / 2} width={width} height={ROW} fill="transparent" />
      <text class="hs-row-name" x={0} y={y + 4}>
        {fitText(relationTitle(relation), left - 8, 12.5, font)}
      </text>
      <Bands bands={relation.nulls} x={x} from={x(0)} to={x(1)} y={y - 9} height={18} />
      <line stroke={colour} stroke-opacity={0.5} x1={x(0)} x2={x(row.accuracy)} y1={y} y2={y} />
      <line stroke={colour} stroke-width={2} x1={x(row.low)} x2={x(row.high)} y1={y} y2={y} />
      <line
        class="hs-offset"
        x1={x(relation.baseline)}
        x2={x(relation.baseline)}
        y1={y - 7}
        y2={y + 7}
      />
      <circle
        class={row.passes ? "" : "hs-hollow"}
        cx={x(row.accuracy)}
        cy={y}
        r={row.passes ? 5 : 4.25}
        fill={row.passes ? colour : undefined}
        stroke={row.passes ? "none" : colour}
        stroke-width={1.5}
      />
      <text class="hs-row-value" x={width - 76} y={y + 4} text-anchor="end">
        {percent(row.accuracy, 0)}
      </text>
      <text
        class={row.passes ? "hs-row-value" : "hs-row-soft"}
        x={width - 34}
        y={y + 4}
        text-anchor="end"
      >
        {gain > 0 ? `+${gain}` : number(gain, 0)}
      </text>
      <text
        class={row.rank === 1 ? "hs-row-first" : "hs-row-soft"}
        x={width}
        y={y + 4}
        text-anchor="end"
      >
        {row.rank}
      </text>
    </g>
  );
}
