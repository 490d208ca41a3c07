import type { Ref } from "preact";
import { useMemo, useState } from "preact/hooks";

import { visible } from "../data/sparse";
import { percent } from "../format";
import { type Arc, type ArcLink, arcs, type Placed, place, runsLeft, shares } from "./arcs-layout";
import { textWidth, useWidth } from "./measure";

export type { ArcLink } from "./arcs-layout";

interface Props {
  words: readonly string[];
  /** Lines between words: from a query to a key. */
  links: readonly ArcLink[];
  /** Weaker links that are drawn only for the word under the pointer. */
  more?: readonly ArcLink[];
  /** The share of each word's attention at rest: the length of its underline. */
  rest?: readonly number[];
  /** Words in a box: a mask. */
  marked?: readonly number[];
  /** Words in grey: special tokens. */
  quiet?: readonly number[];
  /** The word whose links stay shown. */
  picked?: number | null;
  onPick?: (word: number | null) => void;
  /** Colour of links that have none of their own. */
  colour?: string;
  /** For screen readers. */
  label: string;
  svg?: Ref<SVGSVGElement>;
}

/** A line of words with arcs of attention. */
export function Arcs(props: Props) {
  const { words, links, picked = null, onPick, label } = props;
  const [box, width, font] = useWidth<HTMLDivElement>();
  const [hovered, setHovered] = useState<number | null>(null);
  const [tabbed, setTabbed] = useState(0);
  const labels = useMemo(() => words.map((word) => visible(word)), [words]);
  const placed = useMemo(() => {
    const widths = labels.map((word) => textWidth(word, font));
    const gap = words.length > 60 ? 11 : 14;
    return place(widths, links, Math.max(width - 2, 40), gap, runsLeft(words));
  }, [labels, links, width, font]);
  const active = hovered ?? picked;
  const near = useMemo(
    () => (active === null ? [] : touching([...links, ...(props.more ?? [])], active)),
    [links, props.more, active],
  );
  const move = (event: KeyboardEvent) => {
    const ahead = runsLeft(words) ? -1 : 1;
    const step = { ArrowRight: ahead, ArrowLeft: -ahead }[event.key];
    if (step) {
      const next = Math.max(0, Math.min(words.length - 1, tabbed + step));
      setTabbed(next);
      const all = box.current?.querySelectorAll<SVGGElement>("[data-word]");
      all?.[next]?.focus();
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      onPick?.(picked === tabbed ? null : tabbed);
      event.preventDefault();
    }
  };
  return (
    <div class="hs-arcs" ref={box} onPointerLeave={() => setHovered(null)}>
      <svg
        ref={props.svg}
        role="group"
        aria-label={label}
        width={Math.max(width, 1)}
        height={placed.height}
        viewBox={`0 0 ${Math.max(width, 1)} ${placed.height}`}
        onKeyDown={move}
      >
        <Lines placed={placed} props={props} active={active} near={near} labels={labels} />
        {labels.map((word, at) => (
          <Word
            key={at}
            {...{ word, at, placed }}
            full={words[at] ?? ""}
            rest={props.rest?.[at]}
            boxed={at === active || Boolean(props.marked?.includes(at))}
            quiet={Boolean(props.quiet?.includes(at))}
            tab={at === Math.min(tabbed, words.length - 1)}
            said={at === active ? spoken(at, near, labels) : word}
            onEnter={() => setHovered(at)}
            onLeave={() => setHovered(null)}
            onFocus={() => {
              setTabbed(at);
              setHovered(at);
            }}
            onClick={() => onPick?.(picked === at ? null : at)}
          />
        ))}
        {active !== null &&
          shares(placed, near, active, (weight) => percent(weight, 0)).map((one, at) => (
            <text
              key={at}
              class={one.out ? "hs-arc-share hs-arc-out" : "hs-arc-share hs-arc-in"}
              x={inside(placed.x[one.word]! + placed.width[one.word]! / 2, width)}
              y={placed.lines[placed.line[one.word]!]!.baseline + 21 + one.row * 12}
            >
              {one.text}
            </text>
          ))}
      </svg>
    </div>
  );
}

/** Where a share of up to four signs is written, so that it is not cut at an edge. */
function inside(middle: number, width: number): number {
  return Math.max(14, Math.min(middle, width - 14));
}

interface LinesProps {
  placed: Placed;
  props: Props;
  active: number | null;
  near: readonly ArcLink[];
  labels: readonly string[];
}

