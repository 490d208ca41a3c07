import type { Relation, Statistic, WorkRole } from "../../data/types";

/** Short names for rows of charts. The full title is always in the tooltip. */

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "from a modifier to its noun" is "Modifier → its noun". */
export function workTitle(role: WorkRole): string {
  const along = /^from an? (.+) to (its .+)$/.exec(role.title);
  if (along) return capital(`${along[1]} → ${along[2]}`);
  const plain = role.title.replace(/^the /, "").replace(/:.*$/, "");
  return capital(role.id === "near" ? `${plain} (±2)` : plain);
}

/** "the noun of a determiner" is "Noun of a determiner". */
export function relationTitle(relation: Relation): string {
  return capital((relation.words || relation.title).replace(/^the /, ""));
}

/** Inside a block the title need not repeat what the block is about. */
export function partTitle(title: string): string {
  return capital(title.replace(/^probe for /, "").replace(/ (pattern|with the head off)$/, ""));
}

const SHORT: [RegExp, string][] = [
  [/^attention to the (previous token|next token|token itself)$/, "$1"],
  [/^attention (at work|that is active): not on sinks$/, "active share"],
  [/^attention that rests on (the )?/, "rests on "],
  [/^attention to (what followed |earlier )/, "$1"],
  [/^attention to full stops and commas/, "attention to stops"],
  [/^attention to (\S+) from tokens other than (\S+)$/, "to $1 from all but $2"],
  [/^attention to (.+) from (.+)$/, "to $1 from $2"],
  [/^entropy of attention from all tokens$/, "entropy, nats"],
  [/^entropy of attention from (\S+)$/, "entropy of the $1 row"],
  [/^largest attention (from an? |between an? |to an? |to )?/, "largest: "],
  [/^(antecedents of .+) among (all words|earlier mentions)$/, "$1, $2"],
  [/ full stops and commas/, " stops"],
];

/** A statistic in few words. */
export function statisticTitle(statistic: Statistic): string {
  if (statistic.measure === "role") {
    return `${capital(statistic.title.split(":")[0] ?? statistic.title)}, × uniform`;
  }
  let title = statistic.title;
  for (const [from, to] of SHORT) title = title.replace(from, to);
  return capital(title);
}
