import { line } from "d3-shape";
import { useMemo } from "preact/hooks";

import type { Atlas } from "../data/atlas";
import { extent } from "../data/fields";
import { labelled, places, stepScale } from "../data/track";
import { pointFill } from "../families";
import { useStore } from "../store";
import { linear, Upward } from "./axis";

const HEIGHT = 240;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 16, 12, 28];

interface Props {
  atlas: Atlas;
  /** (checkpoint, place) */
  values: ArrayLike<number>;
  /** What the numbers are. */
  unit: string;
  /** The checkpoint of the slider. */
  at: number;
  width: number;
  dark: boolean;
}

/** One line per head over the checkpoints, in the colour of its role at the end. */
export function TrackLines({ atlas, values, unit, at, width, dark }: Props) {
  const store = useStore();
  const track = atlas.document.track!;
  const x = useMemo(() => stepScale(track, [LEFT, width - RIGHT]), [track, width]);
  const y = useMemo(() => {
    const [low, high] = extent(values);
    const ends: [number, number] = Number.isNaN(low) ? [0, 1] : [Math.min(low, 0), high];
    return linear(ends, [HEIGHT - BOTTOM, TOP]);
  }, [values]);
  const across = places(track).map((place) => x(place));
  const paths = useMemo(() => pathsOf(atlas, values, across, y.at), [atlas, values, x, y]);
  const focus = store.focus.value;
  const colour = (place: number) => pointFill(atlas.family(place), 1, dark);
  return (
    <svg
      class="hs-tracklines"
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`${unit}, one line per head over ${track.names.length} checkpoints`}
    >
      <Upward axis={y} from={LEFT} to={width - RIGHT} />
      {labelled(across, track.steps ? 44 : 96).map((index) => (
        <text
          key={index}
          class="hs-tick"
          x={across[index]}
          y={HEIGHT - 8}
          text-anchor={index === across.length - 1 ? "end" : index ? "middle" : "start"}
        >
          {track.steps ? track.steps[index]!.toLocaleString("en-US") : track.names[index]}
        </text>
      ))}
      <line class="hs-now" x1={across[at]} x2={across[at]} y1={TOP} y2={HEIGHT - BOTTOM} />
      {paths.map(({ place, d }) => (
        <path
          key={place}
          class={focus === place ? "hs-trackline hs-trackline-focus" : "hs-trackline"}
          d={d}
          stroke={colour(place)}
          onPointerEnter={() => (store.focus.value = place)}
          onClick={() => store.go(`head/${atlas.name(place)}`)}
        >
          <title>{atlas.name(place)}</title>
        </path>
      ))}
    </svg>
  );
}

function pathsOf(
  atlas: Atlas,
  values: ArrayLike<number>,
  across: number[],
  y: (value: number) => number,
): { place: number; d: string }[] {
  const path = line<number>()
    .defined((index) => !Number.isNaN(index))
    .x((index) => across[Math.floor(index / atlas.size)]!)
    .y((index) => y(values[index]!));
  return Array.from({ length: atlas.size }, (_, place) => {
    const indices = across.map((_, checkpoint) => checkpoint * atlas.size + place);
    const known = indices.map((index) => (Number.isNaN(values[index] ?? NaN) ? NaN : index));
    return { place, d: path(known) ?? "" };
  }).filter(({ d }) => d);
}
