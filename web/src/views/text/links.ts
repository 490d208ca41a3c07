/** One head's map over a text: weights row by row, `size` columns. */
export interface TextMap {
  weights: Float32Array;
  size: number;
}

export interface Link {
  from: number;
  to: number;
  weight: number;
}

/** Weaker links are not drawn, even on hover. */
const FAINTEST = 0.02;

/** The links of a map, strongest first, without those from or to hidden tokens or to the token itself. */
export function links(map: TextMap, hidden: readonly number[]): Link[] {
  const barred = new Set(hidden);
  const found: Link[] = [];
  const rows = map.size ? Math.floor(map.weights.length / map.size) : 0;
  for (let from = 0; from < rows; from++) {
    if (barred.has(from)) continue;
    for (let to = 0; to < map.size; to++) {
      const weight = map.weights[from * map.size + to]!;
      if (to !== from && weight >= FAINTEST && !barred.has(to)) found.push({ from, to, weight });
    }
  }
  return found.sort((a, b) => b.weight - a.weight);
}

/** The share of each token's attention on the hidden tokens. */
export function resting(map: TextMap, hidden: readonly number[]): number[] {
  const rows = map.size ? Math.floor(map.weights.length / map.size) : 0;
  return Array.from({ length: rows }, (_, row) =>
    hidden.reduce((sum, key) => sum + (map.weights[row * map.size + key] ?? 0), 0),
  );
}
