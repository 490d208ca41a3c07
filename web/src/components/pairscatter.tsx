import { useRef } from "preact/hooks";

import type { Atlas } from "../data/atlas";
import type { Change } from "../data/compare";
import { extent } from "../data/fields";
import type { Statistic } from "../data/types";
import { pointFill } from "../families";
import { shown } from "../format";
import { useStore } from "../store";
import { Across, linear, Upward } from "./axis";
import { Points } from "./many";
import { SaveMenu } from "./save";

const SIZE = 400;
const [LOW, HIGH] = [44, SIZE - 24];

interface Props {
  found: Change[];
  about: Statistic;
  first: Atlas;
  second: Atlas;
}

/** One point per head: A across, B upward, with the diagonal of no change. */
export function PairScatter({ found, about, first, second }: Props) {
  const store = useStore();
  const chart = useRef<SVGSVGElement>(null);
  const values = extent(found.flatMap((one) => [one.a, one.b]));
  const options = { count: 5, percent: about.kind === "share" };
  const across = linear(values, [LOW, HIGH], options);
  const upward = linear(values, [SIZE - LOW, SIZE - HIGH], options);
  const points = found.map(({ place, a, b }) => ({ place, x: across.at(a), y: upward.at(b) }));
  const byPlace = new Map(found.map((one) => [one.place, one]));
  const [from, to] = across.ends;
  const label = (place: number) => {
    const { head, a, b } = byPlace.get(place)!;
    return `${head}: A ${shown(a, about)}, B ${shown(b, about)}`;
  };
  const data = () => ({
    columns: ["head", "a", "b"],
    rows: found.map((one) => [one.head, one.a, one.b]),
  });
  return (
    <section class="hs-pair">
      <div class="hs-title">
        <h2>One against the other</h2>
        <span>{about.title}</span>
        <SaveMenu name="scatter" chart={() => chart.current} data={data} />
      </div>
      <svg
        ref={chart}
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        style={{ maxWidth: `${SIZE}px` }}
        role="img"
        aria-label={`${about.title}: A across, B upward`}
      >
        <Across axis={across} from={SIZE - HIGH} to={SIZE - LOW} />
        <Upward axis={upward} from={LOW} to={HIGH} />
        <path
          class="hs-reference"
          d={`M${across.at(from)} ${upward.at(from)}L${across.at(to)} ${upward.at(to)}`}
        />
        <text class="hs-tick" x={SIZE - 8} y={SIZE - 8} text-anchor="end">
          A: {first.document.model.name}
        </text>
        <text class="hs-tick" x={8} y={12}>
          B: {second.document.model.name}
        </text>
        <Points
          {...{ points, label }}
          radius={3.6}
          colour={(place) => pointFill(first.family(place), first.excess(place), store.dark.value)}
          area={{ x: LOW - 6, y: SIZE - HIGH - 6, width: HIGH - LOW + 12, height: HIGH - LOW + 12 }}
        />
        {named(points).map(({ place, x, y }) => (
          <text key={place} class="hs-tick" x={x + 6} y={y - 4}>
            {first.name(place)}
          </text>
        ))}
      </svg>
    </section>
  );
}

type Spot = { place: number; x: number; y: number };

/** The heads to name: the eight that changed most, no two names on top of each other. */
function named(points: Spot[]): Spot[] {
  const kept: Spot[] = [];
  for (const one of points) {
    if (kept.length === 8) break;
    const free = (other: Spot) => Math.abs(one.x - other.x) > 32 || Math.abs(one.y - other.y) > 14;
    if (kept.every(free)) kept.push(one);
  }
  return kept;
}
