import { useRef, useState } from "preact/hooks";

import { useStore } from "../store";
import type { Dot } from "./scatter-labels";

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Dragging a rectangle with a mouse or a pen; a finger scrolls. */
export function useBrush(svg: { current: SVGSVGElement | null }, points: Dot[]) {
  const store = useStore();
  const [box, setBox] = useState<Box | null>(null);
  const [near, setNear] = useState(false);
  const start = useRef<{ x: number; y: number } | null>(null);
  const position = (event: PointerEvent) => {
    const frame = svg.current!.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  const move = (event: PointerEvent) => {
    const at = position(event);
    if (start.current) {
      setBox(between(start.current, at));
      return;
    }
    const found = nearest(points, at.x, at.y);
    setNear(found >= 0);
    if (found >= 0 && store.focus.value !== found) store.focus.value = found;
  };
  const end = (event: PointerEvent) => {
    const [from, at] = [start.current, position(event)];
    start.current = null;
    setBox(null);
    if (!from) return;
    const area = between(from, at);
    if (area.width > 4 || area.height > 4) {
      const chosen = points.filter((one) => contains(area, one)).map((one) => one.place);
      store.select(chosen.length ? chosen : null, chosen.length ? "chosen in the chart" : "");
      return;
    }
    const found = nearest(points, at.x, at.y);
    if (found >= 0) store.go(`head/${store.atlas!.name(found)}`);
    else store.select(null);
  };
  return {
    box,
    near,
    events: {
      onPointerDown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        if (event.pointerType === "touch") {
          const at = position(event);
          const found = nearest(points, at.x, at.y);
          if (found >= 0) store.focus.value = found;
          return;
        }
        start.current = position(event);
        svg.current!.setPointerCapture(event.pointerId);
      },
      onPointerMove: move,
      onPointerUp: end,
      onPointerCancel: () => {
        start.current = null;
        setBox(null);
      },
    },
  };
}

function between(a: { x: number; y: number }, b: { x: number; y: number }): Box {
  return {
    x: Math.min(a.x, b.x),
    y: Math.min(a.y, b.y),
    width: Math.abs(a.x - b.x),
    height: Math.abs(a.y - b.y),
  };
}

export function contains(box: Box, point: { x: number; y: number }): boolean {
  return (
    point.x >= box.x &&
    point.x <= box.x + box.width &&
    point.y >= box.y &&
    point.y <= box.y + box.height
  );
}

/** The place of the nearest point within reach; -1 if there is none. */
export function nearest(points: Dot[], x: number, y: number, reach = 12): number {
  let [best, apart] = [-1, reach];
  for (const point of points) {
    const distance = Math.hypot(point.x - x, point.y - y);
    if (distance < apart) [best, apart] = [point.place, distance];
  }
  return best;
}
