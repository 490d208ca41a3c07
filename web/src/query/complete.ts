import type { Atlas } from "../data/atlas";
import { family } from "../families";
import { number, shown } from "../format";
import { type Token, tokens } from "./parse";
import { quote, valuesOf } from "./values";
import { splitValue } from "./parse";

/** Something that can be put where the caret is. */
export interface Suggestion {
  /** What is put in. */
  insert: string;
  /** What it means, in words. */
  about: string;
}

export interface Completion {
  /** The part of the text that a suggestion takes the place of. */
  from: number;
  to: number;
  items: Suggestion[];
}

const MOST = 40;
type Expected = "condition" | "sign" | "number" | "join" | "count" | "by" | "value" | "none";

/** What could come at the caret. */
export function complete(atlas: Atlas, text: string, caret = text.length): Completion {
  const from = wordStart(text, caret);
  const typed = text.slice(from, caret);
  const before = read(text.slice(0, from));
  const expected = before === null ? "none" : expects(before);
  return {
    from,
    to: wordEnd(text, caret),
    items: suggestions(atlas, expected, typed, before ?? []),
  };
}

/** The text with a suggestion put in, and where the caret is then. */
export function accept(
  text: string,
  done: Completion,
  item: Suggestion,
): { text: string; caret: number } {
  const rest = text.slice(done.to);
  const space = item.insert.endsWith(":") || rest.startsWith(" ") ? "" : " ";
  const head = text.slice(0, done.from) + item.insert + space;
  return { text: head + rest, caret: head.length + (space || item.insert.endsWith(":") ? 0 : 1) };
}

function read(text: string): Token[] | null {
  try {
    return tokens(text);
  } catch {
    return null;
  }
}

/** A word may hold spaces between quotation marks. */
function wordStart(text: string, caret: number): number {
  let start = 0;
  let quoted = false;
  for (let at = 0; at < caret; at++) {
    const letter = text[at]!;
    if (letter === '"') quoted = !quoted;
    else if (!quoted && /[\s()<>=!]/.test(letter)) start = at + 1;
  }
  return start;
}

