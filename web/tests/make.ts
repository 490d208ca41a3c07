import { Atlas } from "../src/data/atlas";
import type { Source } from "../src/data/source";
import type { Numbers } from "../src/data/pack";
import type {
  AtlasDocument,
  Boot,
  PageDocument,
  PaperChart,
  Section,
  Statistic,
} from "../src/data/types";
import { Store } from "../src/store";

interface Made {
  layers?: number;
  heads?: number;
  name?: string;
  /** By statistic: a value per head. All of them are shares. */
  statistics?: Record<string, (place: number) => number>;
  /** Half the width of every interval. */
  half?: number;
  charts?: PaperChart[];
}

const FAMILIES = ["previous", "noun phrase", "rests", "broad"];

/** An atlas that was made up: head by head the families take turns. */
export function atlas({ layers = 2, heads = 3, name = "made", half = 0.01, ...more }: Made = {}) {
  const size = layers * heads;
  const given = more.statistics ?? { "m:a": (place: number) => place / size };
  const statistics = Object.keys(given).map(
    (id): Statistic => ({
      ...{ id, measure: "m", group: "M", title: `share ${id}`, unit: "share of attention, 0–1" },
      ...{ kind: "share", source: "", n: 9, listed: true, reference: null },
    }),
  );
  const value = Float32Array.from(
    Object.values(given).flatMap((of) => Array.from({ length: size }, (_, place) => of(place))),
  );
  const document = {
    model: {
      ...{ name, type: "bert", stack: "encoder", layers, heads, causal: false },
      numbers: Array.from({ length: layers }, (_, at) => at + 1),
    },
    corpus: { name: "texts", examples: 9 },
    ...{ statistics, families: FAMILIES, work: [], tests: [], relations: [], labels: {}, rests: [] },
    ...{ heads: [], summary: [], figures: [], activity: [], notes: [], provenance: {} },
    papers: more.charts
      ? [section({ id: "paper", title: "A paper", plots: more.charts })]
      : [],
    ...{ examples: { kept: 0, strongest: 0, why: "", cut: "" }, distance: false, version: "0" },
  } as unknown as AtlasDocument;
  const arrays = {
    value,
    low: value.map((one) => one - half),
    high: value.map((one) => one + half),
    "roles/family": Uint8Array.from({ length: size }, (_, place) => place % FAMILIES.length),
    "roles/second": Uint8Array.from({ length: size }, (_, place) => (place % 8 === 1 ? 0 : 255)),
    "roles/borderline": Uint8Array.from({ length: size }, (_, place) => (place % 16 ? 0 : 1)),
    "roles/excess": Float32Array.from({ length: size }, () => 0.6),
    "roles/activity": Float32Array.from({ length: size }, () => 0.5),
    "roles/spread": Float32Array.from({ length: size }, () => 0.5),
  };
  return new Atlas({ document, arrays, shapes: {} });
}

/** A browser has these, jsdom has not. */
export function browser(): void {
  Object.assign(globalThis, {
    matchMedia: () => ({ matches: false }),
    ResizeObserver: class {
      observe() {}
      disconnect() {}
    },
    Path2D: class {},
  });
  Element.prototype.scrollIntoView = () => {};
}

/** A page over results, in an element of its own. */
export function store(atlases: Atlas[], addressed = true): Store {
  const root = document.body.appendChild(document.createElement("div"));
  const boot = { source: "embedded", atlases: atlases.map((_, at) => String(at)) } as Boot;
  return new Store(boot, {} as Source, atlases, root, addressed);
}

/** A section with nothing in it but what is given. */
export function section(given: Partial<Section>): Section {
  return { id: "s", title: "S", text: "", plots: [], tables: [], ...given };
}

/** A page of sections over results. */
export function documentStore(
  given: Partial<PageDocument>,
  atlases: Atlas[] = [atlas()],
  arrays: Record<string, Numbers> = {},
): Store {
  const plain = { label: "A paper", title: "made", subtitle: "", provenance: "", linked: true };
  const lists = { facts: [], remarks: [], verdicts: [], sections: [], missing: [], runs: null };
  const root = document.body.appendChild(window.document.createElement("div"));
  const boot = { source: "embedded", atlases: ["0"], document: "A paper" } as unknown as Boot;
  const packed = { document: { ...plain, ...lists, ...given }, arrays, shapes: {} };
  return new Store(boot, {} as Source, atlases, root, true, undefined, packed);
}
