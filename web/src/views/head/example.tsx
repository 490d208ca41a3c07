import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { Arcs } from "../../components/arcs";
import { HeatMap } from "../../components/heatmap";
import { SaveMenu } from "../../components/save";
import { part } from "../../data/sparse";
import type { ExampleKind, HeadExample } from "../../data/types";
import { count, percent } from "../../format";
import { useStore } from "../../store";
import { foundShare } from "./gold";
import type { Loaded } from "./load";
import { LONG, type Prepared, prepare } from "./prepared";
import { capital } from "./titles";

const KINDS: Record<ExampleKind, [string, string]> = {
  strong: ["Strong", "The strongest examples of the whole corpus"],
  typical: ["Typical", "Nearest the median of the sample"],
  weak: ["Weak", "The lowest score of the sample"],
  random: ["Random", "Drawn by lot, the same texts for all heads"],
};

interface ExampleProps {
  one: Prepared;
  show: string;
  relation: string;
  colour: string;
  place: number;
  loaded: Loaded;
}

/** One example: what it is, and its lines or its map. */
export function Example({ one, show, relation, colour, place, loaded }: ExampleProps) {
  const head = useStore().atlas!.name(place);
  const [whole, setWhole] = useState(false);
  const [picked, setPicked] = useState<number | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const full = useMemo(
    () =>
      whole
        ? prepare(loaded.head.arrays, one.example, one.text, {
            pieces: show === "pieces",
            relation,
            colour,
            whole,
          })
        : one,
    [whole, one, show, relation, colour],
  );
  const name = `example-${head}-${one.text.id}`.replace(/[^\w.-]+/g, "-").slice(0, 80);
  const data = () => ({
    columns: ["head", "text", "from", "to", "from_place", "to_place", "weight"],
    rows: full.links
      .filter((link) => !link.dashed)
      .map((link) => [
        head,
        one.text.id,
        full.labels[link.from]!,
        full.labels[link.to]!,
        link.from + 1,
        link.to + 1,
        link.weight,
      ]),
  });
  return (
    <article class="hs-example">
      <About example={one.example} one={one} loaded={loaded} relation={relation}>
        <SaveMenu
          name={name}
          chart={() => (show === "map" ? canvas.current : svg.current)}
          data={data}
        />
      </About>
      <div class="hs-example-drawn">
        {show === "map" ? (
          <ExampleMap one={full} canvas={canvas} name={head} />
        ) : (
          <Arcs
            words={full.labels}
            links={full.links}
            more={full.more}
            rest={full.rest}
            picked={picked}
            onPick={setPicked}
            svg={svg}
            label={`Attention of head ${head} in ${full.labels.slice(0, 8).join(" ")} …`}
          />
        )}
        {one.total > LONG && (
          <button
            type="button"
            class="hs-more"
            aria-expanded={whole}
            onClick={() => {
              setWhole(!whole);
              setPicked(null);
            }}
          >
            {whole
              ? "Show a passage"
              : `Show all ${one.total} ${show === "pieces" ? "pieces" : "words"}`}
          </button>
        )}
        {one.text.length > one.text.tokens.length && whole && (
          <p class="hs-note">
            The first {one.text.tokens.length} of {count(one.text.length)} tokens are kept.
          </p>
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
        rank {example.rank} of {count(of)}
        {strong ? "" : " sampled"}
      </span>
      {relation && (
        <span class="hs-verdict">
          {foundShare(one) >= 0.5 ? "for" : "against"}: {found} of {one.verdicts.length} found
        </span>
      )}
      <span class="hs-example-id" title={`Example ${one.text.id}`}>
        {one.text.id}
      </span>
      {children}
    </div>
  );
}

function ExampleMap({
  one,
  canvas,
  name,
}: {
  one: Prepared;
  canvas: { current: HTMLCanvasElement | null };
  name: string;
}) {
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
