/**
 * The query language for heads, the same as in headscope/results/query.py:
 *
 *     position:previous > 0.5 and entropy < 1.5
 *     is:nsubj or role:nsubj >= 3
 *     layer 3-5 and not special:sep > 0.8
 *     heads 3-9,4-*
 *     top 10 by entropy
 *
 * Both are tested with tests/query/cases.json.
 */

export type Comparison = "<=" | ">=" | "!=" | "<" | ">" | "=";

export type Tree =
  | ["and" | "or", Tree, Tree]
  | ["not", Tree]
  | ["compare", string[], Comparison, number]
  | ["is", string]
  | ["layer", number, number]
  | ["heads", string]
  | ["top", number, string[]];

export interface Token {
  kind: "op" | "bracket" | "number" | "word";
  text: string;
  /** Where it begins, from 1. */
  place: number;
}

export const LONGEST = 2000;
const DEEPEST = 50;
const TOKEN =
  /\s*(?:(<=|>=|!=|==|<|>|=)|([()])|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=[\s()<>=!]|$)|((?:"[^"]*"|[^\s()<>=!"])+))/y;
const KINDS = ["op", "bracket", "number", "word"] as const;

/** A query that cannot be read or answered; the message is for people. */
export class QueryError extends Error {}

export function parseQuery(text: string): Tree {
  if (text.length > LONGEST) {
    throw new QueryError(`a query has at most ${LONGEST} characters, got ${text.length}`);
  }
  return new Parser(tokens(text), text).whole();
}

/** A value's measure and labels: dependency:det:"head to dependent". */
export function splitValue(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  let quoted = false;
  for (const letter of text) {
    if (letter === '"') quoted = !quoted;
    else if (letter === ":" && !quoted) {
      parts.push(part.trim());
      part = "";
    } else part += letter;
  }
  parts.push(part.trim());
  return parts.filter((one) => one !== "");
}

/** The pieces of a query. Throws where something is no piece. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let place = 0;
  while (text.slice(place).trim()) {
    TOKEN.lastIndex = place;
    const match = TOKEN.exec(text);
    if (!match || match[0].length === 0) {
      const rest = text.slice(place);
      throw stop(text, place + rest.length - rest.trimStart().length + 1);
    }
    const at = KINDS.findIndex((_, kind) => match[kind + 1] !== undefined);
    const value = match[at + 1]!;
    const start = match.index + match[0].length - value.length;
    found.push({ kind: KINDS[at]!, text: value === "==" ? "=" : value, place: start + 1 });
    place = match.index + match[0].length;
  }
  return found;
}

/** A text in quotation marks as Python writes it. */
function quoted(text: string): string {
  if (text.includes("'") && !text.includes('"')) return `"${text}"`;
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function stop(text: string, place: number, wanted = ""): QueryError {
  const rest = text.slice(place - 1).trim();
  const where = rest ? `at ${quoted(rest.slice(0, 30))} (character ${place})` : "at its end";
  const expected = wanted ? `: ${wanted} is expected there` : "";
  return new QueryError(`the query cannot be read ${where}${expected}`);
}

/** Recursive descent: or, and, not, conditions. */
class Parser {
  private at = 0;
  private depth = 0;

  constructor(
    private tokens: Token[],
    private text: string,
  ) {}

  whole(): Tree {
    if (!this.tokens.length) throw new QueryError("the query is empty");
    const tree = this.either();
    if (this.at < this.tokens.length) throw this.stop("'and' or 'or'");
    return tree;
  }

  private stop(wanted: string): QueryError {
    return stop(this.text, this.tokens[this.at]?.place ?? this.text.length + 1, wanted);
  }

  private nextIs(word: string): boolean {
    const token = this.tokens[this.at];
    return token !== undefined && token.kind !== "number" && token.text.toLowerCase() === word;
  }

  private either(): Tree {
    let tree = this.both();
    while (this.nextIs("or")) {
      this.at++;
      tree = ["or", tree, this.both()];
    }
    return tree;
  }

  private both(): Tree {
    let tree = this.single();
    while (this.nextIs("and")) {
      this.at++;
      tree = ["and", tree, this.single()];
    }
    return tree;
  }

  private single(): Tree {
    this.depth++;
    if (this.depth > DEEPEST) {
      throw new QueryError(`the query is nested too deeply (${DEEPEST} levels at most)`);
    }
    try {
      if (this.nextIs("not")) {
        this.at++;
        return ["not", this.single()];
      }
      if (this.nextIs("(")) {
        this.at++;
        const tree = this.either();
        if (!this.nextIs(")")) throw this.stop("')'");
        this.at++;
        return tree;
      }
      return this.condition();
    } finally {
      this.depth--;
    }
  }

  private condition(): Tree {
    const token = this.tokens[this.at];
    if (token?.kind !== "word") throw this.stop("a condition");
    this.at++;
    const word = token.text.toLowerCase();
    if (word.startsWith("is:")) {
      const role = token.text.slice(3).replaceAll('"', "").trim();
      if (!role) {
        this.at--;
        throw this.stop("is:ROLE");
      }
      return ["is", role];
    }
    if (!this.comparisonNext()) {
      if (word === "layer" || word === "layers") return this.layers();
      if (word === "head" || word === "heads") return ["heads", this.word("the names of heads")];
      if (word === "top") return this.top();
    }
    return this.comparison(token.text);
  }

  private comparisonNext(): boolean {
    return this.tokens[this.at]?.kind === "op";
  }

  private comparison(word: string): Tree {
    const value = this.value(word);
    if (!this.comparisonNext()) throw this.stop("a comparison (> < >= <= = !=)");
    const sign = this.tokens[this.at++]!.text as Comparison;
    const number = this.tokens[this.at];
    if (number?.kind !== "number") throw this.stop("a number");
    this.at++;
    return ["compare", value, sign, Number(number.text)];
  }

  private value(word: string): string[] {
    const value = splitValue(word);
    if (!value.length) {
      this.at--;
      throw this.stop("a value");
    }
    return value;
  }

  private layers(): Tree {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(this.word("a layer or a range of layers"));
    if (!match) {
      this.at--;
      throw this.stop("a layer or a range of layers, such as 3-5");
    }
    return ["layer", Number(match[1]), Number(match[2] ?? match[1])];
  }

  private top(): Tree {
    const count = this.word("a number of heads");
    if (!/^\d{1,6}$/.test(count) || Number(count) < 1) {
      this.at--;
      throw this.stop("a number of heads, such as 10,");
    }
    if (!this.nextIs("by")) throw this.stop("'by'");
    this.at++;
    const token = this.tokens[this.at];
    if (token?.kind !== "word") throw this.stop("the value to sort by");
    this.at++;
    return ["top", Number(count), this.value(token.text)];
  }

  private word(wanted: string): string {
    const token = this.tokens[this.at];
    if (token?.kind !== "word" && token?.kind !== "number") throw this.stop(wanted);
    this.at++;
    return token.text;
  }
}
