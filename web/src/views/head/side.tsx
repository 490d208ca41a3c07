import { scaleLinear } from "d3-scale";
import { useRef } from "preact/hooks";

import { useWidth } from "../../components/measure";
import { visible } from "../../data/sparse";
import { HeadLink } from "../../components/link";
import { family } from "../../families";
import { count, number, percent } from "../../format";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import type { Loaded } from "./load";
import { nearest } from "./order";
import { Swatch } from "./top";

const HEIGHT = 128;
const FOOT = 20;

/** The share of attention by distance. */
export function Distance({ place, loaded }: { place: number; loaded: Loaded }) {
  const store = useStore();
  const chart = useRef<SVGSVGElement>(null);
  const [box, width] = useWidth<HTMLDivElement>();
  const { histogram, uniform } = loaded.head.arrays;
  if (!histogram?.length || !Number.isFinite(histogram[0])) return null;
  const reach = (histogram.length - 1) / 2;
  const dark = store.dark.value ? 1 : 0;
  // The end bins hold everything farther away, where even attention of a long text piles up: the
  // line leaves them out.
  const inner = Array.from(uniform ?? []).slice(1, -1);
  const highest = Math.max(...histogram, ...inner, 0.01);
  const bar = width / histogram.length;
  const y = scaleLinear().domain([0, highest]).range([HEIGHT, 22]);
  const peak = histogram.indexOf(Math.max(...histogram));
  const colour = (offset: number) =>
    family(offset === 0 ? "itself" : offset < 0 ? "previous" : "next").colour[dark];
  const said = `${percent(histogram[peak]!, 0)} ${offsetWords(peak - reach, reach)}`;
  const name = store.atlas!.name(place);
  const data = () => ({
    columns: ["head", "offset", "share", "even_attention"],
    rows: Array.from(histogram, (share, at) => [name, at - reach, share, uniform?.[at] ?? null]),
  });
  const even = inner
    .map((one, at) => `${at ? "L" : "M"}${(at + 1) * bar} ${y(one)}H${(at + 2) * bar}`)
    .join("");
  const right = peak > histogram.length * 0.6;
  return (
    <Block
      title="Distance"
      note="share of attention by offset; line: uniform attention"
      name={`distance-${name}`}
      chart={() => chart.current}
      data={data}
    >
      <div ref={box} class="hs-chart">
        <svg
          ref={chart}
          width={Math.max(width, 1)}
          height={HEIGHT + FOOT}
          role="img"
          aria-label={`Head ${name} by distance: ${said}`}
        >
          {Array.from(histogram, (share, at) => (
            <rect
              key={at}
              x={at * bar + 0.5}
              width={Math.max(bar - 1, 0.5)}
              y={y(share)}
              height={Math.max(0, HEIGHT - y(share))}
              fill={colour(at - reach)}
            >
              <title>
                {`${percent(share)} ${offsetWords(at - reach, reach)}; ` +
                  `uniform attention ${percent(uniform?.[at] ?? NaN)}`}
              </title>
            </rect>
          ))}
          <line class="hs-axis-zero" x1={0} x2={width} y1={HEIGHT} y2={HEIGHT} />
          <path class="hs-even" d={even} />
          <text
            class="hs-row-value"
            x={right ? peak * bar - 6 : (peak + 1) * bar + 6}
            y={y(histogram[peak]!) + 10}
            text-anchor={right ? "end" : "start"}
          >
            {said}
          </text>
          {[-reach, -10, -5, 0, 5, 10, reach].map((offset) => (
            <text
              key={offset}
              class="hs-axis-text"
              x={offset === -reach ? 0 : offset === reach ? width : (offset + reach + 0.5) * bar}
              y={HEIGHT + 15}
              text-anchor={offset === -reach ? "start" : offset === reach ? "end" : "middle"}
            >
              {offset === -reach
                ? `≤ ${number(offset, 0)}`
                : offset === reach
                  ? `≥ ${offset}`
                  : number(offset, 0)}
            </text>
          ))}
        </svg>
      </div>
    </Block>
  );
}

function offsetWords(offset: number, reach: number): string {
  if (offset === 0) return "on the token itself";
  if (offset === 1) return "on the next token";
  if (offset === -1) return "on the previous token";
  const far = Math.abs(offset) === reach ? " or more" : "";
  return `${Math.abs(offset)}${far} tokens ${offset > 0 ? "ahead" : "back"}`;
}

