import { useMemo, useRef } from "preact/hooks";

import { type ArcLink, Arcs } from "../../components/arcs";
import { SaveMenu } from "../../components/save";
import { count } from "../../format";
import { useStore } from "../../store";
import { headColours, listed, useLive } from "./context";
import { hiddenUnits, linksOver, renormalised, type Unit, unitMap, unitsOf, WINDOW, windowOf } from "./units";

/** The words of the text with lines of the chosen heads. */
export function LineCard() {
  const store = useStore();
  const { session, model, options, heads } = useLive();
  const reading = session.reading.value.value;
  const maps = session.maps.value.value;
  const svg = useRef<SVGSVGElement>(null);
  const range = reading ? windowOf(reading.tokens.length, options.from) : ([0, 0] as [number, number]);
  const units = useMemo(
    () => (reading ? unitsOf(reading, options.unit, range) : []),
    [reading, options.unit, range[0], range[1]],
  );
  const colours = headColours(store, model, heads);
  const { hide, renormalise, over } = options;
  const drawn = useMemo(() => {
    const links: ArcLink[] = [];
    const more: ArcLink[] = [];
    if (!maps || !fits(maps.size, maps.first, units)) return { links, more };
    const hidden = hiddenUnits(units, model.causal);
    heads.forEach((head, at) => {
      const weights = maps.weights.get(head);
      if (!weights) return;
      const plain = unitMap(weights, maps.size, maps.first, units);
      const map = renormalise ? renormalised(plain, units.length, hidden) : plain;
      const look = { colour: colours.get(head)!, below: at % 2 === 1 };
      const skipped = hide || renormalise ? hidden : new Set<number>();
      links.push(...linksOver(map, units.length, over, skipped, look));
      more.push(...linksOver(map, units.length, Math.min(0.03, over), skipped, look));
    });
    return { links, more };
  }, [maps, units, heads.join(), hide, renormalise, over, store.dark.value]);
  if (!reading) return <div class="hs-live-arcs" />;
  const picked = units.findIndex((unit) => options.token !== null && unit.tokens.includes(options.token));
  const pick = (at: number | null) => {
    const unit = at === null ? undefined : units[at];
    const token = unit && (model.causal ? unit.tokens[unit.tokens.length - 1] : unit.tokens[0]);
    store.set({ token: token === undefined ? undefined : String(token) });
  };
  const first = reading.tokens.length - reading.written;
  return (
    <div class="hs-live-arcs">
      <span class="hs-live-corner">
        <SaveMenu
          name="attention" chart={() => svg.current}
          data={() => ({
            columns: ["from", "to", "weight", "drawn"],
            rows: drawn.links.map((one) => [units[one.from]!.label, units[one.to]!.label, one.weight, one.below ? "below" : "above"]),
          })}
        />
      </span>
      <Arcs
        words={units.map((unit) => unit.label)}
        links={drawn.links} more={drawn.more}
        marked={indices(units, (unit) => unit.masked || unit.tokens[0]! >= first)}
        quiet={indices(units, (unit) => unit.special)}
        picked={picked < 0 ? null : picked} onPick={pick}
        label={`Attention of ${heads.length ? listed(heads) : "no head"} between the words of the text`}
        svg={svg}
      />
      {range[1] - range[0] < reading.tokens.length && <Pager range={range} length={reading.tokens.length} />}
    </div>
  );
}

/** Whether maps are those of these units: a new text may be here before its maps. */
export function fits(size: number, first: number, units: readonly Unit[]): boolean {
  const last = units[units.length - 1]?.tokens.at(-1);
  return units[0]?.tokens[0] === first && last === first + size - 1;
}

function indices(units: readonly Unit[], chosen: (unit: Unit) => boolean): number[] {
  return units.flatMap((unit, at) => (chosen(unit) ? [at] : []));
}

/** Which tokens of a long text are drawn. */
function Pager({ range: [first, last], length }: { range: [number, number]; length: number }) {
  const store = useStore();
  const go = (from: number) => store.set({ from: String(Math.max(0, Math.min(from, length - WINDOW))), token: undefined });
  return (
    <p class="hs-live-pager">
      <button type="button" class="hs-button" disabled={first === 0} onClick={() => go(first - WINDOW)}>
        Earlier
      </button>
      <input
        type="range" min={0} max={length - WINDOW} step={8} value={first} aria-label="First token that is drawn"
        onChange={(event) => go(Number(event.currentTarget.value))}
      />
      <button type="button" class="hs-button" disabled={last >= length} onClick={() => go(last)}>
        Later
      </button>
      <span class="hs-small">
        Tokens {count(first + 1)} to {count(last)} of {count(length)}. Attention to other tokens is not drawn.
      </span>
    </p>
  );
}
