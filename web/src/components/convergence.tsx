import { scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { useRef } from "preact/hooks";

import type { Convergence } from "../data/types";
import { count } from "../format";
import { useStore } from "../store";
import { SaveMenu } from "./save";
import { plain } from "./scatter-scale";

/** Intervals narrower than this are certain enough for anybody. */
const LEAST = 1e-5;
const EDGE = { left: 48, right: 8, top: 24, bottom: 40 };

/** How intervals shrink with the number of examples, and how many more would halve them. */
export function CorpusSize({ width }: { width: number }) {
  const { document } = useStore().atlas!;
  const lines = document.convergence.filter((one) => (one.half.at(-1) ?? 0) > LEAST);
  const svg = useRef<SVGSVGElement>(null);
  // the summary may have said it already
  const told = document.summary.some((one) =>
    one.parts.some((part) => part.text.includes("halves")),
  );
  const stability = told ? null : document.stability;
  if (!lines.length && !stability) return null;
  const data = () => ({
    columns: ["statistic", "head", "unit", "examples", "half-width"],
    rows: lines.flatMap((one) =>
      one.examples.map((n, at) => [one.title, one.head, one.unit, n, one.half[at] ?? null]),
    ),
  });
  return (
    <section class="hs-corpus">
      <div class="hs-title">
        <h2>Is the corpus large enough?</h2>
        {lines.length > 0 && <SaveMenu name="corpus-size" chart={() => svg.current} data={data} />}
      </div>
      <p class="hs-corpus-words">
        {stability &&
          `When documents are drawn anew, ${count(stability[0])} of ${count(stability[1])} heads with a role keep it. `}
        {lines.length > 0 && halving(lines, document.corpus.examples)}
      </p>
      {lines.length > 0 && width > 0 && (
        <div class="hs-corpus-chart">
          <Chart svg={svg} lines={lines} width={Math.min(width, 440)} />
          <ol class="hs-corpus-lines">
            {lines.map((one, at) => (
              <li key={at}>
                <span class="hs-soft">{at + 1}</span> {one.title}{" "}
                <span class="hs-soft">of {one.head}</span> ± {halfText(one.half.at(-1) ?? NaN)}{" "}
                {one.unit === "nats" ? "nats" : ""}
              </li>
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}

/** One digit that counts, two from 0.1: 0.0004, 0.05, 0.12. */
export function halfText(half: number): string {
  if (!(half > 0)) return "–";
  return half.toFixed(half >= 0.1 ? 2 : Math.min(6, Math.ceil(-Math.log10(half))));
}

/** Heights for labels, moved apart where they would touch; in the order given. */
export function apart(heights: number[], least: number): number[] {
  const order = heights.map((_, at) => at).sort((a, b) => heights[a]! - heights[b]!);
  const moved = [...heights];
  order.forEach((at, rank) => {
    if (rank > 0) moved[at] = Math.max(moved[at]!, moved[order[rank - 1]!]! + least);
  });
  return moved;
}

function halving(lines: Convergence[], examples: number): string {
  const most = Math.max(...lines.map((one) => one.needed).filter(Number.isFinite));
  if (!Number.isFinite(most)) return "";
  return `Halving the intervals below takes about ${count(most)} examples; there are ${count(examples)}.`;
}

function Chart({
  svg,
  lines,
  width,
}: {
  svg: { current: SVGSVGElement | null };
  lines: Convergence[];
  width: number;
}) {
  const height = 176;
  const all = lines.flatMap((one) => one.half.filter((half) => half > 0));
  const examples = lines.flatMap((one) => one.examples.filter((n) => n > 0));
  const x = scaleLog()
    .domain([Math.min(...examples), Math.max(...examples)])
    .range([EDGE.left, width - EDGE.right - 12]);
  const y = scaleLog()
    .domain([Math.min(...all), Math.max(...all)])
    .range([height - EDGE.bottom, EDGE.top]);
  const path = line<[number, number]>(
    (point) => x(point[0]),
    (point) => y(point[1]),
  );
  const points = (one: Convergence) =>
    one.examples
      .map((n, at): [number, number] => [n, one.half[at] ?? NaN])
      .filter(([n, half]) => n > 0 && half > 0);
  const ends = apart(
    lines.map((one) => y(one.half.at(-1)!)),
    11,
  );
  return (
    <svg
      ref={svg}
      class="hs-convergence"
      width={width}
      height={height}
      role="img"
      aria-label={`Half-width of 95 % intervals by number of examples: ${lines.map((one) => one.title).join(", ")}`}
    >
      <g class="hs-axes">
        {spread(x.ticks(), 6).map((n) => (
          <g key={n}>
            <line x1={x(n)} x2={x(n)} y1={EDGE.top} y2={height - EDGE.bottom} />
            <text x={x(n)} y={height - EDGE.bottom + 16} text-anchor="middle">
              {plain(n)}
            </text>
          </g>
        ))}
        {spread(y.ticks(), 5).map((half) => (
          <g key={half}>
            <line x1={EDGE.left} x2={width - EDGE.right} y1={y(half)} y2={y(half)} />
            <text x={EDGE.left - 8} y={y(half) + 4} text-anchor="end">
              {plain(half)}
            </text>
          </g>
        ))}
        <text x={EDGE.left} y={12}>
          half-width of the 95 % interval
        </text>
        <text x={EDGE.left} y={height - 6}>
          examples
        </text>
      </g>
      {lines.map((one, at) => {
        const all = points(one);
        const last = all.at(-1);
        return (
          <g key={at}>
            <path class="hs-convergence-line" d={path(all) ?? ""} />
            {last && <circle class="hs-convergence-dot" cx={x(last[0])} cy={y(last[1])} r={2.5} />}
            {last && (
              <text class="hs-tick" x={x(last[0]) + 6} y={ends[at]! + 4}>
                {at + 1}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** At most so many ticks, those that are 1, 2 or 5 times a power of ten first. */
export function spread(ticks: number[], most: number): number[] {
  for (const digits of [/^[1-9]/, /^[125]/, /^1/]) {
    const kept = ticks.filter((one) => digits.test(one.toExponential()));
    if (kept.length <= most) return kept;
  }
  return ticks.filter((_, at) => at % Math.ceil(ticks.length / most) === 0);
}
