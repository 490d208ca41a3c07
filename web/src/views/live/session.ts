import { batch, signal } from "@preact/signals";

import {
  type Generated, LiveClient, type Move, type Prediction, type Reading, Superseded,
} from "../../data/live";
import type { Numbers } from "../../data/pack";
import type { LiveModel } from "../../data/types";
import type { LiveOptions } from "./options";
import { windowOf } from "./units";

/** Maps of some heads in a window of tokens. */
export interface Maps {
  first: number;
  size: number;
  /** By head; with heads off after a slash: "3-9/off". */
  weights: Map<string, Float32Array>;
}

export interface Small {
  side: number;
  cells: Uint8Array;
}

export interface Changes extends Small {
  moves: Move[];
  /** By place. */
  divergence: Numbers;
}

export interface Effects {
  key: string;
  /** By place; NaN where it is not known yet. */
  values: Float32Array;
  done: number;
  running: boolean;
}

/** An answer that is kept until another one is asked for. */
export class Slot<T> {
  readonly value = signal<T | null>(null);
  readonly error = signal("");
  private key = "";

  /** Load unless the same was loaded. The old answer stays until the new one is here. */
  async load(key: string, get: () => Promise<T>): Promise<void> {
    if (key === this.key) return;
    this.key = key;
    this.error.value = "";
    try {
      const found = await get();
      if (key !== this.key) return;
      batch(() => {
        this.value.value = found;
        this.error.value = "";
      });
    } catch (error) {
      if (error instanceof Superseded || key !== this.key) return;
      this.key = "";
      batch(() => {
        this.value.value = null;
        this.error.value = error instanceof Error ? error.message : String(error);
      });
    }
  }

  clear(): void {
    this.key = "";
    this.error.value = "";
    this.value.value = null;
  }
}

const ONE = 65535;

/** What the Live view knows of the text: it asks the server when the address changes. */
export class LiveSession {
  readonly reading = new Slot<Reading>();
  readonly small = new Slot<Small>();
  readonly maps = new Slot<Maps>();
  readonly prediction = new Slot<Prediction>();
  readonly changes = new Slot<Changes>();
  readonly other = new Slot<{ reading: Reading; maps: Maps }>();
  readonly effects = signal<Effects | null>(null);
  readonly effectsError = signal("");
  readonly generating = signal(false);
  /** Until the first prediction: the page shows by itself which heads it needs. */
  first = true;
  /** Heads that were chosen for the reader: they stay when the text changes. */
  defaults: string[] = [];

  constructor(
    readonly client: LiveClient,
    readonly model: LiveModel,
  ) {}

  /** Ask for what the options need and is not here yet. */
  update(options: LiveOptions, heads: string[]): void {
    const text = textOf(options);
    const key = JSON.stringify(text);
    void this.reading.load(key, async () => (await this.client.ask<Reading>("read", "read", text)).document);
    if (heads.length) this.draw(options, heads, text, key);
    if (this.generating.value) return; // the rest follows with the last token
    const { weights } = options;
    void this.small.load(`${key} ${weights}`, () => this.loadSmall({ ...text, weights }));
    this.predict(options, text, key);
    this.switchOff(options, text, key);
  }

  /** Where to predict: after any word that was picked, or at a mask that was. */
  private place(options: LiveOptions): number | null {
    if (this.model.predicts === "next") return options.token;
    const masks = this.reading.value.value?.masks ?? [];
    return this.model.predicts === "masked" && options.token !== null && masks.includes(options.token)
      ? options.token : null;
  }

  /** What the effects of heads depend on. */
  effectsKey(options: LiveOptions): string {
    return JSON.stringify([textOf(options), this.place(options), options.how]);
  }

  private async loadSmall(text: object): Promise<Small> {
    const found = await this.client.ask<{ side: number }>("thumbnails", "thumbnails", text);
    return { side: found.document.side, cells: found.arrays.small as Uint8Array };
  }

