import { visible } from "../data/sparse";
import { ink, mix } from "../families";

/** How a weight becomes a colour. */
export type MapScale = "sqrt" | "linear" | "log";
/** All weights of a map row by row, or a function that knows them. */
export type Weights = Float32Array | ((row: number, column: number) => number);

const FLOOR = 0.001;

/** 0 … 1 of the colour ramp for a share of attention. The log scale begins at 0.1 %. */
export function strength(weight: number, scale: MapScale): number {
  if (!(weight > 0)) return 0;
  const share = Math.min(1, weight);
  if (scale === "sqrt") return Math.sqrt(share);
  if (scale === "linear") return share;
  return share <= FLOOR ? 0 : 1 - Math.log(share) / Math.log(FLOOR);
}

const STOPS: Record<"light" | "dark", string[]> = {
  light: ["#FFFFFF", "#D3E2F0", "#86B3DB", "#2F74B8", "#0C3F7C"],
  dark: ["#202124", "#233B54", "#2C6197", "#5F9FDB", "#CFE6FB"],
};
const RAMPS = new Map<boolean, string[]>();

/** One hue in 256 steps, from the ground to the strongest. */
export function ramp(dark: boolean): string[] {
  let known = RAMPS.get(dark);
  if (!known) {
    const stops = STOPS[dark ? "dark" : "light"];
    known = Array.from({ length: 256 }, (_, at) => {
      const where = (at / 255) * (stops.length - 1);
      const step = Math.min(Math.floor(where), stops.length - 2);
      return mix(stops[step + 1]!, stops[step]!, where - step);
    });
    RAMPS.set(dark, known);
  }
  return known;
}

export function weightAt(weights: Weights, columns: number, row: number, column: number): number {
  if (typeof weights === "function") return weights(row, column);
  return weights[row * columns + column] ?? 0;
}

/** Sizes of a map in a box. */
export interface Shape {
  cell: number;
  /** Room for the labels of rows (left) and columns (top). */
  left: number;
  top: number;
  /** Whether labels are drawn. */
  labels: boolean;
}

/** The largest cell, at most `wish`, with which `columns` fit; never under 3 pixels. */
export function shape(
  width: number,
  columns: number,
  wish: number,
  widest: number,
  tallest: number,
): Shape {
  const fit = (left: number) => Math.floor((width - left - 2) / Math.max(columns, 1));
  const left = Math.min(widest + 10, Math.max(48, width * 0.3));
  const cell = Math.max(3, Math.min(wish, fit(left)));
  if (cell >= 9) {
    return { cell, left, top: Math.min(tallest * 0.87 + 14, 112), labels: true };
  }
  return { cell: Math.max(3, Math.min(wish, fit(0))), left: 0, top: 0, labels: false };
}

export interface Drawing {
  rows: readonly string[];
  columns: readonly string[];
  weights: Weights;
  scale: MapScale;
  shape: Shape;
  /** What is visible: the scroll position and the size of the canvas. */
  scroll: [number, number];
  size: [number, number];
  dark: boolean;
  font: string;
  colours: { ground: string; ink: string; soft: string; edge: string };
  row: number | null;
  at: [number, number] | null;
}

/** Draw the visible part of a map. */
export function drawMap(pen: CanvasRenderingContext2D, drawing: Drawing): void {
  const {
    shape: { cell, left, top },
    scroll,
    size,
    rows,
    columns,
    colours,
  } = drawing;
  const first = [
    Math.max(0, Math.floor(scroll[1] / cell)),
    Math.max(0, Math.floor(scroll[0] / cell)),
  ];
  const last = [
    Math.min(rows.length, Math.ceil((scroll[1] + size[1] - top) / cell)),
    Math.min(columns.length, Math.ceil((scroll[0] + size[0] - left) / cell)),
  ];
  pen.clearRect(0, 0, size[0], size[1]);
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, size[0], size[1]);
  pen.save();
  pen.beginPath();
  pen.rect(left, top, size[0] - left, size[1] - top);
  pen.clip();
  pen.translate(left - scroll[0], top - scroll[1]);
  cells(pen, drawing, first as [number, number], last as [number, number]);
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1;
  pen.strokeRect(0.5, 0.5, columns.length * cell - 1, rows.length * cell - 1);
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1.5;
  if (drawing.row !== null) {
    pen.strokeRect(0.75, drawing.row * cell + 0.75, columns.length * cell - 1.5, cell - 1.5);
  }
  if (drawing.at) {
    pen.strokeRect(
      drawing.at[1] * cell + 0.75,
      drawing.at[0] * cell + 0.75,
      cell - 1.5,
      cell - 1.5,
    );
  }
  pen.restore();
  if (drawing.shape.labels)
    names(pen, drawing, first as [number, number], last as [number, number]);
}

function cells(
  pen: CanvasRenderingContext2D,
  drawing: Drawing,
  first: [number, number],
  last: [number, number],
): void {
  const { cell } = drawing.shape;
  const colours = ramp(drawing.dark);
  const gap = cell >= 12 ? 0.5 : 0;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = `${cell >= 24 ? 10.5 : 9.5}px ${drawing.font}`;
  for (let row = first[0]; row < last[0]; row++) {
    let most = 0;
    let peak = -1;
    for (let column = first[1]; column < last[1]; column++) {
      const weight = weightAt(drawing.weights, drawing.columns.length, row, column);
      if (weight > most) [most, peak] = [weight, column];
      const step = Math.round(strength(weight, drawing.scale) * 255);
      if (step === 0) continue;
      pen.fillStyle = colours[step]!;
      pen.fillRect(column * cell, row * cell, cell - gap, cell - gap);
    }
    if (cell >= 20 && most >= 0.2) {
      pen.fillStyle = ink(colours[Math.round(strength(most, drawing.scale) * 255)]!);
      pen.fillText(String(Math.round(most * 100)), (peak + 0.5) * cell, (row + 0.5) * cell + 0.5);
    }
  }
}

function names(
  pen: CanvasRenderingContext2D,
  drawing: Drawing,
  first: [number, number],
  last: [number, number],
): void {
  const {
    shape: { cell, left, top },
    scroll,
    size,
    colours,
    font,
  } = drawing;
  const height = Math.min(12, Math.max(9, cell - 1));
  const pick = (chosen: boolean) => {
    pen.font = `${chosen ? "600 " : ""}${height}px ${font}`;
    pen.fillStyle = chosen ? colours.ink : colours.soft;
  };
  pen.save();
  pen.beginPath();
  pen.rect(0, top, left, size[1] - top);
  pen.clip();
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let row = first[0]; row < last[0]; row++) {
    pick(row === drawing.row || row === drawing.at?.[0]);
    pen.fillText(visible(drawing.rows[row]!, 14), left - 8, top + (row + 0.5) * cell - scroll[1]);
  }
  pen.restore();
  pen.textAlign = "left";
  for (let column = first[1]; column < last[1]; column++) {
    const x = left + (column + 0.5) * cell - scroll[0];
    if (x < left) continue;
    pick(column === drawing.at?.[1]);
    pen.save();
    pen.translate(x, top - 5);
    pen.rotate(-Math.PI / 3);
    pen.fillText(visible(drawing.columns[column]!, 14), 0, 0);
    pen.restore();
  }
}
