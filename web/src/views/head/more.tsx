
import { useWidth } from "../../components/measure";
import { Strip } from "../../components/strip";
import type { Statistic } from "../../data/types";
import { difference, plusMinus, shown } from "../../format";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import { ofMeasure } from "./order";
import { Bar } from "./side";
import { capital, partTitle } from "./titles";

interface Part {
  measure: string;
  title: string;
  note: string;
  /** Shares as bars from 0; other numbers as strips among all heads. */
  bars: boolean;
}

const PARTS: Part[] = [
  { measure: "pattern", title: "Patterns", note: "share of its maps by class", bars: true },
  {
    measure: "probe",
    title: "Probes",
    note: "test score of a classifier on this head alone",
    bars: true,
  },
  {
    measure: "head_off",
    title: "What disabling it does",
    note: "score without this head; dashed: all heads on",
    bars: false,
  },
  {
    measure: "importance",
    title: "Importance",
    note: "how the loss reacts to this head, among all heads",
    bars: false,
  },
];
const MOST = 12;

/** Patterns, probes and ablation: each only where it was measured. */
export function More({ place }: { place: number }) {
  return (
    <>
      {PARTS.map((part) => (
        <Measured key={part.measure} part={part} place={place} />
      ))}
    </>
  );
}

type Row = ReturnType<typeof ofMeasure>[number];

function Measured({ place, part }: { place: number; part: Part }) {
  const atlas = useStore().atlas!;
  const rows = ofMeasure(atlas, place, part.measure).sort((a, b) => b.value - a.value);
  if (!rows.length) return null;
  const data = () => ({
    columns: ["head", "statistic", "value", "low", "high", "rank"],
    rows: rows.map(({ at, about, value }) => [
      atlas.name(place),
      about.title,
      value,
      atlas.number("low", place, at),
      atlas.number("high", place, at),
      atlas.rank(at, place),
    ]),
  });
  return (
    <Block
      title={part.title}
      note={part.note}
      name={`${part.measure}-${atlas.name(place)}`}
      data={data}
    >
      <ul class="hs-bars hs-bars-wide">
        {rows.slice(0, MOST).map((row) => (
          <Line key={row.about.id} row={row} place={place} bars={part.bars} />
        ))}
      </ul>
    </Block>
  );
}

function Line({ row, place, bars }: { row: Row; place: number; bars: boolean }) {
  const store = useStore();
  const atlas = store.atlas!;
  const [box, width] = useWidth<HTMLSpanElement>();
  const { at, about, value } = row;
  const colour = headColour(atlas.family(place), store.dark.value);
  const [low, high] = [atlas.number("low", place, at), atlas.number("high", place, at)];
  const rank = atlas.rank(at, place);
  const title = `${capital(about.title)}: ${about.unit}; rank ${rank} of ${atlas.defined(at)}`;
  return (
    <li title={title}>
      <span class="hs-bars-name">{partTitle(about.title)}</span>
      <span ref={box} class="hs-bars-drawn">
        {bars ? (
          <Bar share={value} colour={colour} />
        ) : (
          <Strip
            values={atlas.values(at)}
            place={place}
            heads={atlas.heads}
            {...{ colour, low, high }}
            reference={about.reference ?? undefined}
            referenceTitle="all heads on"
            width={Math.max(width, 40)}
            label={`${title}: ${shown(value, about)}`}
          />
        )}
      </span>
      <span class="hs-num">
        {shown(value, about)}{" "}
        <span class="hs-soft">{change(value, about) || plusMinus(low, high, about.kind)}</span>
      </span>
      <span class="hs-num hs-soft" title="Rank among all heads">
        {rank}
      </span>
    </li>
  );
}

/** How far a score is from that with all heads on. */
function change(value: number, about: Statistic): string {
  if (about.measure !== "head_off" || about.reference == null) return "";
  return difference(value - about.reference, about);
}