  private predict(options: LiveOptions, text: object, key: string): void {
    if (!this.model.predicts) return;
    const { off, how } = options;
    const at = this.place(options);
    void this.prediction.load(`${key} ${at} ${off} ${off.length ? how : ""}`, async () => {
      const body = { ...text, at, off, how };
      return (await this.client.ask<Prediction>("predictions", "predictions", body)).document;
    });
  }

  private switchOff(options: LiveOptions, text: object, key: string): void {
    const { off, how, weights } = options;
    if (!off.length) {
      this.client.drop("changes");
      this.changes.clear();
      return;
    }
    void this.changes.load(`${key} ${off} ${how} ${weights}`, async () => {
      const found = await this.client.ask<{ side: number; moves: Move[] }>(
        "changes", "changes", { ...text, off, how, weights },
      );
      const { small, divergence } = found.arrays;
      return { ...found.document, cells: small as Uint8Array, divergence: divergence! };
    });
  }

  private draw(options: LiveOptions, heads: string[], text: object, key: string): void {
    const reading = this.reading.value.value;
    if (!reading) return;
    const range = windowOf(reading.tokens.length, options.from);
    const off = options.after ? options.off : [];
    const { how, weights } = options;
    const wanted = `${key} ${heads} ${range} ${weights} ${off} ${off.length ? how : ""}`;
    void this.maps.load(wanted, () => this.loadMaps("maps", { ...text, weights, off, how }, heads, range));
  }

  private async loadMaps(
    slot: string, asked: object, heads: string[], range: [number, number],
  ): Promise<Maps> {
    const body = { ...asked, heads, rows: range, keys: range };
    const found = await this.client.ask<object>("maps", slot, body);
    const [, rows, keys] = found.shapes.weights as [number, number, number];
    const all = Float32Array.from(found.arrays.weights!, (value) => value / ONE);
    const weights = new Map(heads.map((head, at) => [head, all.subarray(at * rows * keys, (at + 1) * rows * keys)]));
    return { first: range[0], size: keys, weights };
  }

  /** Another text, for comparison: one head's map. */
  compare(options: LiveOptions, head: string): void {
    if (!options.other.trim() || !head) {
      this.other.clear();
      return;
    }
    const text = { text: options.other };
    const { weights } = options;
    void this.other.load(`${options.other} ${head} ${options.from} ${weights}`, async () => {
      const reading = (await this.client.ask<Reading>("read", "other", text)).document;
      const range = windowOf(reading.tokens.length, options.from);
      return { reading, maps: await this.loadMaps("other", { ...text, weights }, [head], range) };
    });
  }

  /** Switch every head off in turn, the last layer first: it is known soonest. */
  async sweep(options: LiveOptions): Promise<void> {
    const { layers, heads, numbers } = this.model;
    const key = this.effectsKey(options);
    const values = new Float32Array(layers * heads).fill(NaN);
    this.effectsError.value = "";
    this.effects.value = { key, values, done: 0, running: true };
    try {
      for (let layer = layers - 1; layer >= 0; layer--) {
        const body = { ...textOf(options), layer: numbers[layer], at: this.place(options), how: options.how };
        const found = await this.client.ask<object>("effects", "effects", body);
        if (this.effects.value?.key !== key || !this.effects.value.running) return;
        values.set(found.arrays.divergence as Float32Array, layer * heads);
        this.effects.value = { key, values: values.slice(), done: layers - layer, running: layer > 0 };
      }
    } catch (error) {
      if (this.effects.value?.key !== key) return;
      this.effects.value = { ...this.effects.value, running: false };
      if (!(error instanceof Superseded)) this.effectsError.value = (error as Error).message;
    }
  }

  stopSweep(): void {
    this.client.drop("effects");
    if (this.effects.value) this.effects.value = { ...this.effects.value, running: false };
  }

  /** The most likely next token. */
  async next(options: LiveOptions): Promise<Generated> {
    const body = { ...textOf(options), off: options.off, how: options.how };
    return (await this.client.ask<Generated>("generate", "generate", body)).document;
  }
}

function textOf(options: LiveOptions): { text: string; second: string | null; more: number[] } {
  return { text: options.text, second: options.second || null, more: options.more };
}
