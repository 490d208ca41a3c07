import type { Packed } from "./pack";
import { fromBase64, unpack } from "./pack";

/** Where packs come from: script elements of the page, files beside it, a server, a notebook. */
export interface Source {
  load<Document>(name: string): Promise<Packed<Document>>;
}

/** Keeps what was loaded; what is asked for twice is loaded once. */
export class Cached implements Source {
  private held = new Map<string, Promise<Packed<unknown>>>();
  constructor(private bytes: (name: string) => Promise<Uint8Array>) {}

  load<Document>(name: string): Promise<Packed<Document>> {
    let found = this.held.get(name);
    if (!found) {
      found = this.bytes(name).then((data) => unpack(data));
      found.catch(() => this.held.delete(name));
      this.held.set(name, found);
    }
    return found as Promise<Packed<Document>>;
  }
}

/** Packs inside the page: <script type="text/plain" data-pack="head/3-9">base64</script>. */
export function embedded(root: ParentNode = document): Source {
  return new Cached(async (name) => {
    const all = Array.from(root.querySelectorAll<HTMLScriptElement>("script[data-pack]"));
    const element = all.find((one) => one.dataset.pack === name);
    if (!element) throw new Error(`the page holds no data called ${name}`);
    return fromBase64(element.textContent ?? "");
  });
}

/** Packs in files: data/head/3-9.pack. */
export function files(base = "data/"): Source {
  return new Cached(async (name) => {
    const answer = await fetch(`${base}${name}.pack`);
    if (!answer.ok) throw new Error(`${name} could not be loaded (${answer.status})`);
    return new Uint8Array(await answer.arrayBuffer());
  });
}
