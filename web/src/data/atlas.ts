import type { Numbers, Packed } from "./pack";
import type { AtlasDocument, Statistic } from "./types";

/** An atlas in the page: its document, and its numbers by head. A place is layer index × heads + head. */
export class Atlas {
  readonly document: AtlasDocument;
  readonly arrays: Record<string, Numbers>;
  readonly layers: number;
  readonly heads: number;
  readonly size: number;
  private places = new Map<string, number>();
  private ids = new Map<string, number>();
  private sorted = new Map<number, Float32Array>();

  constructor(packed: Packed<AtlasDocument>) {
    this.document = packed.document;
    this.arrays = packed.arrays;
    this.layers = packed.document.model.layers;
    this.heads = packed.document.model.heads;
    this.size = this.layers * this.heads;
    for (let place = 0; place < this.size; place++) {
      this.places.set(this.name(place), place);
      this.places.set(this.zeroBased(place), place);
    }
    packed.document.statistics.forEach((one, at) => this.ids.set(one.id, at));
  }

  /** A head's name, layers and heads from 1. */
  name(place: number): string {
    return `${this.layerNumber(place)}-${(place % this.heads) + 1}`;
  }

  /** The same in the way of the field, from 0. */
  zeroBased(place: number): string {
    return `L${this.layerNumber(place) - 1}H${place % this.heads}`;
  }

  layerNumber(place: number): number {
    return this.document.model.numbers[Math.floor(place / this.heads)] ?? 0;
  }

  /** The place of a head by either name; undefined if there is none. */
  place(name: string): number | undefined {
    return this.places.get(name.trim().toUpperCase()) ?? this.places.get(name.trim());
  }

  statistic(id: string): { at: number; about: Statistic } | undefined {
    const at = this.ids.get(id);
    return at === undefined ? undefined : { at, about: this.document.statistics[at]! };
  }

  /** One row (of size layers × heads) of an array of several. */
  row(name: string, at: number): Numbers {
    const all = this.arrays[name];
    if (!all) return new Float32Array(this.size).fill(NaN);
    return all.subarray(at * this.size, (at + 1) * this.size);
  }

  values(at: number): Numbers {
    return this.row("value", at);
  }

  number(name: string, place: number, at = 0): number {
    return this.arrays[name]?.[at * this.size + place] ?? NaN;
  }

  /** The family of a head's main role: "" without main roles. */
  family(place: number): string {
    const at = this.arrays["roles/family"]?.[place];
    return at === undefined ? "" : (this.document.families[at] ?? "");
  }

  second(place: number): string {
    const at = this.arrays["roles/second"]?.[place];
    return at === undefined || at === 255 ? "" : (this.document.families[at] ?? "");
  }

  excess(place: number): number {
    return this.number("roles/excess", place);
  }

  get hasRoles(): boolean {
    return this.document.families.length > 0;
  }

  /** A head's rank by a statistic, 1 for the largest; NaN where it is not defined. */
  rank(at: number, place: number): number {
    let known = this.sorted.get(at);
    if (!known) {
      known = Float32Array.from(this.values(at)).filter((one) => !Number.isNaN(one)).sort();
      this.sorted.set(at, known);
    }
    const mine = this.values(at)[place] ?? NaN;
    if (Number.isNaN(mine)) return NaN;
    let low = 0;
    let high = known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle]! <= mine) low = middle + 1;
      else high = middle;
    }
    return known.length - low + 1;
  }

  /** In how many heads a statistic is defined. */
  defined(at: number): number {
    this.rank(at, 0);
    return this.sorted.get(at)!.length;
  }
}
