/** Labels beside points, so that none covers another or a point. Pure: tested without a browser. */
export interface Dot {
  place: number;
  x: number;
  y: number;
}

export interface Label extends Dot {
  text: string;
  anchor: "start" | "end" | "middle";
  left: number;
  top: number;
  width: number;
  height: number;
}

const LETTER = 6.2;
const HIGH = 13;
/** Only the outermost points are looked at closely: a large model has thousands. */
const CANDIDATES = 400;
const SIDES = ["right", "left", "above", "below"] as const;

/** The order in which points get labels: far from the middle and from other points first. */
export function extremity(dots: Dot[], width: number, height: number): Dot[] {
  if (dots.length < 2) return dots;
  const middle = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
  const x = middle(dots.map((dot) => dot.x));
  const y = middle(dots.map((dot) => dot.y));
  const out = (dot: Dot) => Math.hypot((dot.x - x) / width, (dot.y - y) / height);
  const score = (dot: Dot) => {
    let nearest = Infinity;
    for (const other of dots) {
      if (other === dot) continue;
      nearest = Math.min(
        nearest,
        Math.hypot((other.x - dot.x) / width, (other.y - dot.y) / height),
      );
    }
    return out(dot) + 2 * Math.min(nearest, 0.2);
  };
  const outer = [...dots].sort((a, b) => out(b) - out(a)).slice(0, CANDIDATES);
  return outer
    .map((dot) => ({ dot, score: score(dot) }))
    .sort((a, b) => b.score - a.score)
    .map(({ dot }) => dot);
}

interface Room {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Place labels in the given order until there are enough; a label that fits nowhere is skipped. */
export function placeLabels(
  wanted: Dot[],
  all: Dot[],
  text: (place: number) => string,
  room: Room,
  most = 14,
  radius = 4,
): Label[] {
  const labels: Label[] = [];
  for (const dot of wanted) {
    if (labels.length >= most) break;
    const words = text(dot.place);
    const found = SIDES.map((side) => beside(dot, words, side, radius)).find(
      (label) =>
        inside(label, room) &&
        !labels.some((other) => overlap(label, other)) &&
        !covers(label, all, radius),
    );
    if (found) labels.push(found);
  }
  return labels;
}

function beside(dot: Dot, text: string, side: (typeof SIDES)[number], radius: number): Label {
  const width = text.length * LETTER;
  const away = radius + 4;
  const level = { ...dot, text, width, height: HIGH, top: dot.y - HIGH / 2 };
  if (side === "right") return { ...level, anchor: "start", left: dot.x + away };
  if (side === "left") return { ...level, anchor: "end", left: dot.x - away - width };
  const top = side === "above" ? dot.y - radius - 2 - HIGH : dot.y + radius + 2;
  return { ...level, anchor: "middle", left: dot.x - width / 2, top };
}

function inside(label: Label, room: Room): boolean {
  return (
    label.left >= room.left &&
    label.top >= room.top &&
    label.left + label.width <= room.right &&
    label.top + label.height <= room.bottom
  );
}

export function overlap(a: Label, b: Label): boolean {
  return (
    a.left < b.left + b.width &&
    b.left < a.left + a.width &&
    a.top < b.top + b.height &&
    b.top < a.top + a.height
  );
}

function covers(label: Label, dots: Dot[], radius: number): boolean {
  return dots.some(
    (dot) =>
      dot.place !== label.place &&
      dot.x > label.left - radius &&
      dot.x < label.left + label.width + radius &&
      dot.y > label.top - radius + 2 &&
      dot.y < label.top + label.height + radius - 2,
  );
}
