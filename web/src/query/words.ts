import type { Atlas } from "../data/atlas";
import { type Field, fields } from "../data/fields";
import { family } from "../families";

/** What words find: heads, the best first, and what they were found by. */
export interface Found {
  places: number[];
  by: string;
}

const DULL = new Set(["a", "an", "and", "at", "for", "head", "heads", "in", "of", "on", "that", "the", "to", "which"]);
const MOST = 10;

/**
 * Heads by words: those whose description, main role, top tokens, tested relation or own note has all of them; else the
 * ten largest heads of the statistic or relation that the words name ("commas").
 */
export function findByWords(
  atlas: Atlas,
  text: string,
  own: (head: string) => string = () => "",
  tokens: string[][] = [],
): Found | undefined {
  const wanted = stems(text).filter((word) => !DULL.has(word));
  if (!wanted.length) return undefined;
  const scored: { place: number; score: number }[] = [];
  for (let place = 0; place < atlas.size; place++) {
    const score = scoreOf(atlas, place, wanted, own(atlas.name(place)), tokens[place]);
    if (score > 0) scored.push({ place, score });
  }
  scored.sort((a, b) => b.score - a.score || a.place - b.place);
  if (scored.length) return { places: scored.map((one) => one.place), by: "what heads do" };
  const words = new Map(atlas.document.relations.map((one) => [`relation:${one.id}`, one.words]));
  const one = fields(atlas).find(
    ({ title, id }) => id !== "layer" && has(stems(`${title} ${words.get(id) ?? ""}`), wanted),
  );
  return one && { places: largest(atlas, one), by: words.get(one.id) || one.title };
}

/** How well words fit a head: they count most in its first sentence; 0 unless all are there. */
function scoreOf(
  atlas: Atlas,
  place: number,
  wanted: string[],
  own: string,
  tokens: string[] = [],
): number {
  const said = atlas.document.heads[place];
  const roles = [atlas.family(place), atlas.second(place)].filter(Boolean);
  const relations = atlas.document.relations.flatMap((relation, at) =>
    atlas.number("relations/p", place, at) < 0.05 &&
    atlas.number("relations/accuracy", place, at) > relation.baseline
      ? [`${relation.words ?? ""} ${relation.title} ${relation.relation}`]
      : [],
  );
  const parts: [string, number][] = [
    [own, 16],
    [said?.lead ?? "", 8],
    [roles.map((id) => family(id).title).join(" "), 4],
    [tokens.join(" "), 2],
    [relations.join(" "), 1],
  ];
  const all = parts.map(([text, weight]) => [new Set(stems(text)), weight] as const);
  let score = 0;
  for (const word of wanted) {
    const weights = all.filter(([words]) => words.has(word)).map(([, weight]) => weight);
    if (!weights.length) return 0;
    score += Math.max(...weights) + (atlas.excess(place) || 0);
  }
  return score;
}

function largest(atlas: Atlas, one: Field): number[] {
  return Array.from({ length: atlas.size }, (_, place) => place)
    .filter((place) => Number.isFinite(one.values[place]))
    .sort((a, b) => one.values[b]! - one.values[a]! || a - b)
    .slice(0, MOST);
}

function has(words: string[], wanted: string[]): boolean {
  const known = new Set(words);
  return wanted.every((word) => known.has(word));
}

/** Words without case and plural: "Prepositions" is "preposition", "commas" is "comma". */
function stems(text: string): string[] {
  const signs: Record<string, string> = { ",": " comma ", ".": " period stop ", "[CLS]": " cls " };
  const plain = text.replace(/\[CLS\]|(?<=["“])[,.](?=["”])/g, (sign) => signs[sign] ?? sign);
  return (plain.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word,
  );
}
