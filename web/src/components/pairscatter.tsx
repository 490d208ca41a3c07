import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { useRef } from "preact/hooks";

import type { Atlas } from "../data/atlas";
import type { Change } from "../data/compare";
import type { Statistic } from "../data/types";
import { pointFill } from "../families";
import { shown } from "../format";
import { useStore } from "../store";
import { SaveMenu } from "./save";

const SIZE = 400;
const PAD = 44;

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
  const [low = 0, high = 1] = extent(found.flatMap((one) => [one.a, one.b])) as [number, number];
  const scale = scaleLinear().domain([low, high]).nice().range([PAD, SIZE - 24]);
  const ticks = scale.tickFormat(5, about.kind === "share" ? "%" : undefined);
  const x = (value: number) => scale(value);
  const y = (value: number) => SIZE - scale(value);
  const named = apart(found.filter((one) => one.sure), x, y);
  const ends = scale.domain() as [number, number];
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
      <svg ref={chart} viewBox={`0 0 ${SIZE} ${SIZE}`} style={{ maxWidth: `${SIZE}px` }} role="img" aria-label={`${about.title}: A across, B upward`}>
        {scale.ticks(5).map((tick) => (
          <g key={tick}>
            <line class="hs-rule" x1={PAD} x2={SIZE - 24} y1={y(tick)} y2={y(tick)} />
            <line class="hs-rule" x1={x(tick)} x2={x(tick)} y1={24} y2={SIZE - PAD} />
            <text class="hs-tick" x={PAD - 6} y={y(tick) + 4} text-anchor="end">{ticks(tick)}</text>
            <text class="hs-tick" x={x(tick)} y={SIZE - PAD + 16} text-anchor="middle">{ticks(tick)}</text>
          </g>
        ))}
        <line class="hs-reference" x1={x(ends[0])} y1={y(ends[0])} x2={x(ends[1])} y2={y(ends[1])} />
        <text class="hs-tick" x={SIZE - 8} y={SIZE - 8} text-anchor="end">A: {first.document.model.name}</text>
        <text class="hs-tick" x={8} y={12}>B: {second.document.model.name}</text>
        {found.map((one) => (
          <g key={one.place} class="hs-dot" onClick={() => store.go(`head/${one.head}`)}>
            <circle cx={x(one.a)} cy={y(one.b)} r={3.6} fill={pointFill(first.family(one.place), first.excess(one.place), store.dark.value)} />
            {named.has(one.place) && (
              <text class="hs-tick" x={x(one.a) + 6} y={y(one.b) - 4}>{one.head}</text>
            )}
            <title>{`${one.head}: A ${shown(one.a, about)}, B ${shown(one.b, about)}`}</title>
          </g>
        ))}
      </svg>
    </section>
  );
}

/** The heads to name: those that changed most, no two names on top of each other. */
function apart(found: Change[], x: (value: number) => number, y: (value: number) => number): Set<number> {
  const kept: Change[] = [];
  for (const one of found) {
    const free = kept.every(
      (other) => Math.abs(x(one.a) - x(other.a)) > 32 || Math.abs(y(one.b) - y(other.b)) > 14,
    );
    if (free) kept.push(one);
    if (kept.length === 8) break;
  }
  return new Set(kept.map((one) => one.place));
}
