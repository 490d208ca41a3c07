import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { fieldText } from "../data/fields";
import { standing } from "../data/nulls";
import { family, fill, ink, isRole } from "../families";
import { percent } from "../format";

export type Box = [x: number, y: number, width: number, height: number];

/** A shape of a cell, for an SVG as for a canvas. Colours may be properties: "var(--line)". */
interface Shape {
  path?: string;
  fill?: string;
  stroke?: string;
  thick?: number;
  dash?: number[];
  round?: boolean;
  opacity?: number;
  text?: string;
  x?: number;
  y?: number;
  size?: number;
  middle?: boolean;
}

interface Props {
  atlas: Atlas;
  place: number;
  box: Box;
  colouring: Colouring;
  dark: boolean;
  /** The same head of a second model: split, or only where the roles differ. */
  other?: { atlas: Atlas; colouring: Colouring; differing: boolean };
}

const rect = ([x, y, width, height]: Box) => `M${x} ${y}h${width}v${height}h${-width}z`;

/** What one cell shows: colour, symbol and short name or number, and marks. */
export function faceOf({ atlas, place, box, colouring, dark, other }: Props): Shape[] {
  const [x, y, width, height] = box;
  const roles = colouring.kind === "roles";
  const marks = roles && width >= 12 && height >= 13;
  const foot = marks ? (height >= 26 ? 5 : 3) : 0;
  const high = height - foot;
  const share = Math.min(Math.max(atlas.number("roles/activity", place) || 0, 0), 1);
  const line: Box = [x, y + height - foot + 1, width, foot - 1];
  const shapes: Shape[] = foot
    ? [
        { path: rect(line), fill: "var(--line)" },
        { path: rect([line[0], line[1], width * share, line[3]]), fill: "var(--work)" },
      ]
    : [];
  const same = other?.differing && atlas.family(place) === other.atlas.family(place);
  if (other && !same) {
    const half = width / 2;
    shapes.push(
      ...whole(atlas, place, [x, y, half, high], colouring),
      ...whole(other.atlas, place, [x + half, y, half, high], other.colouring),
      { path: `M${x + half} ${y}v${high}`, stroke: "var(--ground)", thick: 1 },
    );
    return shapes;
  }
  const face = whole(atlas, place, [x, y, width, high], colouring);
  shapes.push(...(same ? face.map((one) => ({ ...one, opacity: 0.25 })) : face));
  if (marks && !other) shapes.push(...roleMarks(atlas, place, [x, y, width, high], colouring, dark));
  return shapes;
}

/** A cell without marks: a colour, and a role's symbol and name or a number. */
function whole(atlas: Atlas, place: number, box: Box, colouring: Colouring): Shape[] {
  const [x, y, width, height] = box;
  const colour = colouring.of(place);
  const roles = colouring.kind === "roles";
  if (roles && atlas.family(place) === "rests") {
    const path = rect([x + 0.5, y + 0.5, width - 1, height - 1]);
    return [{ path, fill: "none", stroke: "var(--edge)", thick: 1, dash: [2, 2] }];
  }
  const text = roles
    ? roleText(atlas.family(place), box)
    : numberText(colouring.text(place), box);
  return [{ path: rect(box), fill: colour }, ...text.map((one) => ({ ...one, fill: ink(colour) }))];
}

function roleText(id: string, [x, y, width, height]: Box): Shape[] {
  if (!isRole(id) || width < 11 || height < 9) return [];
  const { symbol, short } = family(id);
  if (width < 44) {
    const size = Math.min(13, width * 0.7, height * 0.75);
    return [{ text: symbol, x: x + width / 2, y: y + height / 2 + size * 0.35, size, middle: true }];
  }
  const tall = height >= 40;
  const [left, top] = tall ? [x + 7, y + height - 8] : [x + 24, y + height / 2 + 4];
  return [
    { text: symbol, x: x + 7, y: tall ? y + 18 : y + height / 2 + 4.5, size: 13 },
    { text: fitting(short, width - (tall ? 12 : 26)), x: left, y: top, size: 10.5 },
  ];
}

/** A short name that fits: "prev." for "previous". */
function fitting(text: string, room: number): string {
  const letters = Math.floor(room / 5.6);
  return text.length <= letters ? text : `${text.slice(0, Math.min(4, letters - 1))}.`;
}

