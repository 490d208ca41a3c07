import { plusMinus, shown } from "../../format";
import { useStore } from "../../store";
import { headColour } from "./among";
import { Block } from "./block";
import { ofMeasure } from "./order";
import { Bar } from "./side";
import { capital } from "./titles";

const PARTS: { measure: string; title: string; note: string; share: boolean }[] = [
  { measure: "pattern", title: "Patterns", note: "share of its maps by class", share: true },
  { measure: "probe", title: "Probes", note: "test score of a classifier on this head alone", share: true },
  { measure: "head_off", title: "What disabling it does", note: "score without this head", share: false },
  { measure: "importance", title: "Importance", note: "gradient of the loss for this head’s gate", share: false },
];

/** Patterns, probes and ablation: each only where it was measured. */
export function More({ place }: { place: number }) {
  return (
    <>
      {PARTS.map((one) => (
        <Measured key={one.measure} {...one} place={place} />
      ))}
    </>
  );
}

interface Props {
  place: number;
  measure: string;
  title: string;
  note: string;
  share: boolean;
}

function Measured({ place, measure, title, note, share }: Props) {
  const store = useStore();
  const atlas = store.atlas!;
  const rows = ofMeasure(atlas, place, measure).sort((a, b) => b.value - a.value);
  if (!rows.length) return null;
  const colour = headColour(atlas.family(place), store.dark.value);
  const largest = share ? 1 : Math.max(...rows.map((row) => Math.abs(row.value)), 1e-9);
  const data = () => ({
    columns: ["head", "statistic", "value", "low", "high", "rank"],
    rows: rows.map(({ at, about, value }) => [
      atlas.name(place), about.title, value, atlas.number("low", place, at), atlas.number("high", place, at), atlas.rank(at, place),
    ]),
  });
  return (
    <Block title={title} note={note} name={`${measure}-${atlas.name(place)}`} data={data}>
      <ul class="hs-bars">
        {rows.slice(0, 12).map(({ at, about, value }) => (
          <li key={about.id} title={`${capital(about.title)}: ${about.unit}; rank ${atlas.rank(at, place)} of ${atlas.defined(at)}`}>
            <span class="hs-bars-name">{capital(about.title)}</span>
            <Bar share={Math.abs(value) / largest} colour={colour} />
            <span class="hs-num">
              {shown(value, about)}{" "}
              <span class="hs-quiet">{plusMinus(atlas.number("low", place, at), atlas.number("high", place, at), about.kind)}</span>
            </span>
            <span class="hs-num hs-quiet" title="Rank among all heads">{atlas.rank(at, place)}</span>
          </li>
        ))}
      </ul>
    </Block>
  );
}
