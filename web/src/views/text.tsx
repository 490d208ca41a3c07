import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { type ArcLink, Arcs } from "../components/arcs";
import { HeatMap } from "../components/heatmap";
import { SaveMenu } from "../components/save";
import type { TextDocument } from "../data/types";
import { useStore } from "../store";
import { links, resting, type TextMap } from "./text/links";

/** Heads drawn at once. */
const MOST = 4;

/** The attention of one text: the maps of the heads that the reader picks. */
export function TextView() {
  const store = useStore();
  const [text, setText] = useState<TextDocument | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    store.source.load<TextDocument>("text").then(
      (pack) => setText(pack.document),
      (problem: Error) => setError(problem.message),
    );
  }, [store]);
  if (error) return <p class="hs-empty">{error}</p>;
  if (!text) return <p class="hs-empty">Loading …</p>;
  const chosen = chosenHeads(text, store.option("heads"));
  const toggle = (head: string) => {
    const next = chosen.includes(head) ? chosen.filter((one) => one !== head) : [...chosen, head];
    store.set({ heads: (next.length ? next.slice(-MOST) : [head]).join(",") });
  };
  return (
    <div class="hs-text">
      <Heading text={text} />
      <Chips text={text} chosen={chosen} toggle={toggle} />
      {chosen.map((head) => (
        <Drawing key={head} text={text} head={head} />
      ))}
    </div>
  );
}

/** The heads in the address, or the one with the strongest link. */
function chosenHeads(text: TextDocument, option: string | undefined): string[] {
  const known = new Set(text.heads);
  const asked = (option ?? "").split(",").filter((head) => known.has(head));
  return asked.length ? asked.slice(0, MOST) : text.heads.slice(0, 1);
}

function Heading({ text }: { text: TextDocument }) {
  const store = useStore();
  const map = store.option("show") === "map";
  const special = store.option("special") === "yes";
  return (
    <div class="hs-text-top">
      <h2>
        Attention of {text.model} <span class="hs-soft">over {text.tokens.length} {text.units}</span>
      </h2>
      <span class="hs-text-switch" role="group" aria-label="Drawing">
        <button type="button" aria-pressed={!map} onClick={() => store.set({ show: undefined })}>
          Lines
        </button>
        <button type="button" aria-pressed={map} onClick={() => store.set({ show: "map" })}>
          Map
        </button>
      </span>
      {!map && text.special.length > 0 && (
        <label class="hs-text-check">
          <input
            type="checkbox"
            checked={special}
            onChange={() => store.set({ special: special ? undefined : "yes" })}
          />
          lines to special tokens
        </label>
      )}
    </div>
  );
}

interface Choice {
  text: TextDocument;
  chosen: string[];
  toggle: (head: string) => void;
}

/** The heads with the strongest links as buttons, the others in a list. */
function Chips({ text, chosen, toggle }: Choice) {
  const shown = [...new Set([...text.shown, ...chosen])];
  const others = text.heads.filter((head) => !shown.includes(head)).sort(byNumber);
  return (
    <div class="hs-text-chips" role="group" aria-label="Heads, by their strongest link">
      {shown.map((head) => (
        <button
          type="button"
          key={head}
          aria-pressed={chosen.includes(head)}
          title={text.strongest[head] ?? ""}
          onClick={() => toggle(head)}
        >
          {head}
        </button>
      ))}
      {others.length > 0 && (
        <select
          aria-label="Another head"
          value=""
          onChange={(event) => event.currentTarget.value && toggle(event.currentTarget.value)}
        >
          <option value="">{others.length} more …</option>
          {others.map((head) => (
            <option key={head} value={head}>
              {head}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** One head: lines or a map. */
function Drawing({ text, head }: { text: TextDocument; head: string }) {
  const store = useStore();
  const map = useMap(head);
  const svg = useRef<SVGSVGElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const isMap = store.option("show") === "map";
  return (
    <section class="hs-text-head">
      <div class="hs-title">
        <h3>Head {head}</h3>
        <span class="hs-soft" title="The same head, layers and heads counted from 0">
          {zeroBased(head)}
        </span>
        {text.strongest[head] && <span class="hs-soft">{text.strongest[head]}</span>}
        {typeof map !== "string" && (
          <SaveMenu
            name={`attention-${head}`}
            chart={() => (isMap ? canvas.current : svg.current)}
            data={() => table(text, map)}
          />
        )}
      </div>
      {typeof map === "string" ? (
        <p class="hs-empty">{map}</p>
      ) : isMap ? (
        <HeatMap
          rows={text.tokens}
          columns={text.tokens}
          weights={map.weights}
          canvas={canvas}
          label={`Head ${head}: attention from each row to each column`}
        />
      ) : (
        <Lines text={text} head={head} map={map} svg={svg} />
      )}
    </section>
  );
}

interface LinesProps {
  text: TextDocument;
  head: string;
  map: TextMap;
  svg: { current: SVGSVGElement | null };
}

function Lines({ text, head, map, svg }: LinesProps) {
  const store = useStore();
  const [picked, setPicked] = useState<number | null>(null);
  const special = store.option("special") === "yes";
  const [strong, weak] = useMemo((): [ArcLink[], ArcLink[]] => {
    const hidden = special ? [] : text.special;
    const all = links(map, hidden);
    return [all.filter((one) => one.weight >= 0.1), all.filter((one) => one.weight < 0.1)];
  }, [map, special]);
  const rest = useMemo(() => (special ? undefined : resting(map, text.special)), [map, special]);
  return (
    <>
      <Arcs
        words={text.tokens}
        links={strong}
        more={weak}
        rest={rest}
        quiet={text.special}
        colour="var(--seq)"
        picked={picked}
        onPick={setPicked}
        svg={svg}
        label={`Head ${head}: ${strong.length} links of 10 % or more. ${text.strongest[head] ?? ""}`}
      />
      {!special && strong.length === 0 && (
        <p class="hs-small">No link of 10 % or more between words: this head attends to special tokens here.</p>
      )}
    </>
  );
}

/** The map of a head, or a sentence while it is not there. */
function useMap(head: string): TextMap | string {
  const store = useStore();
  const [map, setMap] = useState<TextMap | string>("Loading …");
  useEffect(() => {
    let current = true;
    store.source.load(`text/${head}`).then(
      (pack) => current && setMap(fromPack(pack.arrays.weights, pack.shapes.weights)),
      (problem: Error) => current && setMap(problem.message),
    );
    return () => {
      current = false;
    };
  }, [store, head]);
  return map;
}

function fromPack(stored: ArrayLike<number> | undefined, shape: number[] | undefined): TextMap {
  const weights = Float32Array.from(stored ?? [], (one) => one / 65535);
  return { weights, size: shape?.[1] ?? 0 };
}

function table(text: TextDocument, map: TextMap) {
  const rows = links(map, []).map((one): (string | number)[] => [
    one.from, text.tokens[one.from] ?? "", one.to, text.tokens[one.to] ?? "", one.weight,
  ]);
  return { columns: ["query", "from", "key", "to", "weight"], rows };
}

function zeroBased(head: string): string {
  const [layer = 1, one = 1] = head.split("-").map(Number);
  return `L${layer - 1}H${one - 1}`;
}

function byNumber(a: string, b: string): number {
  const [left, right] = [a.split("-").map(Number), b.split("-").map(Number)];
  return left[0]! - right[0]! || left[1]! - right[1]!;
}
