import { useMemo, useRef, useState } from "preact/hooks";

import { Across, linear } from "../../components/axis";
import { DotRow, fitNames, ROW } from "../../components/dot";
import { useWidth } from "../../components/measure";
import { bandCells, bandColumns, bandsText, nullNames } from "../../data/nulls";
import { count, number, percent, pValue } from "../../format";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import { type RelationRow, relationRows } from "./order";
import { relationTitle } from "./titles";

const TOP = 28;
const SHOWN = 9;

/** Dependency relations by gain over the best fixed offset. */
export function Relations({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const chart = useRef<SVGSVGElement>(null);
  const [box, width, font] = useWidth<HTMLDivElement>();
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
  const x = linear([0, 1], [left, width - right - 4], { count: 2, percent: true });
  const names = fitNames(
    rows.map((row) => relationTitle(row.relation)),
    left - 8,
    12.5,
    font,
  );
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
      <Across axis={x} from={TOP - 6} to={height} above={12} />
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
          {...{ row, width, dark, left }}
          x={x.at}
          name={names[at]!}
          top={TOP + at * ROW}
        />
      ))}
    </svg>
  );
}

interface LineProps {
  row: RelationRow;
  name: string;
  x: (value: number) => number;
  top: number;
  left: number;
  width: number;
  dark: boolean;
}

function Line({ row, name, x, top, left, width, dark }: LineProps) {
  const { relation } = row;
  const colour = headColour(relation.family, dark);
  const gain = Math.round(row.gain * 100);
  const offset = relation.offset > 0 ? `+${relation.offset}` : number(relation.offset, 0);
  const y = top + ROW / 2 - 4;
  return (
    <DotRow
      {...{ top, name, width, x, colour }}
      title={
        `${relation.title} (${relationTitle(relation).toLowerCase()}): ` +
        `${percent(row.accuracy, 0)} of ${count(relation.n)} right; ` +
        `fixed offset ${offset}: ${percent(relation.baseline, 0)}; corrected p ${pValue(row.p)}` +
        bandsText(row.accuracy, relation.nulls, "share")
      }
      from={left}
      to={x(1)}
      bands={relation.nulls}
      value={row.accuracy}
      low={row.low}
      high={row.high}
      hollow={!row.passes}
      cells={[
        { end: width - 76, text: percent(row.accuracy, 0) },
        {
          end: width - 34,
          text: gain > 0 ? `+${gain}` : number(gain, 0),
          look: row.passes ? "value" : "soft",
        },
        { end: width, text: String(row.rank), look: row.rank === 1 ? "first" : "soft" },
      ]}
    >
      <line stroke={colour} stroke-opacity={0.5} x1={x(0)} x2={x(row.accuracy)} y1={y} y2={y} />
      <path class="hs-offset" d={`M${x(relation.baseline)} ${y - 7}v14`} />
    </DotRow>
  );
}