/** Pairs of words, and words, with the most attention. */
export function Pairs({ place, loaded }: { place: number; loaded: Loaded }) {
  const store = useStore();
  const { pairs, queries, keys, sample } = loaded.head.document;
  const colour = headColour(store.atlas!.family(place), store.dark.value);
  const name = store.atlas!.name(place);
  const most = Math.max(...pairs.map((one) => one.mean), 0.01);
  const data = () => ({
    columns: ["head", "query", "key", "mean", "n"],
    rows: pairs.map((one) => [name, one.query, one.key, one.mean, one.n]),
  });
  if (!pairs.length && !queries.length && !keys.length) return null;
  return (
    <>
      {pairs.length > 0 && (
        <Block
          title="Top pairs"
          note={`mean attention, times seen in ${sample} texts`}
          name={`pairs-${name}`}
          data={data}
        >
          <ul class="hs-bars">
            {pairs.map((one) => (
              <li key={`${one.query}\n${one.key}`}>
                <span class="hs-bars-name" title={`${one.query} → ${one.key}`}>
                  <bdi>{visible(one.query)}</bdi> <span class="hs-soft">→</span>{" "}
                  <bdi>{visible(one.key)}</bdi>
                </span>
                <Bar share={one.mean / most} colour={colour} />
                <span class="hs-num">{percent(one.mean, 0)}</span>
                <span class="hs-num hs-soft">{count(one.n)}</span>
              </li>
            ))}
          </ul>
        </Block>
      )}
      <div class="hs-pair-columns">
        <Tokens title="Top queries" tokens={queries} name={`queries-${name}`} />
        <Tokens title="Top keys" tokens={keys} name={`keys-${name}`} />
      </div>
    </>
  );
}

export function Bar({ share, colour }: { share: number; colour: string }) {
  return (
    <span class="hs-bar" aria-hidden="true">
      <span style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: colour }} />
    </span>
  );
}

/** Words by their share of the head's attention between words. */
function Tokens(props: {
  title: string;
  name: string;
  tokens: { token: string; share: number }[];
}) {
  const { title, tokens, name } = props;
  if (!tokens.length) return null;
  const data = () => ({
    columns: ["token", "share"],
    rows: tokens.map((one) => [one.token, one.share]),
  });
  return (
    <Block
      title={title}
      note={<span title="Share of the head’s attention between words, sinks excluded">share</span>}
      name={name}
      data={data}
    >
      <ul class="hs-bars hs-bars-short">
        {tokens.map((one) => (
          <li key={one.token}>
            <bdi class="hs-bars-name" title={one.token}>
              {visible(one.token)}
            </bdi>
            <span class="hs-num">{percent(one.share)}</span>
          </li>
        ))}
      </ul>
    </Block>
  );
}

/** Heads with the most similar maps. */
export function Nearest({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const found = nearest(atlas, place, 6);
  const data = () => ({
    columns: ["head", "other", "distance"],
    rows: nearest(atlas, place, atlas.size).map((one) => [
      atlas.name(place),
      atlas.name(one.place),
      one.distance,
    ]),
  });
  if (!found.length) {
    return (
      <Block title="Nearest heads" note="Jensen–Shannon, nats" name="nearest">
        <p class="hs-note">
          Not measured: survey again with <code>--measure distance</code>.
        </p>
      </Block>
    );
  }
  return (
    <Block
      title="Nearest heads"
      note={
        <span title="Jensen–Shannon divergence of the heads’ maps, mean over tokens; 0: equal maps">
          Jensen–Shannon, nats
        </span>
      }
      name={`nearest-${atlas.name(place)}`}
      data={data}
    >
      <ul class="hs-nearest">
        {found.map((one) => (
          <li key={one.place}>
            <HeadLink place={one.place}>{atlas.name(one.place)}</HeadLink>
            <span>
              {atlas.hasRoles && (
                <Swatch
                  id={atlas.family(one.place)}
                  excess={atlas.excess(one.place)}
                  dark={store.dark.value}
                />
              )}
              {atlas.hasRoles ? family(atlas.family(one.place)).title : atlas.zeroBased(one.place)}
            </span>
            <span class="hs-num">{number(one.distance, 3)}</span>
          </li>
        ))}
      </ul>
    </Block>
  );
}
