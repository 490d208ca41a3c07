import { useMemo } from "preact/hooks";

import type { Atlas } from "../data/atlas";
import { family, isRole } from "../families";
import { count, number, percent, plusMinus, shown } from "../format";
import { useStore } from "../store";
import { surveyed } from "../views/head/order";
import { follow } from "./link";

/** A number that says much about a head, with its rank among all heads. */
export interface Telling {
  title: string;
  /** More words, on hover. */
  about?: string;
  value: string;
  interval: string;
  rank: number;
  of: number;
}

/** The three most telling numbers of a head. */
export function telling(atlas: Atlas, place: number): Telling[] {
  const found: Telling[] = [];
  if (atlas.hasRoles) {
    const main = mainNumber(atlas, place);
    if (main) found.push(main);
    found.push(
      ranked(atlas.row("roles/activity", 0), place, "active share", (one) => percent(one)),
    );
    found.push(
      ranked(atlas.row("roles/spread", 0), place, "spread over the words", (one) => number(one)),
    );
  }
  return [...found, ...extremes(atlas, place, 3 - found.length)].slice(0, 3);
}

/** The excess of the head's main role. */
function mainNumber(atlas: Atlas, place: number): Telling | undefined {
  const id = atlas.family(place);
  if (!isRole(id)) return undefined;
  const at = atlas.document.work
    .map((role, index) => ({ role, index, value: atlas.number("work/value", place, index) }))
    .filter(({ role }) => role.family === id)
    .sort((a, b) => b.value - a.value)[0];
  if (!at) return undefined;
  const title = `${family(id).title.toLowerCase()}: above chance`;
  const half = atlas.number("work/half", place, at.index);
  const one = ranked(atlas.row("work/value", at.index), place, title, (value) => number(value));
  const about =
    "Share of the active attention on the role’s tokens, above what chance would give";
  return { ...one, about, interval: plusMinus(at.value - half, at.value + half, "number") };
}

function ranked(
  values: ArrayLike<number>,
  place: number,
  title: string,
  words: (value: number) => string,
): Telling {
  const mine = values[place] ?? NaN;
  let [rank, of] = [1, 0];
  for (let at = 0; at < values.length; at++) {
    if (values[at]! > mine) rank++;
    if (!Number.isNaN(values[at]!)) of++;
  }
  return { title, value: words(mine), interval: "", rank, of };
}

/** The statistics by which the head stands out most: nearest to the top or the end of all heads. */
function extremes(atlas: Atlas, place: number, most: number): Telling[] {
  if (most <= 0) return [];
  return atlas.document.statistics
    .map((about, at) => ({ about, at, rank: atlas.rank(at, place), of: atlas.defined(at) }))
    .filter(({ about, rank }) => about.listed && !Number.isNaN(rank))
    .sort(
      (a, b) =>
        Math.min(a.rank, a.of - a.rank + 1) - Math.min(b.rank, b.of - b.rank + 1) ||
        a.rank - b.rank,
    )
    .slice(0, most)
    .map(({ about, at, rank, of }) => ({
      title: about.title,
      value: shown(atlas.number("value", place, at), about),
      interval: plusMinus(
        atlas.number("low", place, at),
        atlas.number("high", place, at),
        about.kind,
      ),
      rank,
      of,
    }));
}

/** The head with the clearest role, or the first. */
export function clearest(atlas: Atlas): number {
  let [best, most] = [0, -Infinity];
  for (let place = 0; place < atlas.size; place++) {
    const excess = isRole(atlas.family(place)) ? atlas.excess(place) : NaN;
    if (excess > most) [best, most] = [place, excess];
  }
  return best;
}

/** The head in focus: its names, what it does, and three numbers. */
export function HeadCard({ keys = true }: { keys?: boolean }) {
  const store = useStore();
  const atlas = store.atlas!;
  const place = store.focus.value ?? clearest(atlas);
  const numbers = useMemo(() => telling(atlas, place), [atlas, place]);
  const lead = surveyed(atlas)
    ? atlas.document.heads[place]?.lead || roleWords(atlas, place)
    : "What this head does was not measured.";
  const own = store.notes.of(atlas.name(place)).label;
  const view = `head/${atlas.name(place)}`;
  return (
    <section class="hs-card" aria-label={`Head ${atlas.name(place)}`}>
      <p>
        <a class="hs-card-name" href={`#/${view}`} onClick={follow(store, view)}>
          {atlas.name(place)}
        </a>{" "}
        <span class="hs-soft" title="The same head counted from 0">
          {atlas.zeroBased(place)}
        </span>
      </p>
      {lead && <p class="hs-card-lead">{lead}</p>}
      {own && (
        <p class="hs-card-lead hs-card-own" dir="auto">
          Your label: {own}
        </p>
      )}
      <table>
        <tbody>
          {numbers.map((one) => (
            <tr key={one.title}>
              <th scope="row" title={one.about}>
                {one.title}
              </th>
              <td class="hs-num">
                {one.value}{" "}
                {one.interval && (
                  <span class="hs-quiet" title="95 % interval">
                    {one.interval}
                  </span>
                )}
              </td>
              <td class="hs-num hs-soft" title="Rank among all heads, from the largest">
                {count(one.rank)} of {count(one.of)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {keys && (
        <p class="hs-small hs-card-keys">
          <span>
            <kbd>Enter</kbd> open the head
          </span>{" "}
          <span>
            <kbd>↑↓←→</kbd> move
          </span>
        </p>
      )}
    </section>
  );
}

/** Roles in a few words, where there is no sentence. */
export function roleWords(atlas: Atlas, place: number): string {
  if (!atlas.hasRoles) return "";
  const second = atlas.second(place);
  const first = family(atlas.family(place)).title;
  return second ? `${first}, and ${family(second).title.toLowerCase()}.` : `${first}.`;
}
