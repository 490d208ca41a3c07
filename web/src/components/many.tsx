import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { useStore } from "../store";
import type { Arrangement } from "./grid-layout";
import { moved } from "./grid";
import { nearest } from "./scatter-brush";

/** One path per colour over many shapes; shapes without a colour are left out. */
export function byColour(
  size: number,
  colour: (place: number) => string,
  shape: (place: number) => string,
): [colour: string, path: string][] {
  const parts = new Map<string, string[]>();
  for (let place = 0; place < size; place++) {
    const own = colour(place);
    if (!own) continue;
    const held = parts.get(own);
    if (held) held.push(shape(place));
    else parts.set(own, [shape(place)]);
  }
  return [...parts].map(([own, shapes]) => [own, shapes.join("")]);
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface CoverProps {
  area: Area;
  /** The head at a point; -1 where there is none. */
  at(x: number, y: number): number;
  /** What is said of a head. */
  label(place: number): string;
  /** The outline of the head under the pointer or the keyboard. */
  outline(place: number): string;
  /** By default, the head's page is opened. */
  pick?: (place: number, event: Event) => void;
  /** With a keyboard: where it begins, and where a key moves to (-1: nowhere). */
  keys?: { start: number; about: string; move(place: number, key: string): number };
}

/** One listener for all heads of a chart: pointing names a head, a click or Enter opens it. */
function Cover({ area, at, label, outline, pick, keys }: CoverProps) {
  const store = useStore();
  const rect = useRef<SVGRectElement>(null);
  const [near, setNear] = useState(-1);
  const choose =
    pick ?? ((place: number) => store.go(`head/${store.atlas!.name(place)}`));
  const point = (event: MouseEvent) => {
    const box = rect.current!.getBoundingClientRect();
    const scale = area.width / (box.width || 1);
    return at(
      area.x + (event.clientX - box.left) * scale,
      area.y + (event.clientY - box.top) * scale,
    );
  };
  const press = (event: KeyboardEvent) => {
    const from = near < 0 ? keys!.start : near;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return choose(from, event);
    }
    const next = keys!.move(from, event.key);
    if (next < 0) return;
    event.preventDefault();
    setNear(next);
  };
  const board = keys && {
    tabIndex: 0,
    role: "application" as const,
    "aria-label": `${label(near < 0 ? keys.start : near)}. ${keys.about}`,
    onKeyDown: press,
    onFocus: () => setNear(near < 0 ? keys.start : near),
    onBlur: () => setNear(-1),
  };
  return (
    <>
      {near >= 0 && <path class="hs-outline" d={outline(near)} />}
      <rect
        ref={rect}
        class={near < 0 ? "hs-cover" : "hs-cover hs-dot"}
        {...area}
        {...board}
        onPointerMove={(event) => setNear(point(event))}
        onPointerLeave={() => setNear(-1)}
        onClick={(event) => {
          const place = point(event);
          if (place >= 0) choose(place, event);
        }}
      >
        {near >= 0 && <title>{label(near)}</title>}
      </rect>
    </>
  );
}

interface CellsProps extends Pick<CoverProps, "label" | "pick"> {
  arrangement: Arrangement;
  /** The colour of a head's cell; "" draws none. */
  colour(place: number): string;
  /** Draw anew when one of these changes. */
  by: unknown[];
  /** Where the keyboard begins, and what it does besides. */
  start?: number;
  about?: string;
  step?: (place: number, key: string) => number;
  /** Marks above the cells. */
  children?: ComponentChildren;
}

/** A small grid of heads, within an SVG. */
export function Cells(props: CellsProps) {
  const { arrangement, colour, by, label, pick, start = 0, step, children } = props;
  const { layout, size } = arrangement;
  const box = (place: number) => {
    const [x, y, width, height] = arrangement.box(place);
    return `M${x} ${y}h${width}v${height}h${-width}z`;
  };
  const paths = useMemo(() => byColour(size, colour, box), [arrangement, ...by]);
  const { left: x, top: y } = layout;
  return (
    <>
      {paths.map(([own, d]) => (
        <path key={own} fill={own} d={d} />
      ))}
      {children}
      <Cover
        area={{ x, y, width: layout.columns * layout.stepX, height: layout.rows * layout.stepY }}
        at={(left, top) => arrangement.at(left, top)}
        outline={box}
        keys={{
          start,
          about: props.about ?? "Arrows move, Enter opens.",
          move: step ?? ((place, key) => moved(arrangement, place, key)),
        }}
        {...{ label, pick }}
      />
    </>
  );
}

export interface Point {
  place: number;
  x: number;
  y: number;
}

interface PointsProps extends Pick<CoverProps, "area" | "label"> {
  points: Point[];
  radius: number;
  colour(place: number): string;
}

/** One point per head, within an SVG. */
export function Points({ points, radius, colour, area, label }: PointsProps) {
  const circle = ({ x, y }: Point, r: number) =>
    `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  const paths = byColour(
    points.length,
    (at) => colour(points[at]!.place),
    (at) => circle(points[at]!, radius),
  );
  const of = (place: number) => points.find((one) => one.place === place);
  return (
    <>
      {paths.map(([own, d]) => (
        <path key={own} class="hs-points" fill={own} d={d} />
      ))}
      <Cover
        {...{ area, label }}
        at={(x, y) => nearest(points, x, y)}
        outline={(place) => (of(place) ? circle(of(place)!, radius + 1.5) : "")}
      />
    </>
  );
}