function wordEnd(text: string, caret: number): number {
  const quoted = (text.slice(wordStart(text, caret), caret).split('"').length - 1) % 2 === 1;
  const match = (quoted ? /^[^"]*"?/ : /^[^\s()<>=!]*/).exec(text.slice(caret));
  return caret + (match?.[0].length ?? 0);
}

function expects(before: Token[]): Expected {
  const last = before.at(-1);
  if (!last) return "condition";
  const word = last.text.toLowerCase();
  if (last.kind === "op") return "number";
  if (last.kind === "number") {
    const previous = before.at(-2)?.text.toLowerCase();
    return previous === "top" ? "by" : "join";
  }
  if (word === "(" || word === "and" || word === "or" || word === "not") return "condition";
  if (word === ")") return "join";
  if (word === "top") return "count";
  const previous = before.at(-2)?.text.toLowerCase();
  if (word === "by" && before.at(-3)?.text.toLowerCase() === "top") return "value";
  if (previous === "by") return "join";
  if (/^(heads?|layers?)$/.test(word)) return "none";
  if (/^(heads?|layers?)$/.test(previous ?? "") || word.startsWith("is:")) return "join";
  return "sign";
}

function suggestions(
  atlas: Atlas,
  expected: Expected,
  typed: string,
  before: Token[],
): Suggestion[] {
  switch (expected) {
    case "condition":
      return matching([...KEYWORDS, ...values(atlas), ...roles(atlas)], typed);
    case "value":
      return matching(values(atlas), typed);
    case "sign":
      return [
        { insert: ">", about: "larger than" },
        { insert: "<", about: "smaller than" },
        { insert: ">=", about: "at least" },
        { insert: "<=", about: "at most" },
      ];
    case "join":
      return matching(
        [
          { insert: "and", about: "both hold" },
          { insert: "or", about: "one of them holds" },
        ],
        typed,
      );
    case "count":
      return ["5", "10", "20"].map((insert) => ({ insert, about: `the ${insert} largest` }));
    case "by":
      return [{ insert: "by", about: "the value to sort by" }];
    case "number":
      return typed ? [] : quantiles(atlas, before.at(-2)?.text ?? "");
    default:
      return [];
  }
}

const KEYWORDS: Suggestion[] = [
  { insert: "top", about: "top 10 by entropy: the heads with the largest values" },
  { insert: "layer", about: "layer 3-5: heads of these layers" },
  { insert: "heads", about: "heads 3-9,4-*: these heads" },
  { insert: "is:", about: "is:previous: heads that have a role" },
  { insert: "not", about: "heads for which it does not hold" },
];

function values(atlas: Atlas): Suggestion[] {
  const { statistics, relations } = atlas.document;
  return [
    ...statistics.map((one) => ({ insert: one.id, about: one.title })),
    ...relations.map((one) => ({
      insert: relationId(one.relation, one.direction),
      about: `accuracy at ${one.title}`,
    })),
  ];
}

/** A relation's accuracy as the query language names it. */
export function relationId(relation: string, direction: string): string {
  const said = direction === "dependent to head" ? "" : `:${quote(direction)}`;
  return `dependency:${quote(relation)}${said}`;
}

function roles(atlas: Atlas): Suggestion[] {
  const { tests, families } = atlas.document;
  const tested = new Set(tests.map((one) => one.id));
  return [
    ...families
      .filter((id) => !tested.has(id))
      .map((id) => ({
        insert: `is:${quote(id)}`,
        about: `main role: ${family(id).title.toLowerCase()}`,
      })),
    ...tests.map((one) => ({ insert: `is:${quote(one.id)}`, about: `tested role: ${one.title}` })),
  ];
}

/** Those that fit what was typed: beginnings of names first, then of labels, then words. */
export function matching(all: Suggestion[], typed: string): Suggestion[] {
  const wanted = typed.toLowerCase().replaceAll('"', "");
  if (!wanted) return all.slice(0, MOST);
  const scored = all.map((item, at) => {
    const name = item.insert.toLowerCase().replaceAll('"', "");
    const score = name.startsWith(wanted)
      ? 0
      : name.split(":").some((part) => part.startsWith(wanted))
        ? 1
        : words(name, item.about).some((word) => word.startsWith(wanted))
          ? 2
          : `${name} ${item.about}`.toLowerCase().includes(wanted)
            ? 3
            : 9;
    return { item, at, score };
  });
  // letters within words count only where nothing begins with them
  const worst = scored.some(({ score }) => score < 3) ? 3 : 9;
  return scored
    .filter(({ score }) => score < worst)
    .sort((a, b) => a.score - b.score || a.at - b.at)
    .slice(0, MOST)
    .map(({ item }) => item);
}

function words(name: string, about: string): string[] {
  return `${name} ${about}`.toLowerCase().split(/[^\p{L}\p{N}[\]]+/u);
}

/** Numbers to compare with: the median and the top tenth of all heads. */
function quantiles(atlas: Atlas, value: string): Suggestion[] {
  let all: ArrayLike<number>;
  try {
    all = valuesOf(atlas, splitValue(value));
  } catch {
    return [];
  }
  const sorted = Float32Array.from(all)
    .filter((one) => !Number.isNaN(one))
    .sort();
  if (sorted.length < 4) return [];
  const kind = atlas.statistic(value)?.about.kind ?? "number";
  const at = (share: number, about: string): Suggestion => {
    const found = sorted[Math.round(share * (sorted.length - 1))]!;
    const digits = Math.abs(found) >= 10 ? 1 : Math.abs(found) >= 1 ? 2 : 3;
    return {
      insert: String(Number(found.toFixed(digits))),
      about: `${about}: ${kind === "number" ? number(found) : shown(found, { kind })}`,
    };
  };
  return [
    at(0.9, "a tenth of the heads are above"),
    at(0.5, "median of the heads"),
    at(0.1, "a tenth of the heads are below"),
  ];
}
