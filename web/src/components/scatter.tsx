import {
  symbol,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
} from "d3-shape";
import { memo } from "preact/compat";
import { useMemo, useRef } from "preact/hooks";

import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { extent, type Field, unitText } from "../data/fields";
import { FAMILIES, isRole } from "../families";
import { useStore } from "../store";
import { useBrush } from "./scatter-brush";
import { type Dot, extremity, type Label, placeLabels } from "./scatter-labels";
import { axis, type Axis } from "./scatter-scale";

interface Props {
  atlas: Atlas;
  x: Field;
  y: Field;
  colouring: Colouring;
  size?: Field;
  logX?: boolean;
  logY?: boolean;
  width: number;
  height: number;
  /** How many labels at most. */
  labels?: number;
  svgRef?: { current: SVGSVGElement | null };
}

interface Point extends Dot {
  radius: number;
}

const EDGE = { left: 44, right: 12, top: 24, bottom: 44 };

/** One point per head. Dragging selects; a click opens the head. */
export function Scatter(props: Props) {
  const { atlas, x, y, size, logX = false, logY = false, width, height, labels = 14 } = props;
  const store = useStore();
  const own = useRef<SVGSVGElement>(null);
  const svg = props.svgRef ?? own;
  const room = {
    left: EDGE.left,
    right: width - EDGE.right,
    top: EDGE.top,
    bottom: height - EDGE.bottom,
  };
  const across = useMemo(() => axis(x, room.left, room.right, logX), [x, width, logX]);
  const upward = useMemo(() => axis(y, room.bottom, room.top, logY, 48), [y, height, logY]);
  const points = useMemo(
    () => pointsOf(atlas, x, y, across, upward, size),
    [atlas, across, upward, size],
  );
  const selection = store.selection.value;
  const written = useMemo(() => {
    const wanted = selection ? points.filter((point) => selection.has(point.place)) : points;
    const order = extremity(wanted, width, height);
    return placeLabels(
      order,
      points,
      (place) => atlas.name(place),
      { ...room, right: width },
      labels,
    );
  }, [points, selection, labels]);
  const drag = useBrush(svg, points);
  const title = `${x.title} against ${y.title}, one point per head`;
  return (
    <svg
      ref={svg}
      class={drag.near ? "hs-scatter hs-scatter-near" : "hs-scatter"}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={title}
      {...drag.events}
    >
      <Axes {...{ across, upward, room, x, y }} />
      <Marks {...{ atlas, points, selection }} colouring={props.colouring} />
      {written.map((label) => (
        <PointLabel key={label.place} label={label} />
      ))}
      <Ring points={points} atlas={atlas} room={room} written={written} />
      {drag.box && <rect class="hs-brush" {...drag.box} />}
    </svg>
  );
}

function pointsOf(
  atlas: Atlas,
  x: Field,
  y: Field,
  across: Axis,
  upward: Axis,
  size?: Field,
): Point[] {
  const [low, high] = size ? extent(size.values) : [0, 0];
  const points: Point[] = [];
  for (let place = 0; place < atlas.size; place++) {
    const [left, top] = [across.at(x.values[place]!), upward.at(y.values[place]!)];
    if (!Number.isFinite(left) || !Number.isFinite(top)) continue;
    const value = size?.values[place];
    const share =
      value === undefined ? 0.25 : Number.isNaN(value) ? 0 : (value - low) / (high - low || 1);
    points.push({ place, x: left, y: top, radius: size ? 2 + 6 * Math.sqrt(share) : 4 });
  }
  return points;
}

const SHAPES = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolStar, symbolCross];

/** The shape of a role's points: colours alone are not told apart by everyone. */
export function roleShape(id: string, radius: number): string {
  const at = FAMILIES.findIndex((one) => one.id === id);
  return symbol(SHAPES[at % SHAPES.length], Math.PI * radius * radius)() ?? "";
}

interface MarksProps {
  atlas: Atlas;
  points: Point[];
  colouring: Colouring;
  selection: ReadonlySet<number> | null;
}

/** The points; not drawn anew while the pointer moves. */
const Marks = memo(function Marks({ atlas, points, colouring, selection }: MarksProps) {
  const roles = colouring.kind === "roles";
  return (
    <>
      {points.map(({ place, x, y, radius }) => {
        const id = atlas.family(place);
        const hollow = roles && !isRole(id) && id !== "broad";
        const dim = selection !== null && !selection.has(place);
        const shape = roles && isRole(id) ? roleShape(id, radius) : undefined;
        const kind = hollow ? " hs-point-hollow" : roles ? "" : " hs-point-edged";
        if (shape) {
          return (
            <path
              key={place}
              class={`hs-point${dim ? " hs-dim" : ""}`}
              d={shape}
              transform={`translate(${x} ${y})`}
              fill={colouring.of(place)}
            />
          );
        }
        return (
          <circle
            key={place}
            class={`hs-point${kind}${dim ? " hs-dim" : ""}`}
            cx={x}
            cy={y}
            r={radius}
            fill={hollow ? undefined : colouring.of(place)}
          />
        );
      })}
    </>
  );
});

function PointLabel({ label }: { label: Label }) {
  const { anchor, left, width, top, text } = label;
  const x = anchor === "middle" ? label.x : anchor === "start" ? left : left + width;
  return (
    <text class="hs-point-label" x={x} y={top + 10.5} text-anchor={anchor}>
      {text}
    </text>
  );
}

interface AxesProps {
  across: Axis;
  upward: Axis;
  room: { left: number; right: number; top: number; bottom: number };
  x: Field;
  y: Field;
}

function Axes({ across, upward, room, x, y }: AxesProps) {
  const words = (field: Field) => [field.title, unitText(field)].filter(Boolean).join(": ");
  return (
    <g class="hs-axes">
      {across.ticks.map((tick) => (
        <g key={`x${tick.text}`}>
          <line x1={tick.at} x2={tick.at} y1={room.top} y2={room.bottom} />
          <text x={tick.at} y={room.bottom + 16} text-anchor="middle">
            {tick.text}
          </text>
        </g>
      ))}
      {upward.ticks.map((tick) => (
        <g key={`y${tick.text}`}>
          <line x1={room.left} x2={room.right} y1={tick.at} y2={tick.at} />
          <text x={room.left - 8} y={tick.at + 4} text-anchor="end">
            {tick.text}
          </text>
        </g>
      ))}
      <text x={room.left} y={12}>
        {short(words(y), room.right)}
      </text>
      <text x={room.left} y={room.bottom + 34}>
        {short(words(x), room.right - room.left)}
      </text>
    </g>
  );
}

/** Words that fit an axis. */
function short(text: string, room: number): string {
  const letters = Math.floor(room / 5.6);
  return text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 1))}…`;
}

interface RingProps {
  points: Point[];
  atlas: Atlas;
  room: { right: number };
  written: Label[];
}

/** A ring around the head in focus, with its name. */
function Ring({ points, atlas, room, written }: RingProps) {
  const store = useStore();
  const place = store.focus.value;
  const point = place === null ? undefined : points.find((one) => one.place === place);
  if (!point) return null;
  const end = point.x > room.right - 60;
  const away = point.radius + 8;
  return (
    <g class="hs-ring">
      <circle cx={point.x} cy={point.y} r={point.radius + 3} />
      {!written.some((label) => label.place === place) && (
        <text
          x={end ? point.x - away : point.x + away}
          y={point.y + 4}
          text-anchor={end ? "end" : "start"}
        >
          {atlas.name(point.place)}
        </text>
      )}
    </g>
  );
}
