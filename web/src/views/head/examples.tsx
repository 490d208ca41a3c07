import { useMemo } from "preact/hooks";

import type { Atlas } from "../../data/atlas";
import { family, isRole } from "../../families";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import { Example } from "./example";
import { choices, foundShare } from "./gold";
import type { Loaded } from "./load";
import { type Prepared, prepare } from "./prepared";
import { RelationSelect } from "./relation-select";

const SHOWS: [string, string][] = [
  ["words", "Words"],
  ["pieces", "Pieces"],
  ["map", "Map"],
];
const FEW = 4;

/** Texts in which the head is strong, typical, weak, and some by lot. */
export function Examples({ place, loaded }: { place: number; loaded: Loaded }) {
  const store = useStore();
  const atlas = store.atlas!;
  const show = SHOWS.some(([id]) => id === store.option("show")) ? store.option("show")! : "words";
  const relation = store.option("relation") ?? "";
  const everything = store.option("all") === "yes";
  const { head, texts } = loaded;
  const used = useMemo(
    () => head.document.examples.filter((one) => texts[one.text]),
    [head, texts],
  );
  const colour = relationColour(atlas, place, relation, store.dark.value);
  const ordered = useMemo(() => {
    const options = { pieces: show === "pieces", relation, colour, whole: false };
    const all = used.map((one) => prepare(head.arrays, one, texts[one.text]!, options));
    return relation ? forAndAgainst(all) : all;
  }, [head, texts, used, show, relation, colour]);
  const few = useMemo(() => oneOfEach(ordered, relation), [ordered, relation]);
  const drawn = everything ? ordered : few;
  const known = useMemo(() => choices(used.map((one) => texts[one.text]!)), [used, texts]);
  return (
    <Block
      title="Examples"
      note={
        show === "map" ? (
          "√ scale; row maximum in % where there is room"
        ) : (
          <>
            lines over 10 %; underline: idle share; <span class="hs-out">out</span> and{" "}
            <span class="hs-in">in</span> of the word under the pointer
          </>
        )
      }
      name={`examples-${atlas.name(place)}`}
      tools={<Tabs show={show} />}
      class="hs-examples"
    >
      <RelationSelect known={known} relation={relation} found={ordered} />
      {drawn.map((one) => (
        <Example
          key={`${one.example.kind}${one.example.text}`}
          {...{ one, show, relation, colour, place }}
          loaded={loaded}
        />
      ))}
      {atlas.document.examples.cut && <p class="hs-note">{atlas.document.examples.cut}</p>}
      {ordered.length > few.length && (
        <button
          type="button"
          class="hs-more"
          onClick={() => store.set({ all: everything ? undefined : "yes" })}
        >
          {everything ? "Show fewer examples" : `Show all ${ordered.length} examples`}
        </button>
      )}
    </Block>
  );
}

/** The colour of a relation's family, else of the head's. */
function relationColour(atlas: Atlas, place: number, relation: string, dark: boolean): string {
  const name = relation.replace(/>$/, "");
  const known = isRole(name)
    ? name
    : atlas.document.relations.find((one) => one.relation === name)?.family;
  if (known && isRole(known)) return family(known).colour[dark ? 1 : 0];
  return headColour(atlas.family(place), dark);
}

/** One example of each kind; with a relation, the best three and the worst two. */
function oneOfEach(all: Prepared[], relation: string): Prepared[] {
  if (relation) return all.length > 5 ? [...all.slice(0, 3), ...all.slice(-2)] : all;
  const seen = new Set<string>();
  return all
    .filter(({ example }) => !seen.has(example.kind) && seen.add(example.kind))
    .slice(0, FEW);
}

/** Examples with the arcs of a relation, those that are for it first. */
function forAndAgainst(all: Prepared[]): Prepared[] {
  return all
    .filter(({ verdicts }) => verdicts.length > 0)
    .sort((a, b) => foundShare(b) - foundShare(a) || b.verdicts.length - a.verdicts.length);
}

/** Words, pieces or map. */
function Tabs({ show }: { show: string }) {
  const store = useStore();
  return (
    <span class="hs-tabs" role="group" aria-label="Show examples as">
      {SHOWS.map(([id, title]) => (
        <button
          key={id}
          type="button"
          aria-pressed={show === id}
          onClick={() => store.set({ show: id === "words" ? undefined : id })}
        >
          {title}
        </button>
      ))}
    </span>
  );
}
