/**
 * Packs: how numbers reach the page. A pack is gzip over
 *   uint32 (little-endian): the length of the header in bytes,
 *   the header: JSON {"document": ..., "arrays": {name: {dtype, shape, offset}}},
 *   the arrays, each at a multiple of 8 bytes from the end of the header (padded to 8).
 * Written by headscope/page/pack.py.
 */

export type Numbers = Float32Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

export interface Packed<Document> {
  document: Document;
  arrays: Record<string, Numbers>;
  shapes: Record<string, number[]>;
}

interface Header<Document> {
  document: Document;
  arrays: Record<string, { dtype: string; shape: number[]; offset: number }>;
}

const TYPES = {
  f4: Float32Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
} as const;

/** Decode what gzip held. Throws where it is not a pack. */
export function decode<Document>(bytes: Uint8Array): Packed<Document> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const text = new TextDecoder().decode(bytes.subarray(4, 4 + length));
  const header = JSON.parse(text) as Header<Document>;
  const base = Math.ceil((4 + length) / 8) * 8;
  const arrays: Record<string, Numbers> = {};
  const shapes: Record<string, number[]> = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const type = TYPES[dtype as keyof typeof TYPES];
    if (!type) throw new Error(`unknown type ${dtype} of ${name}`);
    const size = shape.reduce((all, one) => all * one, 1);
    const start = bytes.byteOffset + base + offset;
    const end = start + size * type.BYTES_PER_ELEMENT;
    arrays[name] = new type(bytes.buffer.slice(start, end) as ArrayBuffer);
    shapes[name] = shape;
  }
  return { document: header.document, arrays, shapes };
}

/** Whether this browser can read packs. */
export function supported(): boolean {
  return typeof DecompressionStream !== "undefined";
}

/** Decompress and decode. */
export async function unpack<Document>(
  data: Uint8Array | ArrayBuffer,
): Promise<Packed<Document>> {
  const stream = new Blob([data as ArrayBuffer])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return decode(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** The bytes of a base64 text. */
export function fromBase64(text: string): Uint8Array {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}
