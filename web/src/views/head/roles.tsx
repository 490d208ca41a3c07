import { extent } from "d3-array";
import { useRef } from "preact/hooks";

import { Across, linear } from "../../components/axis";
import { DotRow, fitNames, ROW } from "../../components/dot";
import { useWidth } from "../../components/measure";
import type { Atlas } from "../../data/atlas";
import { bandCells, bandColumns, bandsText, nullNames } from "../../data/nulls";
import type { NullBand } from "../../data/types";
import { family } from "../../families";
import { number, plusMinus, pValue } from "../../format";
import { useStore } from "../../store";
import { Block } from "./block";
import { capital, workTitle } from "./titles";

const TOP = 28;
/** From this excess on a role counts. */
const LEAST = 0.1;
/** Room for the value and its interval. */
const RIGHT = 104;

interface Row {
  title: string;
  full: string;
  colour: string;
  value: number;
  half: number;
  p: number;
  passes: boolean;
  /** Times what positions alone would give; NaN for roles that follow no arcs. */
  position: number;
  nulls?: NullBand[];
}

function rows(atlas: Atlas, place: number, dark: boolean): Row[] {
  return atlas.document.work
    .map((role, at) => ({
      title: workTitle(role),
      full: role.title,
      colour: family(role.family).colour[dark ? 1 : 0],
      value: atlas.number("work/value", place, at),
      half: atlas.number("work/half", place, at),
      p: atlas.number("work/p", place, at),
      passes: atlas.number("work/has", place, at) === 1,
      position: atlas.arrays["work/position"] ? atlas.number("work/position", place, at) : NaN,
      nulls: role.nulls,
    }))
    .filter((row) => Number.isFinite(row.value))
    .sort((a, b) => b.value - a.value);
}

