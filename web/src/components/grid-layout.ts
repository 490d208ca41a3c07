/** Where the cells of a grid of heads are. Pure: tested without a browser. */
export interface Layout {
  /** Whether layers are columns. */
  across: boolean;
  columns: number;
  rows: number;
  /** From one cell to the next, and the gap within. */
  stepX: number;
  stepY: number;
  gap: number;
  /** Room for labels left and above. */
  left: number;
  top: number;
  width: number;
  height: number;
  /** From 600 cells on they are drawn on a canvas. */
  canvas: boolean;
  /** Whether cells have room for the bar at their foot and other marks. */
  marks: boolean;
}

export interface Shape {
  layers: number;
  heads: number;
}

const CANVAS = 600;
/** Models of more layers run across. */
const UPWARD = 16;
/** The tallest grid, in pixels. */
const TALLEST = 640;

/** Whether a deep model's layers run from left to right, where there is room for that. */
export function layersAcross({ layers }: Pick<Shape, "layers">): boolean {
  return layers > UPWARD;
}

export function gridLayout({ layers, heads }: Shape, room: number): Layout {
  const across = layersAcross({ layers }) && (room >= 560 || heads > layers);
  const [columns, rows] = across ? [layers, heads] : [heads, layers];
  const left = 32;
  const top = across ? 36 : 20;
  const widest = across ? 32 : 64;
  const high = across ? 40 : layers <= 8 ? 54 : layers <= 16 ? 32 : 22;
  const stepX = Math.min(widest, Math.max(room - left, 40) / columns);
  const stepY = Math.min(
    stepX < 40 && !across ? Math.min(high, 42) : high,
    Math.max(stepX * 0.6, TALLEST / rows, 4),
  );
  const small = Math.min(stepX, stepY);
  const gap = small >= 16 ? 2 : small >= 7 ? 1 : 0.5;
  return {
    across,
    columns,
    rows,
    stepX,
    stepY,
    gap,
    left,
    top,
    width: left + columns * stepX,
    height: top + rows * stepY,
    canvas: layers * heads >= CANVAS,
    marks: layers * heads < CANVAS && stepX >= 14 && stepY >= 15,
  };
}

/** Column and row of a head that stands at some order within its layer. Layer 1 is at the bottom. */
export function cellOf(layout: Layout, layer: number, order: number): [number, number] {
  return layout.across ? [layer, order] : [order, layout.rows - 1 - layer];
}

/** The place of each cell by column and row, and the cell of each place. */
export class Arrangement {
  private cells: [number, number][] = [];
  private places: number[][];

  /** orders: for each place, its position within its layer. */
  constructor(
    readonly layout: Layout,
    shape: Shape,
    orders: ArrayLike<number>,
  ) {
    this.places = Array.from({ length: layout.rows }, () =>
      new Array<number>(layout.columns).fill(-1),
    );
    for (let place = 0; place < shape.layers * shape.heads; place++) {
      const cell = cellOf(layout, Math.floor(place / shape.heads), orders[place]!);
      this.cells.push(cell);
      this.places[cell[1]]![cell[0]] = place;
    }
  }

  /** The rows of places as they are seen, from the top. */
  get rows(): number[][] {
    return this.places;
  }

  /** Left, top, width and height of a cell without its gap. */
  box(place: number): [number, number, number, number] {
    const { left, top, stepX, stepY, gap } = this.layout;
    const [column, row] = this.cells[place]!;
    return [left + column * stepX, top + row * stepY, stepX - gap, stepY - gap];
  }

  /** The place at a point; -1 beside the grid. */
  at(x: number, y: number): number {
    const { left, top, stepX, stepY } = this.layout;
    const [column, row] = [Math.floor((x - left) / stepX), Math.floor((y - top) / stepY)];
    return this.places[row]?.[column] ?? -1;
  }

  /** The place one step away; the same at an edge. */
  step(place: number, dx: number, dy: number): number {
    const [column, row] = this.cells[place]!;
    return this.places[row + dy]?.[column + dx] ?? place;
  }

  /** First or last of a row. */
  edge(place: number, last: boolean): number {
    const row = this.places[this.cells[place]![1]]!;
    return last ? row[row.length - 1]! : row[0]!;
  }
}

/** For each place its position within its layer: by number, or the largest value first. */
export function headOrders(shape: Shape, value?: (place: number) => number): Uint16Array {
  const orders = new Uint16Array(shape.layers * shape.heads);
  for (let layer = 0; layer < shape.layers; layer++) {
    const first = layer * shape.heads;
    const places = Array.from({ length: shape.heads }, (_, at) => first + at);
    if (value) places.sort((a, b) => order(value(a), value(b)) || a - b);
    places.forEach((place, at) => (orders[place] = at));
  }
  return orders;
}

/** Largest first, not defined last. */
function order(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return b - a;
}
