import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { visible } from "../data/sparse";
import { percent } from "../format";
import { useStore } from "../store";
import { useWidth } from "./measure";
import {
  type Drawing,
  drawMap,
  type MapScale,
  shape,
  type Weights,
  weightAt,
} from "./heatmap-draw";

interface Props {
  /** The queries and the keys. */
  rows: readonly string[];
  columns: readonly string[];
  weights: Weights;
  scale?: MapScale;
  /** The largest size of a cell in pixels. */
  cell?: number;
  /** A row in a frame. */
  row?: number | null;
  onPick?: (row: number, column: number) => void;
  label: string;
  /** The canvas, for saving. */
  canvas?: { current: HTMLCanvasElement | null };
  /** The tallest the map may be before it scrolls. */
  tallest?: number;
}

/** A map of attention: queries in rows, keys in columns. Only what is visible is drawn. */
export function HeatMap(props: Props) {
  const { rows, columns, weights, scale = "sqrt", row = null, label, tallest = 820 } = props;
  const store = useStore();
  const scroller = useRef<HTMLDivElement>(null);
  const own = useRef<HTMLCanvasElement>(null);
  const canvas = props.canvas ?? own;
  const [box, width, font] = useWidth<HTMLDivElement>();
  const [at, setAt] = useState<[number, number] | null>(null);
  const sizes = useMemo(() => {
    const longest = (names: readonly string[]) =>
      7.6 * names.slice(0, 400).reduce((most, name) => Math.max(most, visible(name, 14).length), 1);
    return shape(width, columns.length, props.cell ?? 24, longest(rows), longest(columns));
  }, [width, rows, columns, props.cell]);
  const full: [number, number] = [
    sizes.left + columns.length * sizes.cell + 1,
    sizes.top + rows.length * sizes.cell + 1,
  ];
  const slant = sizes.labels ? 36 : 0;
  const shown: [number, number] = [
    Math.min(full[0] + slant, Math.max(width, 1)),
    Math.min(full[1], tallest),
  ];
  // room for the bars of a box that scrolls
  const bar = [full[1] > shown[1] ? 12 : 0, full[0] > shown[0] ? 12 : 0];
  const draw = () => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen || width < 1) return;
    const dense = Math.min(devicePixelRatio || 1, 3);
    element.width = shown[0] * dense;
    element.height = shown[1] * dense;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim() || "#888888";
    const drawing: Drawing = {
      rows,
      columns,
      weights,
      scale,
      shape: sizes,
      size: shown,
      font,
      row,
      at,
      dark: store.dark.value,
      scroll: [scroller.current?.scrollLeft ?? 0, scroller.current?.scrollTop ?? 0],
      colours: {
        ground: colour("ground"),
        ink: colour("ink"),
        soft: colour("soft"),
        edge: colour("line"),
      },
    };
    drawMap(pen, drawing);
  };
  const dark = store.dark.value;
  useEffect(draw, [rows, columns, weights, scale, sizes, width, row, at, dark, font]);
  const where = (event: MouseEvent): [number, number] | null => {
    const bounds = canvas.current!.getBoundingClientRect();
    const x = event.clientX - bounds.left - sizes.left + (scroller.current?.scrollLeft ?? 0);
    const y = event.clientY - bounds.top - sizes.top + (scroller.current?.scrollTop ?? 0);
    const found: [number, number] = [Math.floor(y / sizes.cell), Math.floor(x / sizes.cell)];
    const inside =
      found[0] >= 0 && found[0] < rows.length && found[1] >= 0 && found[1] < columns.length;
    return inside && event.clientX - bounds.left >= sizes.left ? found : null;
  };
  const move = (next: [number, number]) => {
    const safe: [number, number] = [
      Math.max(0, Math.min(rows.length - 1, next[0])),
      Math.max(0, Math.min(columns.length - 1, next[1])),
    ];
    setAt(safe);
    reveal(scroller.current, safe, sizes, shown);
  };
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step) {
      move(at ? [at[0] + step[0], at[1] + step[1]] : [0, 0]);
      event.preventDefault();
    } else if (event.key === "Enter" && at) {
      props.onPick?.(at[0], at[1]);
    }
  };
  return (
    <div class="hs-map" ref={box}>
      <div
        class="hs-map-scroll"
        ref={scroller}
        style={{ width: `${shown[0] + bar[0]!}px`, height: `${shown[1] + bar[1]!}px` }}
        onScroll={draw}
      >
        <div style={{ width: `${Math.max(full[0], shown[0])}px`, height: `${full[1]}px` }}>
          <canvas
            ref={canvas}
            class="hs-map-canvas"
            style={{ width: `${shown[0]}px`, height: `${shown[1]}px` }}
            role="application"
            aria-roledescription="map of attention"
            aria-label={`${label}. Arrow keys move over the cells.`}
            tabIndex={0}
            onPointerMove={(event) => {
              const next = where(event);
              if (next?.[0] !== at?.[0] || next?.[1] !== at?.[1]) setAt(next);
            }}
            onPointerLeave={() => setAt(null)}
            onBlur={() => setAt(null)}
            onKeyDown={press}
            onClick={(event) => {
              const next = where(event);
              if (next) props.onPick?.(next[0], next[1]);
            }}
          />
        </div>
      </div>
      <p class="hs-map-said" aria-live="polite">
        {at
          ? `${visible(rows[at[0]] ?? "")} → ${visible(columns[at[1]] ?? "")} ` +
            `${percent(weightAt(weights, columns.length, at[0], at[1]))}`
          : " "}
      </p>
    </div>
  );
}

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Scroll so that a cell is in view. */
function reveal(
  box: HTMLElement | null,
  at: [number, number],
  { cell, left, top }: { cell: number; left: number; top: number },
  shown: [number, number],
): void {
  if (!box) return;
  const room = [shown[1] - top, shown[0] - left];
  const [y, x] = [at[0] * cell, at[1] * cell];
  if (y < box.scrollTop) box.scrollTop = y;
  else if (y + cell > box.scrollTop + room[0]!) box.scrollTop = y + cell - room[0]!;
  if (x < box.scrollLeft) box.scrollLeft = x;
  else if (x + cell > box.scrollLeft + room[1]!) box.scrollLeft = x + cell - room[1]!;
}
