import { useEffect, useRef } from "preact/hooks";

import { family, isRole } from "../families";
import { useStore } from "../store";
import { type GridProps, GridLabels, moved } from "./grid";
import { headLabel } from "./grid-cell";
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
        <GridLabels {...props} />
        {focus !== null && <Frame arrangement={arrangement} place={focus} />}
      </svg>
      <span class="hs-unseen" aria-live="polite">
        {focus === null ? "" : headLabel(atlas, focus, colouring)}
      </span>
    </div>
  );
}

function Frame({ arrangement, place }: { arrangement: Arrangement; place: number }) {
  const [x, y, width, height] = arrangement.box(place);
  return <rect class="hs-outline" x={x - 1} y={y - 1} width={width + 2} height={height + 2} />;
}

function draw(
  canvas: HTMLCanvasElement,
  { atlas, layout, colouring, dark, other, arrangement }: GridProps & { arrangement: Arrangement },
  selection: ReadonlySet<number> | null,
): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let place = 0; place < atlas.size; place++) {
    const [x, y, width, height] = arrangement.box(place);
    context.globalAlpha = selection && !selection.has(place) ? 0.18 : 1;
    if (colouring.kind === "roles" && atlas.family(place) === "rests") {
      context.strokeStyle = dark ? "#54555a" : "#c9c8c4";
      context.lineWidth = 0.75;
      context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
      continue;
    }
    context.fillStyle = colouring.of(place);
    context.fillRect(x, y, width, height);
    if (other) {
      context.fillStyle = other.colouring.of(place);
      context.fillRect(x + width / 2, y, width / 2, height);
    } else if (
      colouring.kind === "roles" &&
      width >= 12 &&
      height >= 12 &&
      isRole(atlas.family(place))
    ) {
      context.fillStyle = dark ? "#ffffff" : "#17181a";
      context.font = `${Math.min(width, height) * 0.7}px sans-serif`;
      context.fillText(family(atlas.family(place)).symbol, x + width / 2, y + height / 2);
    }
  }
}
