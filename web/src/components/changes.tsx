import { max } from "d3-array";

import type { Atlas } from "../data/atlas";
import type { Change } from "../data/compare";
import type { Statistic } from "../data/types";
import { family } from "../families";
import { number, shown } from "../format";

const SHOWN = 12;
const HALF = 90;

interface Props {
  found: Change[];
  about: Statistic;
  first: Atlas;
  second: Atlas;
}

/** The heads that changed most, with the interval of each change. */
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
            <th scope="col" class="hs-num">B − A</th>
            <th scope="col">main role</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => {
            const [before, after] = [first.family(one.place), second.family(one.place)];
            return (
              <tr key={one.place}>
                <td>
                  <a href={`#/head/${one.head}`}>{one.head}</a>
                </td>
                <td class="hs-num">{shown(one.a, about)}</td>
                <td class="hs-num">{shown(one.b, about)}</td>
                <td>
                  <svg width={2 * HALF} height={16} role="img" aria-label={`${number(one.difference)} ± ${number(one.half)}`}>
                    <line class="hs-rule" x1={HALF} x2={HALF} y1={0} y2={16} />
                    {Number.isFinite(one.half) && (
                      <line class="hs-mean" x1={x(one.difference - one.half)} x2={x(one.difference + one.half)} y1={8} y2={8} />
                    )}
                    <circle class={one.sure ? "hs-sure" : "hs-unsure"} cx={x(one.difference)} cy={8} r={4} />
                  </svg>
                </td>
                <td class="hs-num">{number(one.difference)}</td>
                <td class="hs-small">
                  {!before || before === after
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
