import { extent, max } from "d3-array";

import type { Atlas } from "../data/atlas";
import type { Change } from "../data/compare";
import { fill, ink, isRole, family, mix } from "../families";
import { number, shown } from "../format";
import { useStore } from "../store";

interface Props {
  atlas: Atlas;
  /** The statistic; main roles where there is none. */
  id: string | undefined;
  title: string;
  /** Draw these differences instead of the values. */
  changes?: Change[];
}

/** A grid of heads, layers upward, coloured by a statistic or by its change. */
export function DiffGrid({ atlas, id, title, changes }: Props) {
  const store = useStore();
  const dark = store.dark.value;
  const cell = Math.max(4, Math.min(30, Math.floor(380 / atlas.heads)));
  const tall = Math.max(4, Math.min(cell, Math.floor(360 / atlas.layers)));
  const [left, top] = [26, 18];
  const statistic = id ? atlas.statistic(id) : undefined;
  const byPlace = new Map((changes ?? []).map((one) => [one.place, one]));
  const largest = max(changes ?? [], (one) => Math.abs(one.difference)) || 1;
  const values = statistic ? Array.from(atlas.values(statistic.at)).filter((one) => !Number.isNaN(one)) : [];
  const [low = 0, high = 1] = extent(values) as [number, number];
  const ground = dark ? "#232427" : "#F6F6F4";
  const colour = (place: number): string => {
    if (changes) {
      const one = byPlace.get(place);
      if (!one) return "transparent";
      const side = one.difference > 0 ? (dark ? "#F0975A" : "#B5480F") : dark ? "#6DB3EE" : "#1F6FB5";
      return mix(side, ground, Math.abs(one.difference) / largest);
    }
    if (!statistic) return fill(atlas.family(place), atlas.excess(place), dark);
    const value = atlas.values(statistic.at)[place]!;
    if (Number.isNaN(value)) return "transparent";
    return mix(dark ? "#8CC2F2" : "#174A86", ground, (value - low) / (high - low || 1));
  };
  const label = (place: number): string => {
    const name = atlas.name(place);
    const one = byPlace.get(place);
    if (changes) return one ? `${name}: ${number(one.difference)} ± ${number(one.half)}` : name;
    if (!statistic) return `${name}: ${family(atlas.family(place)).title}`;
    return `${name}: ${shown(atlas.values(statistic.at)[place]!, statistic.about)}`;
  };
  return (
    <figure class="hs-diffgrid">
      <figcaption>
        {title}
        {changes && <span class="hs-soft"> · darkest: {number(largest)}; dots: more than chance</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${left + cell * atlas.heads} ${top + tall * atlas.layers}`}
        style={{ maxWidth: `${left + cell * atlas.heads}px` }}
        role="img"
        aria-label={`${title}: one cell per head`}
      >
        {Array.from({ length: atlas.layers }, (_, layer) => (
          <text key={layer} class="hs-tick" x={left - 6} y={top + (atlas.layers - 0.5 - layer) * tall + 4} text-anchor="end">
            {tall >= 12 || layer % 4 === 0 ? atlas.document.model.numbers[layer] : ""}
          </text>
        ))}
        {Array.from({ length: atlas.size }, (_, place) => {
          const layer = Math.floor(place / atlas.heads);
          const background = colour(place);
          const x = left + (place % atlas.heads) * cell;
          const y = top + (atlas.layers - 1 - layer) * tall;
          return (
            <g key={place} class="hs-dot" onClick={() => store.go(`head/${atlas.name(place)}`)}>
              <rect x={x} y={y} width={cell - 1} height={tall - 1} fill={background} />
              {changes && byPlace.get(place)?.sure && tall >= 10 && (
                <circle cx={x + cell / 2} cy={y + tall / 2} r={2} fill={ink(background)} />
              )}
              {!statistic && !changes && isRole(atlas.family(place)) && tall >= 14 && (
                <text class="hs-tick" x={x + cell / 2} y={y + tall / 2 + 4} text-anchor="middle" fill={ink(background)}>
                  {family(atlas.family(place)).symbol}
                </text>
              )}
              <title>{label(place)}</title>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
