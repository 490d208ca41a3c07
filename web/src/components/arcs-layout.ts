/** Where the words and arcs of a line of text are drawn. Nothing here knows about the page. */

export interface ArcLink {
  /** The query's word and the key's word. */
  from: number;
  to: number;
  /** 0 to 1. */
  weight: number;
  colour?: string;
  /** Drawn under the words: the second head. */
  below?: boolean;
  /** Drawn as a dashed outline: a link that is expected but not there. */
  dashed?: boolean;
}

export interface Placed {
  /** Left edge and width of each word, and its line. */
  x: number[];
  width: number[];
  line: number[];
  /** Per line: the top of its arcs, where arcs above and below end, the words' baseline. */
  lines: { top: number; arcs: number; baseline: number; under: number }[];
  across: number;
  height: number;
  /** Whether the text runs from right to left. */
  leftward: boolean;
}

export interface Arc {
  /** Index of the link. */
  link: number;
  path: string;
  /** Where the dot at the key is; absent on the part of an arc that leaves its line. */
  tip?: [number, number];
  /** Part of an arc between two lines. */
  leaves?: boolean;
}

export const TEXT = 15;
const ASCENT = 14;
/** Room under the baseline: the underline, and two rows of percentages. */
const LABELS = 36;
const BETWEEN = 16;
/** Dashed arcs run above the line of the same two words. */
const OVER = 7;
const MOST = 88;

/** The height of an arc over a distance: about a half circle when short, flatter when long. */
export function rise(distance: number, most = MOST): number {
  return Math.min(most, 4.4 * Math.sqrt(Math.abs(distance)));
}

/** Break words of these widths into lines. A word wider than the line gets a line of its own. */
export function breakLines(
  widths: readonly number[],
  available: number,
  gap: number,
): { x: number[]; line: number[]; lines: number } {
  const x: number[] = [];
  const line: number[] = [];
  let at = 0;
  let now = 0;
  for (const width of widths) {
    if (at > 0 && at + width > available) {
      at = 0;
      now++;
    }
    x.push(at);
    line.push(now);
    at += width + gap;
  }
  return { x, line, lines: widths.length ? now + 1 : 0 };
}

