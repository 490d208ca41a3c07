import { useEffect, useMemo, useRef } from "preact/hooks";
import { memo } from "preact/compat";

import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { useStore } from "../store";
import { CellFace, headLabel } from "./grid-cell";
import { Arrangement, type Layout } from "./grid-layout";
import { CanvasGrid } from "./grid-canvas";

export interface GridProps {
  atlas: Atlas;
  colouring: Colouring;
  layout: Layout;
  /** For each place its position within its layer. */
  orders: ArrayLike<number>;
  numbered: boolean;
  dark: boolean;
  other?: { atlas: Atlas; colouring: Colouring; differing: boolean };
}

/** The grid of heads. Arrows move, Enter opens; pointing shows the head's card. */
export function HeadGrid(props: GridProps) {
  const { atlas, layout, orders } = props;
  const arrangement = useMemo(
    () => new Arrangement(layout, atlas, orders),
    [layout, atlas, orders],
  );
  return layout.canvas ? (
    <CanvasGrid {...props} arrangement={arrangement} />
  ) : (
    <SvgGrid {...props} arrangement={arrangement} />
  );
}

function SvgGrid(props: GridProps & { arrangement: Arrangement }) {
  const { atlas, layout, arrangement } = props;
  const store = useStore();
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => {
    svg.current?.querySelector('[data-place="0"]')?.setAttribute("tabindex", "0");
  }, [layout.canvas]);
  const enter = (event: Event) => {
    const place = placeOf(event.target);
    if (place >= 0) store.focus.value = place;
  };
  const press = (event: KeyboardEvent) => {
    const place = placeOf(event.target);
    if (place >= 0 && event.key === "Enter") store.go(`head/${atlas.name(place)}`);
    const next = place < 0 ? -1 : moved(arrangement, place, event.key);
    if (next < 0) return;
    event.preventDefault();
    moveFocus(svg.current!, place, next);
  };
  const open = (event: MouseEvent) => {
    const place = placeOf(event.target);
    if (place >= 0) store.go(`head/${atlas.name(place)}`);
  };
  return (
    <svg
      ref={svg}
      class="hs-grid"
      role="grid"
      aria-label={`Heads by ${props.colouring.title}`}
      width={layout.width}
      height={layout.height}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      onPointerOver={enter}
      onFocusIn={enter}
      onKeyDown={press}
      onClick={open}
    >
      <GridLabels {...props} numbers={props.atlas.document.model.numbers} />
      <Faces {...props} selection={store.selection.value} />
      <Outline arrangement={arrangement} />
    </svg>
  );
}

/** Cells do not change while the pointer moves: they are drawn anew only when what they show does. */
const Faces = memo(function Faces(
  props: GridProps & { arrangement: Arrangement; selection: ReadonlySet<number> | null },
) {
  const { atlas, arrangement, selection, colouring } = props;
  const dim = (place: number) => selection !== null && !selection.has(place);
  const places = Array.from({ length: arrangement.size }, (_, place) => place);
  return (
    <>
      <g aria-hidden="true">
        {places.map((place) => (
          <g key={place} class={dim(place) ? "hs-cell hs-dim" : "hs-cell"} data-face={atlas.name(place)}>
            <CellFace {...props} place={place} box={arrangement.box(place)} />
          </g>
        ))}
      </g>
      {arrangement.rows.map((row, at) => (
        <g role="row" key={at}>
          {row.map((place) => {
            const [x, y, width, height] = arrangement.box(place);
            return (
              <rect
                key={place}
                role="gridcell"
                tabindex={place === 0 ? 0 : -1}
                data-place={place}
                data-head={atlas.name(place)}
                class="hs-cover"
                aria-selected={selection ? !dim(place) : undefined}
                aria-label={headLabel(atlas, place, colouring)}
                {...{ x, y, width, height }}
              />
            );
          })}
        </g>
      ))}
    </>
  );
}, sameCells);

function sameCells(
  a: GridProps & { selection: unknown },
  b: GridProps & { selection: unknown },
): boolean {
  return (
    a.colouring === b.colouring &&
    a.layout === b.layout &&
    a.orders === b.orders &&
    a.selection === b.selection &&
    a.other === b.other &&
    a.dark === b.dark &&
    a.atlas === b.atlas
  );
}

/** Numbers of layers and heads. */
export function GridLabels({
  numbers,
  layout,
  numbered,
  bare = false,
}: Pick<GridProps, "layout" | "numbered"> & {
  /** The model's own numbers of its layers. */
  numbers: number[];
  /** Only the numbers of layers. */
  bare?: boolean;
}) {
  const { across, columns, rows, left, top, stepX, stepY, gap } = layout;
  const layer = (at: number) => numbers[at] ?? at + 1;
  const every = (step: number, least: number) =>
    [1, 2, 5, 10, 20].find((one) => one * step >= least) ?? 50;
  const [skipX, skipY] = [every(stepX, 18), every(stepY, 14)];
  const columnName = (at: number) => (across ? layer(at) : numbered ? at + 1 : "");
  const rowName = (at: number) => (across ? (numbered ? at + 1 : "") : layer(rows - 1 - at));
  const shown = (value: number | string, skip: number) =>
    skip === 1 ||
    (typeof value === "number" &&
      (skip === 2 ? value % 2 === 1 : value === 1 || value % skip === 0));
  return (
    <g class="hs-grid-axis" aria-hidden="true">
      {!bare && (
        <text x={0} y={12}>
          {across ? "layer →" : "layer"}
        </text>
      )}
      {Array.from({ length: columns }, (_, at) => at)
        .filter((at) => shown(columnName(at), skipX))
        .map((at) => (
          <text key={at} x={left + at * stepX + (stepX - gap) / 2} y={top - 8} text-anchor="middle">
            {columnName(at)}
          </text>
        ))}
      {Array.from({ length: rows }, (_, at) => at)
        .filter((at) => shown(rowName(at), skipY))
        .map((at) => (
          <text
            key={at}
            x={left - 10}
            y={top + at * stepY + (stepY - gap) / 2 + 4}
            text-anchor="end"
          >
            {rowName(at)}
          </text>
        ))}
      {!numbered && !across && !bare && (
        <text x={left} y={12}>
          largest first →
        </text>
      )}
    </g>
  );
}

/** A frame around the head under the pointer or the keyboard. */
export function Outline({ arrangement }: { arrangement: Arrangement }) {
  const store = useStore();
  const place = store.focus.value;
  if (place === null) return null;
  const [x, y, width, height] = arrangement.box(place);
  return <rect class="hs-outline" x={x - 1} y={y - 1} width={width + 2} height={height + 2} />;
}

function placeOf(target: EventTarget | null): number {
  const cell = (target as Element | null)?.closest?.("[data-place]");
  return cell ? Number(cell.getAttribute("data-place")) : -1;
}

function moveFocus(svg: SVGSVGElement, from: number, to: number): void {
  const cell = (place: number) => svg.querySelector<SVGElement>(`[data-place="${place}"]`);
  svg.querySelectorAll('[tabindex="0"]').forEach((one) => one.setAttribute("tabindex", "-1"));
  cell(from)?.setAttribute("tabindex", "-1");
  cell(to)?.setAttribute("tabindex", "0");
  cell(to)?.focus();
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Where a key moves to; -1 for other keys. */
export function moved(arrangement: Arrangement, place: number, key: string): number {
  const step = STEPS[key];
  if (step) return arrangement.step(place, ...step);
  if (key === "Home" || key === "End") return arrangement.edge(place, key === "End");
  return -1;
}
