import { signal, type Signal } from "@preact/signals";

/** What a person says of a head: a label of a few words, and a remark. */
export interface Note {
  label: string;
  remark: string;
}

const NOTHING: Note = { label: "", remark: "" };
const LONGEST = 2000;

/**
 * A person's notes on the heads of a model, by the head's name. They stay in this browser; where
 * it refuses to store anything they last as long as the page.
 */
export class Notes {
  readonly all: Signal<Readonly<Record<string, Note>>>;
  private readonly key: string;

  constructor(model: string) {
    this.key = `headscope-notes:${model}`;
    this.all = signal(read(this.key));
  }

  of(head: string): Note {
    return this.all.value[head] ?? NOTHING;
  }

  write(head: string, part: Partial<Note>): void {
    const note = { ...this.of(head), ...part };
    const { [head]: _, ...others } = this.all.value;
    const empty = !note.label.trim() && !note.remark.trim();
    this.all.value = empty ? others : { ...others, [head]: cut(note) };
    try {
      localStorage.setItem(this.key, JSON.stringify(this.all.value));
    } catch {
      // kept until the page is closed
    }
  }

  /** All notes as a table; tabs and line ends become spaces. */
  tsv(order: (head: string) => number): string {
    const plain = (text: string) => text.replace(/\s+/g, " ").trim();
    const rows = Object.entries(this.all.value)
      .sort(([a], [b]) => order(a) - order(b))
      .map(([head, { label, remark }]) => [head, plain(label), plain(remark)]);
    return [["head", "label", "remark"], ...rows].map((row) => row.join("\t")).join("\n") + "\n";
  }
}

function cut({ label, remark }: Note): Note {
  return { label: label.slice(0, 80), remark: remark.slice(0, LONGEST) };
}

/** What is stored is not trusted: anything else than notes is left out. */
function read(key: string): Record<string, Note> {
  const notes: Record<string, Note> = {};
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    for (const [head, note] of Object.entries(stored as Record<string, Partial<Note>>)) {
      const { label, remark } = note;
      if (typeof label === "string" && typeof remark === "string") notes[head] = cut({ label, remark });
    }
  } catch {
    return {};
  }
  return notes;
}
