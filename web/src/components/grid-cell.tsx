import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { fieldText } from "../data/fields";
import { standing } from "../data/nulls";
import { family, fill, ink, isRole } from "../families";
import { percent } from "../format";

export type Box = [x: number, y: number, width: number, height: number];

interface Props {
  atlas: Atlas;
  place: number;
  box: Box;
  colouring: Colouring;
  dark: boolean;
  /** The same head of a second model: split, or only where the roles differ. */
  other?: { atlas: Atlas; colouring: Colouring; differing: boolean };
}

/** What one cell shows: colour, symbol and short name or number, and marks. */
export function CellFace({ atlas, place, box, colouring, dark, other }: Props) {
  const [x, y, width, height] = box;
  const roles = colouring.kind === "roles";
  const marks = width >= 12 && height >= 13;
  const foot = roles && marks ? (height >= 26 ? 5 : 3) : 0;
  const inner: Box = [x, y, width, height - foot];
  const same = other?.differing && atlas.family(place) === other.atlas.family(place);
  return (
    <>
      {other && !same ? (
        <Halves place={place} box={inner} colouring={colouring} other={other} atlas={atlas} />
      ) : (
        <g class={same ? "hs-same" : undefined}>
          <Whole atlas={atlas} place={place} box={inner} colouring={colouring} />
        </g>
      )}
      {roles && marks && !other && <Corner atlas={atlas} place={place} box={inner} dark={dark} />}
      {roles && marks && !other && (
        <Borderline atlas={atlas} place={place} box={inner} colour={colouring.of(place)} />
      )}
      {foot > 0 && <Foot share={atlas.number("roles/activity", place)} box={box} foot={foot} />}
    </>
  );
}

function Whole({ atlas, place, box, colouring }: Omit<Props, "dark" | "other">) {
  const [x, y, width, height] = box;
  const colour = colouring.of(place);
  const roles = colouring.kind === "roles";
  if (roles && atlas.family(place) === "rests") {
    return <rect class="hs-rests" x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} />;
  }
  return (
    <>
      <rect x={x} y={y} width={width} height={height} fill={colour} />
      {roles ? (
        <RoleText id={atlas.family(place)} box={box} colour={colour} />
      ) : (
        <NumberText text={colouring.text(place)} box={box} colour={colour} />
      )}
    </>
  );
}

/** Two models in one cell: this one left, the other right. */
function Halves({
  atlas,
  place,
  box,
  colouring,
  other,
}: Omit<Props, "dark" | "other"> & { other: NonNullable<Props["other"]> }) {
  const [x, y, width, height] = box;
  const half = width / 2;
  return (
    <>
      <Whole atlas={atlas} place={place} box={[x, y, half, height]} colouring={colouring} />
      <Whole
        atlas={other.atlas}
        place={place}
        box={[x + half, y, half, height]}
        colouring={other.colouring}
      />
      <line class="hs-split" x1={x + half} x2={x + half} y1={y} y2={y + height} />
    </>
  );
}

function RoleText({ id, box, colour }: { id: string; box: Box; colour: string }) {
  const [x, y, width, height] = box;
  if (!isRole(id) || width < 11 || height < 12) return null;
  const { symbol, short } = family(id);
  const on = ink(colour);
  if (width < 44) {
    const size = Math.min(13, width * 0.7, height * 0.75);
    return (
      <text
        class="hs-cell-symbol"
        x={x + width / 2}
        y={y + height / 2 + size * 0.35}
        text-anchor="middle"
        font-size={size}
        fill={on}
      >
        {symbol}
      </text>
    );
  }
  const tall = height >= 40;
  return (
    <>
      <text
        class="hs-cell-symbol"
        x={x + 7}
        y={tall ? y + 18 : y + height / 2 + 4.5}
        font-size={13}
        fill={on}
      >
        {symbol}
      </text>
      <text
        class="hs-cell-name"
        x={tall ? x + 7 : x + 24}
        y={tall ? y + height - 8 : y + height / 2 + 4}
        fill={on}
      >
        {fitting(short, width - (tall ? 12 : 26))}
      </text>
    </>
  );
}

/** A short name that fits: "prev." for "previous". */
function fitting(text: string, room: number): string {
  const letters = Math.floor(room / 5.6);
  return text.length <= letters ? text : `${text.slice(0, Math.min(4, letters - 1))}.`;
}

function NumberText({ text, box, colour }: { text: string; box: Box; colour: string }) {
  const [x, y, width, height] = box;
  if (!text || height < 14 || width < text.length * 6 + 4) return null;
  return (
    <text
      class="hs-cell-name"
      x={x + width / 2}
      y={y + height / 2 + 4}
      text-anchor="middle"
      fill={ink(colour)}
    >
      {text}
    </text>
  );
}

/** A triangle in the colour of a second role. */
function Corner({
  atlas,
  place,
  box,
  dark,
}: {
  atlas: Atlas;
  place: number;
  box: Box;
  dark: boolean;
}) {
  const id = atlas.second(place);
  const [x, y, width, height] = box;
  const side = Math.min(11, width * 0.4, height * 0.5);
  if (!isRole(id) || side < 3) return null;
  const right = x + width;
  return (
    <path
      class="hs-corner"
      d={`M${right - side} ${y}H${right}V${y + side}Z`}
      fill={fill(id, 1, dark)}
    />
  );
}

/** Dots under a role that often changes when documents are drawn anew. */
function Borderline({
  atlas,
  place,
  box,
  colour,
}: {
  atlas: Atlas;
  place: number;
  box: Box;
  colour: string;
}) {
  const [x, y, width, height] = box;
  if (atlas.number("roles/borderline", place) !== 1) return null;
  const inset = width >= 44 ? 7 : 3;
  return (
    <line
      class="hs-borderline"
      stroke={ink(colour)}
      x1={x + inset}
      x2={x + width - inset}
      y1={y + height - 3}
      y2={y + height - 3}
    />
  );
}

function Foot({ share, box, foot }: { share: number; box: Box; foot: number }) {
  const [x, y, width, height] = box;
  const thick = foot - 1;
  const top = y + height - thick;
  return (
    <>
      <rect class="hs-foot" x={x} y={top} width={width} height={thick} />
      <rect
        class="hs-foot-work"
        x={x}
        y={top}
        width={width * Math.min(Math.max(share || 0, 0), 1)}
        height={thick}
      />
    </>
  );
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
  const much = isRole(id) ? `, ${percent(excess)} over even attention` : "";
  const unsure = atlas.number("roles/borderline", place) === 1 ? ", borderline" : "";
  return `${name}: ${title}${much}${unsure}`;
}
