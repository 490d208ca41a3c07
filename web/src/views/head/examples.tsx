import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { Arcs } from "../../components/arcs";
import { HeatMap } from "../../components/heatmap";
import { SaveMenu } from "../../components/save";
import { part } from "../../data/sparse";
import type { ExampleKind, HeadExample } from "../../data/types";
import { family, isRole } from "../../families";
import { count, percent } from "../../format";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import { choices } from "./gold";
import type { Loaded } from "./load";
import { LONG, type Prepared, prepare } from "./prepared";
import { capital, relationTitle } from "./titles";

const KINDS: Record<ExampleKind, [string, string]> = {
  strong: ["Strong", "The strongest examples of the whole corpus"],
  typical: ["Typical", "Nearest the median of the sample"],
  weak: ["Weak", "The lowest score of the sample"],
  random: ["Random", "Drawn by lot, the same texts for all heads"],
};
const SHOWS: [string, string][] = [["words", "Words"], ["pieces", "Pieces"], ["map", "Map"]];
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
  const tools = (
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
  return (
    <Block
      title="Examples"
      note={
        show === "map" ? "√ scale; row maximum in % where there is room" : (
          <>
            lines over 10 %; underline: share at rest; <span class="hs-out">out</span> and{" "}
            <span class="hs-in">in</span> of the word under the pointer
          </>
        )
      }
      name={`examples-${atlas.name(place)}`}
      tools={tools}
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
      {ordered.length > few.length && (
        <button type="button" class="hs-more" onClick={() => store.set({ all: everything ? undefined : "yes" })}>
          {everything ? "Show fewer examples" : `Show all ${ordered.length} examples`}
        </button>
      )}
    </Block>
  );
}

/** The colour of a relation's family, else of the head's. */
function relationColour(atlas: NonNullable<ReturnType<typeof useStore>["atlas"]>, place: number, relation: string, dark: boolean): string {
  const name = relation.replace(/>$/, "");
  const known = isRole(name) ? name : atlas.document.relations.find((one) => one.relation === name)?.family;
  if (known && isRole(known)) return family(known).colour[dark ? 1 : 0];
  return headColour(atlas.family(place), dark);
}

/** One example of each kind; with a relation, the best three and the worst two. */
function oneOfEach(all: Prepared[], relation: string): Prepared[] {
  if (relation) return all.length > 5 ? [...all.slice(0, 3), ...all.slice(-2)] : all;
  const seen = new Set<string>();
  return all.filter(({ example }) => !seen.has(example.kind) && seen.add(example.kind)).slice(0, FEW);
}

/** Examples with the arcs of a relation, those that are for it first. */
function forAndAgainst(all: Prepared[]): Prepared[] {
  return all
    .filter(({ verdicts }) => verdicts.length > 0)
    .sort((a, b) => foundShare(b) - foundShare(a) || b.verdicts.length - a.verdicts.length);
}

function foundShare({ verdicts }: Prepared): number {
  return verdicts.filter((one) => one.found).length / verdicts.length;
}

interface SelectProps {
  known: ReturnType<typeof choices>;
  relation: string;
  found: Prepared[];
}

/** For and against: which relation to look for in the examples. */
function RelationSelect({ known, relation, found }: SelectProps) {
  const store = useStore();
  const about = store.atlas!.document.relations;
  const words = (id: string, down: boolean) => {
    const direction = down ? "head to dependent" : "dependent to head";
    const one = about.find((other) => other.relation === id && other.direction === direction);
    return one?.words ? `${relationTitle(one)} (${id})` : `${id}: ${down ? "head word → dependent" : "dependent → head word"}`;
  };
  const arcs = found.flatMap((one) => one.verdicts);
  const right = arcs.filter((one) => one.found).length;
  return (
    <p class="hs-for">
      <label>
        For and against{" "}
        <select value={relation} onChange={(event) => store.set({ relation: event.currentTarget.value || undefined })}>
          <option value="">no relation</option>
          <optgroup label="Position">
            <option value="previous">The previous word</option>
            <option value="next">The next word</option>
          </optgroup>
          {[false, true].map((down) => (
            <optgroup key={String(down)} label={down ? "From a head word to its dependents" : "From a word to its head word"}>
              {known.filter((one) => one.down === down).map((one) => (
                <option key={one.id} value={one.id}>{words(one.relation, down)}</option>
              ))}
            </optgroup>
          ))}
          {relation && !SIMPLE.includes(relation) && !known.some((one) => one.id === relation) && (
            <option value={relation}>{relation}</option>
          )}
        </select>
      </label>
      {relation && (
        <span class="hs-soft">
          {arcs.length
            ? `${right} of ${count(arcs.length)} arcs are the word’s strongest link; dashed: missed`
            : "These examples have no such arcs."}
        </span>
      )}
    </p>
  );
}