/** Whether most letters of a text are of a script that runs from right to left. */
export function runsLeft(words: readonly string[]): boolean {
  const text = words.join("");
  const left = text.match(/[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/gu);
  return (left?.length ?? 0) > (text.match(/\p{L}/gu)?.length ?? 0) / 2;
}

/**
 * Place words and leave each line the room that its arcs need; from the right edge if the text
 * runs leftward.
 */
export function place(
  widths: readonly number[],
  links: readonly ArcLink[],
  available: number,
  gap: number,
  leftward = false,
): Placed {
  const width = widths.map((one) => Math.min(one, available));
  const { x: leading, line, lines } = breakLines(width, available, gap);
  const x = leftward ? leading.map((one, at) => available - one - width[at]!) : leading;
  const above = new Array<number>(lines).fill(0);
  const under = new Array<number>(lines).fill(0);
  const need = (at: number, height: number, below?: boolean) => {
    const side = below ? under : above;
    if (at < side.length) side[at] = Math.max(side[at]!, height + 4);
  };
  for (const { from, to, below, dashed } of links) {
    const [a, b] = [line[from], line[to]];
    if (a === undefined || b === undefined) continue;
    if (from === to) need(a, 24, below);
    else if (a === b) need(a, rise(x[from]! - x[to]!) + (dashed ? OVER : 0), below);
    else {
      need(a, CROSSING + (dashed ? OVER : 0), below);
      need(b, CROSSING + (dashed ? OVER : 0), below);
    }
  }
  let top = 0;
  const placed = above.map((over, at) => {
    const arcs = top + Math.max(over, 8);
    const baseline = arcs + ASCENT + 2;
    const one = { top, arcs, baseline, under: baseline + 9 };
    top = baseline + Math.max(LABELS, under[at]! > 0 ? under[at]! + 12 : 0);
    if (at < lines - 1) top += BETWEEN;
    return one;
  });
  return { x, width, line, lines: placed, across: available, height: top, leftward };
}

/** How high arcs run that leave their line: they end at its edge. */
const CROSSING = 44;

/** The arcs of some links. A link between two lines is two arcs towards the lines' edges. */
export function arcs(placed: Placed, links: readonly ArcLink[]): Arc[] {
  const found: Arc[] = [];
  links.forEach((link, at) => {
    const [a, b] = [placed.line[link.from], placed.line[link.to]];
    if (a === undefined || b === undefined) return;
    if (a === b) found.push(inLine(placed, link, at, a));
    else found.push(...crossing(placed, link, at, a, b));
  });
  return found;
}

function centre(placed: Placed, word: number): number {
  return placed.x[word]! + placed.width[word]! / 2;
}

/** Arcs leave a word on the side they run to, so that in and out do not hide each other. */
function shift(placed: Placed, word: number): number {
  return Math.min(4, placed.width[word]! / 4);
}

function inLine(placed: Placed, link: ArcLink, at: number, line: number): Arc {
  const y = link.below ? placed.lines[line]!.under : placed.lines[line]!.arcs;
  const up = link.below ? 1 : -1;
  if (link.from === link.to) {
    const x = centre(placed, link.from);
    const top = n(y + up * 26);
    const path = `M${n(x - 3)} ${n(y)}C${n(x - 16)} ${top} ${n(x + 16)} ${top} ${n(x + 3)} ${n(y)}`;
    return { link: at, path, tip: [x + 3, y] };
  }
  const right = placed.x[link.to]! > placed.x[link.from]! ? 1 : -1;
  const start = centre(placed, link.from) + right * shift(placed, link.from);
  const end = centre(placed, link.to) - right * shift(placed, link.to);
  const wanted = rise(placed.x[link.from]! - placed.x[link.to]!) + (link.dashed ? OVER : 0);
  const height = Math.min(wanted, room(placed, line, link.below));
  const sweep = right > 0 !== Boolean(link.below) ? 1 : 0;
  const path = ellipse([start, y], [Math.abs(end - start) / 2, height], sweep, [end, y]);
  return { link: at, path, tip: [end, y] };
}

/** How high an arc may be: links that are drawn only for one word were given no room. */
function room(placed: Placed, line: number, below?: boolean): number {
  const { top, arcs, under } = placed.lines[line]!;
  const end = placed.lines[line + 1]?.top ?? placed.height;
  return Math.max(6, (below ? end - under : arcs - top) - 2);
}

function crossing(placed: Placed, link: ArcLink, at: number, a: number, b: number): Arc[] {
  const up = link.below ? 1 : -1;
  const side = (line: number) =>
    link.below ? placed.lines[line]!.under : placed.lines[line]!.arcs;
  const onward = b > a !== placed.leftward;
  const [leave, arrive] = onward ? [placed.across, 0] : [0, placed.across];
  const start = centre(placed, link.from) + Math.sign(leave) * shift(placed, link.from);
  const end = centre(placed, link.to) + Math.sign(arrive) * shift(placed, link.to);
  const quarter = (x: number, y: number, edge: number, line: number) => {
    const way = edge > x ? 1 : -1;
    const reach = Math.abs(edge - x);
    const wanted = Math.min(CROSSING, rise(2 * reach)) + (link.dashed ? OVER : 0);
    const height = Math.min(wanted, room(placed, line, link.below));
    return { x: x + way * reach, y: y + up * height, reach, height, way };
  };
  const off = quarter(start, side(a), leave, a);
  const on = quarter(end, side(b), arrive, b);
  const sweep = (way: number) => (way > 0 !== Boolean(link.below) ? 1 : 0);
  const out = ellipse([start, side(a)], [off.reach, off.height], sweep(off.way), [off.x, off.y]);
  const into = ellipse([on.x, on.y], [on.reach, on.height], sweep(-on.way), [end, side(b)]);
  return [
    { link: at, path: out, leaves: true },
    { link: at, path: into, tip: [end, side(b)], leaves: true },
  ];
}

type Point = [number, number];

/** A part of an ellipse from one point to another. */
function ellipse(from: Point, radii: Point, sweep: number, to: Point): string {
  const [start, size, end] = [from, radii, to].map(([x, y]) => `${n(x)} ${n(y)}`);
  return `M${start}A${size} 0 0 ${sweep} ${end}`;
}

function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A percentage under a word. */
export interface Share {
  word: number;
  text: string;
  out: boolean;
  row: 0 | 1;
}

/**
 * Percentages under the words of one word's links, the strongest first. Each goes to the first of
 * two rows where it fits; what fits in neither is left to the tooltip.
 */
export function shares(
  placed: Placed,
  links: readonly ArcLink[],
  active: number,
  text: (weight: number) => string,
): Share[] {
  const taken: Record<string, [number, number][]> = {};
  const found: Share[] = [];
  const ranked = links
    .filter((link) => !link.dashed && (link.from === active || link.to === active))
    .sort((a, b) => b.weight - a.weight);
  for (const link of ranked) {
    const out = link.from === active;
    const word = out ? link.to : link.from;
    const line = placed.line[word];
    if (line === undefined) continue;
    const middle = centre(placed, word);
    const said = text(link.weight);
    const half = said.length * 3 + 1;
    const order: (0 | 1)[] = link.below ? [1, 0] : [0, 1];
    for (const row of order) {
      const others = (taken[`${line}/${row}`] ??= []);
      if (others.some(([a, b]) => middle - half < b && middle + half > a)) continue;
      others.push([middle - half, middle + half]);
      found.push({ word, text: said, out, row });
      break;
    }
  }
  return found;
}
