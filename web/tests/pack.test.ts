import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

import { decode, fromBase64, unpack } from "../src/data/pack";

/** A pack as headscope/page/packs/pack.py writes it. */
function packed(document: unknown, arrays: Record<string, { dtype: string; shape: number[]; offset: number }>, body: Uint8Array): Uint8Array {
  const header = new TextEncoder().encode(JSON.stringify({ document, arrays }));
  const start = Math.ceil((4 + header.length) / 8) * 8;
  const whole = new Uint8Array(start + body.length);
  new DataView(whole.buffer).setUint32(0, header.length, true);
  whole.set(header, 4);
  whole.set(body, start);
  return whole;
}

describe("packs", () => {
  const body = new Uint8Array(16);
  new Float32Array(body.buffer, 0, 2).set([1.5, NaN]);
  body.set([1, 2, 3], 8);
  const whole = packed(
    { text: "</script>é" },
    { a: { dtype: "f4", shape: [1, 2], offset: 0 }, b: { dtype: "u1", shape: [3], offset: 8 } },
    body,
  );

  it("gives back document, arrays and shapes", () => {
    const { document, arrays, shapes } = decode<{ text: string }>(whole);
    expect(document.text).toBe("</script>é");
    expect(Array.from(arrays.a!)).toEqual([1.5, NaN]);
    expect(Array.from(arrays.b!)).toEqual([1, 2, 3]);
    expect(shapes.a).toEqual([1, 2]);
  });

  it("reads gzip and base64", async () => {
    const text = Buffer.from(gzipSync(whole)).toString("base64");
    const { arrays } = await unpack(fromBase64(`\n${text}\n`));
    expect(arrays.b!.length).toBe(3);
  });

  it("refuses types it does not know, and data that is not a pack", async () => {
    expect(() => decode(packed({}, { a: { dtype: "f8", shape: [1], offset: 0 } }, body))).toThrow(/f8/);
    await expect(unpack(new Uint8Array([1, 2, 3]))).rejects.toThrow();
  });
});