/** How far the head is above chance at each role. */
export function Roles({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const chart = useRef<SVGSVGElement>(null);
  const [box, width, font] = useWidth<HTMLDivElement>();
  const all = rows(atlas, place, store.dark.value);
  const head = atlas.name(place);
  const nulls = nullNames(all);
  const data = () => ({
    columns: [
      ...["head", "role", "excess", "low", "high", "p_corrected", "has", "times_position"],
      ...bandColumns(nulls),
    ],
    rows: all.map((row) => [
      head,
      row.full,
      row.value,
      row.value - row.half,
      row.value + row.half,
      row.p,
      row.passes ? 1 : 0,
      row.position,
      ...bandCells(row.nulls, nulls),
    ]),
  });
  return (
    <Block
      title="Roles"
      note="above chance, 95 % interval"
      name={`roles-${head}`}
      chart={all.length ? () => chart.current : undefined}
      data={all.length ? data : undefined}
    >
      <div ref={box} class="hs-chart">
        {all.length > 0 && width > 0 && <RoleChart {...{ all, width, head, chart, font }} />}
      </div>
      {all.length > 0 ? (
        <p class="hs-note">
          Filled: passes the test, and its interval the line at 0.1. Hollow: does not, or is no more
          than a simpler habit, such as position, would give.{nulls.length > 0 && ` Bands: ${nulls.join(", ")}.`}
        </p>
      ) : (
        <p class="hs-note">
          These results have no main roles. Survey again with{" "}
          <code>--measure activity --measure work --measure spread --measure dependency</code>.
        </p>
      )}
      <Tested place={place} />
    </Block>
  );
}

function RoleChart(props: {
  all: Row[];
  width: number;
  head: string;
  font: string;
  chart: preact.Ref<SVGSVGElement>;
}) {
  const { all, width, head, font } = props;
  const left = Math.min(170, width * 0.4);
  const [low = 0, high = 0] = extent(
    all.flatMap((row) => [
      row.value - row.half,
      row.value + row.half,
      ...(row.nulls ?? []).flatMap((band) => [band.low, band.high]),
    ]),
  );
  const x = linear([Math.min(-0.05, low), Math.max(0.3, high)], [left, width - RIGHT], {
    count: width < 400 ? 3 : 4,
    nice: false,
  });
  const height = TOP + all.length * ROW;
  const names = fitNames(
    all.map((row) => row.title),
    left - 8,
    12.5,
    font,
  );
  return (
    <svg
      ref={props.chart}
      width={width}
      height={height}
      role="img"
      aria-label={`Roles of head ${head}: ${all
        .slice(0, 3)
        .map((row) => `${row.title} ${number(row.value)}`)
        .join(", ")}`}
    >
      <Across axis={x} from={TOP - 6} to={height} above={12} />
      <line class="hs-least" x1={x.at(LEAST)} x2={x.at(LEAST)} y1={TOP - 6} y2={height}>
        <title>A role counts from 0.1 on.</title>
      </line>
      {all.map((row, at) => {
        const [low, high] = [row.value - row.half, row.value + row.half];
        const said = plusMinus(low, high, "number");
        return (
          <DotRow
            key={row.full}
            top={TOP + at * ROW}
            name={names[at]!}
            title={
              `${capital(row.full)}: ${number(row.value)} ${said}, corrected p ${pValue(row.p)}` +
              (Number.isFinite(row.position)
                ? `; ${number(row.position, 2)} × position alone`
                : "") +
              bandsText(row.value, row.nulls, "number")
            }
            {...{ width, low, high }}
            from={left}
            to={width - RIGHT}
            bands={row.nulls}
            x={x.at}
            value={row.value}
            colour={row.colour}
            hollow={!row.passes}
            cells={[
              { end: width - 60, text: number(row.value, 2) },
              { end: width, text: said, look: "soft" },
            ]}
          />
        );
      })}
    </svg>
  );
}

const POSITION =
  "Attention along the relation's arcs, divided by what the head's mean attention at each offset " +
  "would give them. About 1: the head follows positions, however far it is above uniform.";

/** The roles of Pande et al. 2021 with their tests, folded away. */
function Tested({ place }: { place: number }) {
  const atlas = useStore().atlas!;
  const tests = atlas.document.tests
    .map((role, at) => ({ role, at, mean: atlas.number("tests/mean", place, at) }))
    .filter((one) => Number.isFinite(one.mean))
    .sort((a, b) => b.mean - a.mean);
  if (!tests.length) return null;
  const passing = tests.filter((one) => atlas.number("tests/has", place, one.at) === 1).length;
  const known = atlas.arrays["tests/position"] !== undefined;
  const position = (at: number) => (known ? atlas.number("tests/position", place, at) : NaN);
  const beside = tests.some(({ at }) => Number.isFinite(position(at)));
  const alone = (at: number) => known && atlas.number("tests/positional", place, at) === 1;
  return (
    <details class="hs-details">
      <summary>
        {tests.length} tested roles{" "}
        <span class="hs-soft">Pande et al. 2021, × uniform; {passing} pass</span>
      </summary>
      <table class="hs-tight">
        <thead>
          <tr>
            <th scope="col">role</th>
            <th scope="col" class="hs-num">
              × uniform
            </th>
            {beside && (
              <th scope="col" class="hs-num" title={POSITION}>
                × position alone
              </th>
            )}
            <th
              scope="col"
              class="hs-num"
              title="Corrected p (Holm) of the test that the mean is over 3"
            >
              p
            </th>
            <th
              scope="col"
              class="hs-num"
              title="Effect size: how many standard deviations the mean is over 3"
            >
              effect
            </th>
          </tr>
        </thead>
        <tbody>
          {tests.map(({ role, at, mean }) => (
            <tr key={role.id} class={atlas.number("tests/has", place, at) === 1 ? "" : "hs-soft"}>
              <td title={role.title}>
                <span class="hs-pass">
                  {atlas.number("tests/has", place, at) === 1 ? "●" : "○"}
                </span>{" "}
                {role.id}
                {alone(at) && <span class="hs-soft"> by position</span>}
              </td>
              <td class="hs-num">
                {number(mean)}{" "}
                <span class="hs-soft">
                  {plusMinus(
                    atlas.number("tests/low", place, at),
                    atlas.number("tests/high", place, at),
                    "times",
                  )}
                </span>
              </td>
              {beside && (
                <td class="hs-num" title={POSITION}>
                  {Number.isFinite(position(at)) ? number(position(at), 2) : "–"}
                </td>
              )}
              <td class="hs-num">{pValue(atlas.number("tests/p", place, at))}</td>
              <td class="hs-num">{number(atlas.number("tests/effect", place, at))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
