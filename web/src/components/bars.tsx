import { useMemo, useRef } from "preact/hooks";

import type { Atlas } from "../data/atlas";
import { percent } from "../format";
import type { Layout } from "./grid-layout";
import { SaveMenu } from "./save";

/** Where a layer's attention goes: the mean over its heads, by kind. */
export interface Rest {
  id: string;
  title: string;
  /** By layer. */
  shares: number[];
  tone: number;
}

const ORDER = ["at work", "stops", "separator", "start", "other"];

export function restShares(atlas: Atlas): Rest[] {
  const kinds = atlas.document.activity;
  return ORDER.filter((id) => kinds.includes(id))
    .map((id, tone) => {
      const row = atlas.row("activity", kinds.indexOf(id));
      const shares = Array.from({ length: atlas.layers }, (_, layer) => {
        const mine = row.subarray(layer * atlas.heads, (layer + 1) * atlas.heads);
        const known = Array.from(mine).filter((one) => !Number.isNaN(one));
        return known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0;
      });
      return { id, title: atlas.document.rests[kinds.indexOf(id)] ?? id, shares, tone };
    })
    .filter(({ id, shares }) => id === "at work" || Math.max(...shares) >= 0.005);
}

interface Props {
  atlas: Atlas;
  layout: Layout;
  /** Beside the grid, row by row; below it, column by column; or on its own in a narrow window. */
  form: "beside" | "below" | "alone";
  room: number;
}

/** Stacked bars, one per layer, aligned with the grid. */
export function LayerBars({ atlas, layout, form, room }: Props) {
  const svg = useRef<SVGSVGElement>(null);
  const rests = useMemo(() => restShares(atlas), [atlas]);
  const names = atlas.document.model.numbers;
  const data = () => ({
    columns: ["layer", ...rests.map((one) => one.title)],
    rows: names.map((layer, at) => [layer, ...rests.map((one) => one.shares[at]!)]),
  });
  const label = `Where attention goes: ${names
    .map((layer, at) => `layer ${layer} ${percent(rests[0]?.shares[at] ?? NaN)} active`)
    .join(", ")}`;
  if (!rests.length) return null;
  return (
    <div class={`hs-layerbars hs-layerbars-${form}`}>
      <p class="hs-layerbars-title hs-small">
        where attention goes <SaveMenu name="layers" chart={() => svg.current} data={data} />
      </p>
      {form === "below" ? (
        <Columns svg={svg} rests={rests} layout={layout} names={names} label={label} />
      ) : (
        <Rows
          svg={svg}
          rests={rests}
          layout={layout}
          names={names}
          label={label}
          form={form}
          room={room}
        />
      )}
    </div>
  );
}

interface Drawing {
  svg: { current: SVGSVGElement | null };
  rests: Rest[];
  layout: Layout;
  names: number[];
  label: string;
}

function Rows({
  svg,
  rests,
  layout,
  names,
  label,
  form,
  room,
}: Drawing & { form: string; room: number }) {
  const alone = form === "alone";
  const step = alone ? Math.min(layout.stepY, 22) : layout.stepY;
  const left = alone ? layout.left : 0;
  const length = Math.max(room - left - 44, 40);
  const thick = Math.min(16, step * 0.7);
  const height = names.length * step;
  return (
    <svg ref={svg} width={room} height={height} role="img" aria-label={label}>
      {names.map((name, layer) => {
        const middle = (names.length - 1 - layer) * step + (step - layout.gap) / 2;
        return (
          <g key={layer}>
            {alone && (
              <text class="hs-tick" x={left - 10} y={middle + 4} text-anchor="end">
                {name}
              </text>
            )}
            {stacked(rests, layer).map(({ rest, from, share }) => (
              <rect
                key={rest.id}
                class={`hs-tone-${rest.tone}`}
                height={thick}
                y={middle - thick / 2}
                x={left + from * length}
                width={Math.max(share * length - 1, 0)}
              >
                <title>{`layer ${name}: ${rest.title} ${percent(share)}`}</title>
              </rect>
            ))}
            {step >= 12 && (
              <text class="hs-tick" x={left + length + 8} y={middle + 4}>
                {percent(rests[0]!.shares[layer]!)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

const TALL = 40;

function Columns({ svg, rests, layout, names, label }: Drawing) {
  const { left, stepX, gap, width } = layout;
  return (
    <svg ref={svg} width={width} height={TALL} role="img" aria-label={label}>
      {names.map((name, layer) => (
        <g key={layer}>
          {stacked(rests, layer).map(({ rest, from, share }) => (
            <rect
              key={rest.id}
              class={`hs-tone-${rest.tone}`}
              x={left + layer * stepX}
              width={stepX - gap}
              y={TALL * (1 - from - share)}
              height={Math.max(share * TALL - 0.5, 0)}
            >
              <title>{`layer ${name}: ${rest.title} ${percent(share)}`}</title>
            </rect>
          ))}
        </g>
      ))}
    </svg>
  );
}

function stacked(rests: Rest[], layer: number): { rest: Rest; from: number; share: number }[] {
  let from = 0;
  return rests.map((rest) => {
    const share = rest.shares[layer]!;
    const here = { rest, from, share };
    from += share;
    return here;
  });
}

/** What the tones mean. */
export function BarsKey({ atlas }: { atlas: Atlas }) {
  const rests = useMemo(() => restShares(atlas), [atlas]);
  return (
    <span class="hs-key">
      {rests.map((rest) => (
        <span key={rest.id}>
          <i class={`hs-key-colour hs-tone-${rest.tone}`} aria-hidden="true" /> {rest.title}
        </span>
      ))}
    </span>
  );
}