const SIMPLE = ["previous", "next"];

interface ExampleProps {
  one: Prepared;
  show: string;
  relation: string;
  colour: string;
  place: number;
  loaded: Loaded;
}

function Example({ one, show, relation, colour, place, loaded }: ExampleProps) {
  const store = useStore();
  const [whole, setWhole] = useState(false);
  const [picked, setPicked] = useState<number | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const full = useMemo(
    () =>
      whole
        ? prepare(loaded.head.arrays, one.example, one.text, { pieces: show === "pieces", relation, colour, whole })
        : one,
    [whole, one, show, relation, colour],
  );
  const name = `example-${store.atlas!.name(place)}-${one.text.id}`.replace(/[^\w.-]+/g, "-").slice(0, 80);
  const data = () => ({
    columns: ["head", "text", "from", "to", "from_place", "to_place", "weight"],
    rows: full.links.filter((link) => !link.dashed).map((link) => [
      store.atlas!.name(place), one.text.id, full.labels[link.from]!, full.labels[link.to]!, link.from + 1, link.to + 1, link.weight,
    ]),
  });
  return (
    <article class="hs-example">
      <About example={one.example} one={one} loaded={loaded} relation={relation}>
        <SaveMenu name={name} chart={() => (show === "map" ? canvas.current : svg.current)} data={data} />
      </About>
      <div class="hs-example-drawn">
        {show === "map" ? (
          <ExampleMap one={full} canvas={canvas} name={store.atlas!.name(place)} />
        ) : (
          <Arcs
            words={full.labels}
            links={full.links}
            more={full.more}
            rest={full.rest}
            picked={picked}
            onPick={setPicked}
            svg={svg}
            label={`Attention of head ${store.atlas!.name(place)} in ${full.labels.slice(0, 8).join(" ")} …`}
          />
        )}
        {one.total > LONG && (
          <button type="button" class="hs-more" aria-expanded={whole} onClick={() => { setWhole(!whole); setPicked(null); }}>
            {whole ? "Show a passage" : `Show all ${one.total} ${show === "pieces" ? "pieces" : "words"}`}
          </button>
        )}
        {one.text.length > one.text.tokens.length && whole && (
          <p class="hs-note">The first {one.text.tokens.length} of {count(one.text.length)} tokens are kept.</p>
        )}
      </div>
    </article>
  );
}

interface AboutProps {
  example: HeadExample;
  one: Prepared;
  loaded: Loaded;
  relation: string;
  children: ComponentChildren;
}

/** Kind, score and rank at the left of an example. */
function About({ example, one, loaded, relation, children }: AboutProps) {
  const { corpus } = useStore().atlas!.document;
  const [title, why] = KINDS[example.kind] ?? [capital(example.kind), ""];
  const strong = example.kind === "strong";
  const of = strong ? corpus.examples : loaded.head.document.sample;
  const found = one.verdicts.filter((arc) => arc.found).length;
  return (
    <div class="hs-example-about">
      <b title={why}>{title}</b>
      <span title="Mean share of attention that is neither on sinks nor on the token itself">
        {percent(example.score, 0)} on other words
      </span>
      <span title={strong ? "Among all examples" : "In the random sample"}>
        rank {example.rank} of {count(of)}{strong ? "" : " sampled"}
      </span>
      {relation && (
        <span class="hs-verdict">
          {foundShare(one) >= 0.5 ? "for" : "against"}: {found} of {one.verdicts.length} found
        </span>
      )}
      <span class="hs-example-id" title={`Example ${one.text.id}`}>{one.text.id}</span>
      {children}
    </div>
  );
}

function ExampleMap({ one, canvas, name }: { one: Prepared; canvas: { current: HTMLCanvasElement | null }; name: string }) {
  const { labels, weights, columns } = useMemo(() => {
    const all = one.units.labels.map((_, at) => at);
    const passage = new Set(one.shown);
    const keep = all.filter((at) => one.units.special[at] || passage.has(at));
    return {
      labels: keep.map((at) => one.units.labels[at]!),
      weights: part(one.weights, all.length, keep),
      columns: keep.length,
    };
  }, [one]);
  return (
    <HeatMap
      rows={labels}
      columns={labels}
      weights={weights}
      cell={columns > 60 ? 14 : 22}
      canvas={canvas}
      label={`Map of head ${name}: ${columns} words`}
    />
  );
}