/** All arcs: first those that do not touch the active word, then its own in two colours. */
function Lines({ placed, props, active, near, labels }: LinesProps) {
  const { links, colour = "var(--work)" } = props;
  const rest = useMemo(() => arcs(placed, links), [placed, links]);
  const own = useMemo(() => arcs(placed, near), [placed, near]);
  const others = active === null ? rest : rest.filter((arc) => !touches(links[arc.link]!, active));
  return (
    <>
      {others.map((arc, at) => {
        const link = links[arc.link]!;
        const strength =
          (0.3 + 0.55 * link.weight) * (active === null ? 1 : 0.5) * (arc.leaves ? 0.6 : 1);
        return draw(arc, at, link, link.colour ?? colour, link.dashed ? 0.9 : strength, labels);
      })}
      {own.map((arc, at) => {
        const link = near[arc.link]!;
        const own = link.from === active ? "var(--out)" : "var(--in)";
        return draw(arc, `own${at}`, link, own, 0.95, labels);
      })}
    </>
  );
}

function draw(
  arc: Arc,
  key: number | string,
  link: ArcLink,
  colour: string,
  opacity: number,
  labels: readonly string[],
) {
  const title = `${labels[link.from]} → ${labels[link.to]} ${percent(link.weight, 0)}`;
  const width = link.dashed ? 1.25 : 0.6 + 5 * link.weight;
  return (
    <g key={key} style={{ color: colour }} opacity={opacity}>
      <path
        d={arc.path}
        fill="none"
        stroke="currentColor"
        stroke-width={width}
        stroke-dasharray={link.dashed ? "3 3" : undefined}
      >
        <title>{title}</title>
      </path>
      {arc.tip && !link.dashed && (
        <circle cx={arc.tip[0]} cy={arc.tip[1]} r={1.4 + 1.8 * link.weight} fill="currentColor" />
      )}
    </g>
  );
}

interface WordProps {
  word: string;
  full: string;
  at: number;
  placed: Placed;
  rest: number | undefined;
  boxed: boolean;
  quiet: boolean;
  tab: boolean;
  said: string;
  onEnter: () => void;
  onLeave: () => void;
  onFocus: () => void;
  onClick: () => void;
}

function Word(props: WordProps) {
  const { placed, at, rest } = props;
  const { baseline } = placed.lines[placed.line[at]!]!;
  const [x, width] = [placed.x[at]!, placed.width[at]!];
  return (
    <g
      class={props.quiet ? "hs-arc-word hs-arc-quiet" : "hs-arc-word"}
      data-word={at}
      role="button"
      tabindex={props.tab ? 0 : -1}
      aria-label={props.said}
      onPointerEnter={props.onEnter}
      onFocus={props.onFocus}
      onBlur={props.onLeave}
      onClick={props.onClick}
    >
      <rect
        class="hs-arc-hit"
        x={x - 6}
        y={baseline - 18}
        width={width + 12}
        height={30}
        fill="transparent"
      />
      {props.boxed && (
        <rect class="hs-arc-box" x={x - 4} y={baseline - 15} width={width + 8} height={21} rx={3} />
      )}
      <text x={x} y={baseline}>
        {props.word}
        {props.full !== props.word && <title>{props.full.slice(0, 500)}</title>}
      </text>
      {rest !== undefined && rest > 0.005 && (
        <rect
          class="hs-arc-rest"
          x={x}
          y={baseline + 8}
          width={width * Math.min(rest, 1)}
          height={2.5}
        />
      )}
    </g>
  );
}

function touches(link: ArcLink, word: number): boolean {
  return link.from === word || link.to === word;
}

/** The links of a word, each once. */
function touching(links: readonly ArcLink[], word: number): ArcLink[] {
  const seen = new Set<string>();
  return links.filter((link) => {
    const name = `${link.from} ${link.to} ${link.below ? 1 : 0}`;
    if (link.dashed || !touches(link, word) || seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function spoken(word: number, links: readonly ArcLink[], labels: readonly string[]): string {
  const list = (some: ArcLink[], other: (link: ArcLink) => number) =>
    some
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 5)
      .map((link) => `${labels[other(link)]} ${percent(link.weight, 0)}`)
      .join(", ");
  const out = list(
    links.filter((link) => link.from === word),
    (link) => link.to,
  );
  const into = list(
    links.filter((link) => link.to === word && link.from !== word),
    (link) => link.from,
  );
  return `${labels[word]}${out ? `: looks at ${out}` : ""}${into ? `; seen by ${into}` : ""}`;
}
