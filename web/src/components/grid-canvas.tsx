import { useEffect, useRef } from "preact/hooks";

import { useStore } from "../store";
import { type GridProps, GridLabels, moved, Outline } from "./grid";
import { drawFace, faceOf, headLabel } from "./grid-cell";
import type { Arrangement } from "./grid-layout";

/** The grid of a large model: one canvas for the cells, SVG above it for labels and the frame. */
export function CanvasGrid(props: GridProps & { arrangement: Arrangement }) {
  const { atlas, layout, arrangement, colouring, dark } = props;
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const selection = store.selection.value;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, props, selection);
  }, [layout, arrangement, colouring, dark, selection, props.other]);
  const focus = store.focus.value;
  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return arrangement.at(event.clientX - box.left, event.clientY - box.top);
  };
  const press = (event: KeyboardEvent) => {
    const place = focus ?? 0;
    if (event.key === "Enter") store.go(`head/${atlas.name(place)}`);
    const next = moved(arrangement, place, event.key);
    if (next < 0) return;
    event.preventDefault();
    store.focus.value = next;
  };
  return (
    <div
      class="hs-canvas-grid"
      tabIndex={0}
      role="application"
      aria-label={`${atlas.size} heads by ${colouring.title}. Arrows move, Enter opens.`}
      style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
      onKeyDown={press}
    >
      <canvas
        ref={canvas}
        style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
        onPointerMove={(event) => {
          const place = point(event);
          if (place >= 0 && place !== store.focus.value) store.focus.value = place;
        }}
        onClick={(event) => {
          const place = point(event);
          if (place >= 0) store.go(`head/${atlas.name(place)}`);
        }}
      />
      <svg width={layout.width} height={layout.height} aria-hidden="true">
        <GridLabels {...props} numbers={atlas.document.model.numbers} />
        <Outline arrangement={arrangement} />
      </svg>
      <span class="hs-unseen" aria-live="polite">
        {focus === null ? "" : headLabel(atlas, focus, colouring)}
      </span>
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  props: GridProps & { arrangement: Arrangement },
  selection: ReadonlySet<number> | null,
): void {
  const { atlas, layout, arrangement } = props;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const known = new Map<string, string>();
  const property = (name: string) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(name).trim());
    return known.get(name)!;
  };
  for (let place = 0; place < atlas.size; place++) {
    pen.globalAlpha = selection && !selection.has(place) ? 0.18 : 1;
    const shapes = faceOf({ ...props, place, box: arrangement.box(place) });
    drawFace(pen, shapes, style.fontFamily || "sans-serif", property);
  }
}
