import { signal } from "@preact/signals";

import { type Packed, unpack } from "./pack";

/** What the explorer's server says of a text. */
export interface Reading {
  tokens: string[];
  words: string[];
  /** The word of each token, -1 for special tokens. */
  unit: number[];
  special: number[];
  stop: number[];
  /** Where the mask token stands. */
  masks: number[];
  /** How many tokens at the end were generated. */
  written: number;
}

export interface Choice {
  id: number;
  name: string;
  before: number;
  after: number;
}

export interface Prediction {
  /** The token at which, or after which, is predicted; -1 for a class. */
  at: number;
  choices: Choice[];
  /** Kullback–Leibler divergence in nats; for a score, how far it moves. */
  divergence: number;
  score: boolean;
}

/** A key with its weight before and after. */
export type Shift = [key: number, before: number, after: number];

export interface Move {
  head: string;
  divergence: number;
  row: number;
  more: Shift;
  less: Shift;
}

export interface Generated {
  id: number;
  name: string;
  probability: number;
  ends: boolean;
}

/** A newer request has taken this one's place: nothing to show. */
export class Superseded extends Error {}

/** The server does not answer any more. */
export class Stopped extends Error {
  constructor() {
    super("The explorer has stopped. Start it again, then open the address that it prints.");
  }
}

const PATIENCE = 500;

/** Asks the explorer's server. Each slot holds one request at a time: a newer one replaces it. */
export class LiveClient {
  /** Requests under way, and how many of others are before them. */
  readonly busy = signal(0);
  readonly ahead = signal(0);
  private readonly page = Math.random().toString(36).slice(2);
  private readonly slots = new Map<string, AbortController>();
  private polling = false;

  constructor(private readonly base = "") {}

  async ask<Document>(action: string, slot: string, body: object): Promise<Packed<Document>> {
    this.drop(slot);
    const abort = new AbortController();
    this.slots.set(slot, abort);
    this.busy.value++;
    void this.poll();
    try {
      const answer = await this.send(action, slot, body, abort.signal);
      const wrong = !answer.ok || (answer.headers.get("content-type") ?? "").startsWith("application/json");
      if (wrong) throw await problem(answer);
      return await unpack<Document>(await answer.arrayBuffer());
    } finally {
      this.busy.value--;
      if (this.slots.get(slot) === abort) this.slots.delete(slot);
    }
  }

  /** Give up what a slot waits for. */
  drop(slot: string): void {
    this.slots.get(slot)?.abort();
    this.slots.delete(slot);
  }

  private async send(action: string, slot: string, body: object, signal: AbortSignal): Promise<Response> {
    try {
      return await fetch(`${this.base}live/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, page: this.page, slot }),
        signal,
      });
    } catch {
      throw signal.aborted ? new Superseded() : new Stopped();
    }
  }

  /** While something takes long, ask how many requests are before ours. */
  private async poll(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    await pause(PATIENCE);
    while (this.busy.value > 0) {
      try {
        const answer = await fetch(`${this.base}queue?page=${this.page}`);
        this.ahead.value = ((await answer.json()) as { ahead: number }).ahead;
      } catch {
        break;
      }
      await pause(2 * PATIENCE);
    }
    this.ahead.value = 0;
    this.polling = false;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** What went wrong, as a sentence. */
async function problem(answer: Response): Promise<Error> {
  if (answer.status === 409) return new Superseded();
  let text = "";
  try {
    const said = (await answer.json()) as { error?: string; hint?: string };
    text = [said.error, said.hint].filter(Boolean).map((one) => sentence(one!)).join(" ");
  } catch {
    // no JSON: another server, or none
  }
  return new Error(text || `The explorer's server answered with ${answer.status}.`);
}

/** Begin with a capital and end with a full stop. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
