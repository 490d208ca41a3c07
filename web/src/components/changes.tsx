import { max } from "d3-array";

import type { Atlas } from "../data/atlas";
import type { Change } from "../data/compare";
import type { Statistic } from "../data/types";
import { family } from "../families";
import { difference, plusMinus, shown } from "../format";
import { Dot } from "./dot";

const SHOWN = 12;
const HALF = 90;

interface Props {
  found: Change[];
  about: Statistic;
  first: Atlas;
  second: Atlas;
}

/** The heads that changed most, with the widths of both intervals. */
export function ChangeTable({ found, about, first, second }: Props) {
  const rows = found.slice(0, SHOWN);
  const widest = max(rows, (one) => Math.abs(one.difference) + (one.half || 0)) || 1;
  const x = (value: number) => HALF + (value / widest) * (HALF - 6);
  return (
    <div class="hs-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">head</th>
            <th scope="col" class="hs-num">A</th>
            <th scope="col" class="hs-num">B</th>
            <th scope="col">difference</th>
            <th scope="col" class="hs-num">
              B − A{about.kind === "share" && ", points"}
            </th>
            <th scope="col">main role</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => {
            const low = one.difference - one.half;
            const high = one.difference + one.half;
            const said = difference(one.difference, about);
            const [before, after] = [first.family(one.place), second.family(one.place)];
            return (
              <tr key={one.place}>
                <td>
                  <a href={`#/head/${one.head}`}>{one.head}</a>
                </td>
                <td class="hs-num">{shown(one.a, about)}</td>
                <td class="hs-num">{shown(one.b, about)}</td>
                <td>
                  <svg
                    width={2 * HALF}
                    height={16}
                    role="img"
                    aria-label={`${said} ${plusMinus(low, high, about.kind)}`}
                  >
                    <line class="hs-rule" x1={HALF} x2={HALF} y1={0} y2={16} />
                    <Dot
                      {...{ x, low, high }}
                      y={8}
                      value={one.difference}
                      colour="var(--work)"
                      hollow={!one.apart}
                    />
                  </svg>
                </td>
                <td class="hs-num">{said}</td>
                <td class="hs-small">
                  {!before || !after || before === after
                    ? before && family(before).title
                    : `${family(before).title} → ${family(after).title}`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
