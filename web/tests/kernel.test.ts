import { afterEach, expect, test, vi } from "vitest";
import { gzipSync } from "node:zlib";

import { bytes, kernel, type Model, PATIENCE } from "../src/data/kernel";

/** A pack without arrays, as page/packs/pack.py writes it. */
function pack(document: unknown): Uint8Array {
  const header = new TextEncoder().encode(JSON.stringify({ document, arrays: {} }));
  const whole = new Uint8Array(4 + header.length + 8);
  new DataView(whole.buffer).setUint32(0, header.length, true);
  whole.set(header, 4);
  return gzipSync(whole);
}

function view(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

/** A stand-in for anywidget's model. */
class Fake implements Model {
  heard: ((...values: never[]) => void)[] = [];
  sent: unknown[] = [];
  constructor(private packs: Record<string, DataView>) {}
  get(name: string): unknown {
    return name === "packs" ? this.packs : undefined;
  }
  set(): void {}
  save_changes(): void {}
  send(content: unknown): void {
    this.sent.push(content);
  }
  on(_: string, callback: (...values: never[]) => void): void {
    this.heard.push(callback);
  }
  off(_: string, callback: (...values: never[]) => void): void {
    this.heard = this.heard.filter((one) => one !== callback);
  }
  answer(...values: unknown[]): void {
    for (const one of [...this.heard]) (one as (...all: unknown[]) => void)(...values);
  }
}

afterEach(() => vi.useRealTimers());

test("packs that came with the widget are not asked for", async () => {
  const model = new Fake({ atlas: view(pack({ a: 1 })) });
  expect((await kernel(model).load("atlas")).document).toEqual({ a: 1 });
  expect(model.sent).toEqual([]);
});

test("other packs are asked for once, and answers to other questions are ignored", async () => {
  const model = new Fake({});
  const source = kernel(model);
  const [first, second] = [source.load("head/3-9"), source.load("head/3-9")];
  expect(model.sent).toEqual([{ kind: "pack", name: "head/3-9" }]);
  model.answer({ kind: "pack", name: "head/1-1" }, [view(pack({ a: 2 }))]);
  model.answer({ kind: "pack", name: "head/3-9" }, [view(pack({ a: 3 }))]);
  expect((await first).document).toEqual({ a: 3 });
  expect(await second).toBe(await first);
  expect(model.heard).toEqual([]);
});

test("an answer without data is an error with the kernel's words, and may be asked again", async () => {
  const model = new Fake({});
  const source = kernel(model);
  const asked = source.load("head/9-9");
  model.answer({ kind: "pack", name: "head/9-9", error: "there is no such head" }, []);
  await expect(asked).rejects.toThrow("there is no such head");
  void source.load("head/9-9").catch(() => {});
  expect(model.sent.length).toBe(2);
});

test("a kernel that is silent for ten seconds is given up with a sentence", async () => {
  vi.useFakeTimers();
  const model = new Fake({});
  const asked = expect(kernel(model).load("texts")).rejects.toThrow(/kernel does not answer/);
  await vi.advanceTimersByTimeAsync(PATIENCE - 1);
  expect(model.heard.length).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  await asked;
  expect(model.heard).toEqual([]);
});

test("a page without a kernel does not wait", async () => {
  const model = new Fake({});
  model.send = () => {
    throw new Error("no comm");
  };
  await expect(kernel(model).load("texts")).rejects.toThrow(/kernel does not answer/);
});

test("buffers are read where they begin, whatever they are", () => {
  const whole = Uint8Array.from([1, 2, 3, 4]);
  expect([...bytes(new DataView(whole.buffer, 1, 2))]).toEqual([2, 3]);
  expect([...bytes(whole.buffer)]).toEqual([1, 2, 3, 4]);
  expect([...bytes(whole.subarray(2))]).toEqual([3, 4]);
});