function numberText(text: string, [x, y, width, height]: Box): Shape[] {
  if (!text || height < 14 || width < text.length * 6 + 4) return [];
  return [{ text, x: x + width / 2, y: y + height / 2 + 4, size: 10.5, middle: true }];
}

/** A corner in the colour of a second role; dots under a role that changes with the documents. */
function roleMarks(atlas: Atlas, place: number, box: Box, colouring: Colouring, dark: boolean) {
  const [x, y, width, height] = box;
  const shapes: Shape[] = [];
  const id = atlas.second(place);
  const side = Math.min(11, width * 0.4, height * 0.5);
  if (isRole(id) && side >= 3) {
    const path = `M${x + width - side} ${y}H${x + width}V${y + side}Z`;
    shapes.push({ path, fill: fill(id, 1, dark), stroke: "var(--ground)", thick: 1 });
  }
  if (atlas.number("roles/borderline", place) === 1) {
    const inset = width >= 44 ? 7 : 3;
    const path = `M${x + inset} ${y + height - 3}H${x + width - inset}`;
    shapes.push({ path, stroke: ink(colouring.of(place)), thick: 2, dash: [0, 4], round: true });
  }
  return shapes;
}

/** A cell in an SVG. */
export function CellFace(props: Props) {
  return (
    <>
      {faceOf(props).map((one, at) =>
        one.text ? (
          <text
            key={at}
            {...{ x: one.x, y: one.y, fill: one.fill, opacity: one.opacity }}
            font-size={one.size}
            font-weight={one.size === 10.5 ? undefined : 500}
            text-anchor={one.middle ? "middle" : undefined}
          >
            {one.text}
          </text>
        ) : (
          <path
            key={at}
            {...{ d: one.path, stroke: one.stroke, opacity: one.opacity }}
            fill={one.fill ?? "none"}
            stroke-width={one.thick}
            stroke-dasharray={one.dash?.join(" ")}
            stroke-linecap={one.round ? "round" : undefined}
          />
        ),
      )}
    </>
  );
}

/** A cell on a canvas. */
export function drawFace(
  pen: CanvasRenderingContext2D,
  shapes: Shape[],
  font: string,
  property: (name: string) => string,
): void {
  const resolved = (colour: string) =>
    colour.startsWith("var(") ? property(colour.slice(4, -1)) : colour;
  const { globalAlpha } = pen;
  for (const one of shapes) {
    pen.globalAlpha = globalAlpha * (one.opacity ?? 1);
    if (one.fill && one.fill !== "none") pen.fillStyle = resolved(one.fill);
    if (one.text) {
      pen.font = `${one.size}px ${font}`;
      pen.textAlign = one.middle ? "center" : "left";
      pen.fillText(one.text, one.x!, one.y!);
      continue;
    }
    const path = new Path2D(one.path);
    if (one.fill && one.fill !== "none") pen.fill(path);
    if (one.stroke) {
      pen.strokeStyle = resolved(one.stroke);
      pen.lineWidth = one.thick ?? 1;
      pen.setLineDash(one.dash ?? []);
      pen.lineCap = one.round ? "round" : "butt";
      pen.stroke(path);
    }
  }
  pen.globalAlpha = globalAlpha;
}

/** What a screen reader says of a head. */
export function headLabel(atlas: Atlas, place: number, colouring: Colouring): string {
  const name = `Head ${atlas.name(place)}`;
  if (colouring.kind !== "roles" && colouring.field) {
    const { field } = colouring;
    const value = field.values[place] ?? NaN;
    const faded = field.faded && standing(value, field.faded) === "inside";
    const like = faded ? `, inside the band of ${field.faded!.null}` : "";
    return `${name}: ${field.title}, ${fieldText(field, value)}${like}`;
  }
  const id = atlas.family(place);
  const excess = atlas.excess(place);
  const title = family(id).title.toLowerCase();
  const much = isRole(id) ? `, ${percent(excess)} above chance` : "";
  const unsure = atlas.number("roles/borderline", place) === 1 ? ", borderline" : "";
  return `${name}: ${title}${much}${unsure}`;
}
