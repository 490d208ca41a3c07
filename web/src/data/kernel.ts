import { Cached, type Source } from "./source";

/** What the widget needs of anywidget's model. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, callback: (...values: never[]) => void): void;
  off(event: string, callback: (...values: never[]) => void): void;
}

/** How the kernel answers a request for a pack; the pack itself is the first buffer. */
interface Answer {
  kind?: string;
  name?: string;
  error?: string;
}

/** How long the kernel may take: it may be busy with another cell. */
export const PATIENCE = 10_000;
const SILENCE =
  "The notebook's kernel does not answer, so this part cannot be loaded. " +
  "Run the cell again, or wait until the running cell has finished.";

/** Packs of a notebook: those that came with the widget, the others from the kernel. */
export function kernel(model: Model, patience = PATIENCE): Source {
  return new Cached(async (name) => {
    const packs = (model.get("packs") ?? {}) as Record<string, DataView | ArrayBuffer>;
    const here = packs[name];
    return here ? bytes(here) : ask(model, name, patience);
  });
}

function ask(model: Model, name: string, patience: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      model.off("msg:custom", hear);
    };
    const hear = (answer: Answer, buffers: (DataView | ArrayBuffer)[]) => {
      if (answer?.kind !== "pack" || answer.name !== name) return;
      end();
      const data = buffers?.[0];
      if (data) resolve(bytes(data));
      else reject(new Error(answer.error ?? `there is nothing called ${name}`));
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error(SILENCE));
    }, patience);
    model.on("msg:custom", hear);
    try {
      model.send({ kind: "pack", name });
    } catch {
      end();
      reject(new Error(SILENCE)); // a saved page has no kernel
    }
  });
}

/** The bytes of a buffer as it comes from Jupyter (DataView) or elsewhere. */
export function bytes(data: DataView | ArrayBuffer | Uint8Array): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
