import { HeadLink } from "../../components/link";
import { family } from "../../families";
import { number } from "../../format";
import { useStore } from "../../store";
import { Block } from "./block";
import { type Composed, composed, type Side } from "./composed";
import { Swatch } from "./top";

const MOST = 5;
const KINDS: Record<string, string> = {
  Q: "query composition: the later head’s queries read what the earlier head writes",
  K: "key composition: the later head’s keys read what the earlier head writes",
  V: "value composition: the later head passes on what the earlier head writes",
};

/** The heads that a head composes with, by the weights alone; only where results have circuits. */
export function Composition({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const about = atlas.document.composition;
  if (!about) return null;
  const name = atlas.name(place);
  const sides = (["earlier", "later"] as Side[]).map((side) => ({
    side,
    heads: composed(atlas, place, side),
  }));
  const data = () => ({
    columns: ["head", "direction", "other", "kind", "excess", "times_baseline"],
    rows: sides.flatMap(({ side, heads }) =>
      heads.flatMap(({ place: other, ways }) =>
        ways.map((one) => [name, side, atlas.name(other), one.kind, one.excess, one.times]),
      ),
    ),
  });
  const random = about.kinds
    .map((kind, at) => `${kind} ${number(about.baseline[at]!, 3)}`)
    .join(", ");
  const title = [
    "Norm of the product of both heads’ matrices over their norms (Elhage et al. 2021), divided",
    `by the same of random heads (${random}). From the weights alone: no text is read.`,
    ...about.notes.map((one) => `Note: ${one}.`),
  ].join(" ");
  return (
    <Block
      title="Composes with"
      note={<span title={title}>from weights, times random heads</span>}
      name={`composition-${name}`}
      data={data}
    >
      <div class="hs-pair-columns hs-composed-columns">
        {sides.map(({ side, heads }) => (
          <Heads key={side} side={side} heads={heads.slice(0, MOST)} />
        ))}
      </div>
    </Block>
  );
}

function Heads({ side, heads }: { side: Side; heads: Composed[] }) {
  const store = useStore();
  const atlas = store.atlas!;
  return (
    <div>
      <h3 class="hs-composed-title">{side === "earlier" ? "Reads from" : "Read by"}</h3>
      {heads.length ? (
        <ul class="hs-nearest hs-composed">
          {heads.map((one) => (
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
                <span class="hs-composed-role">
                  {atlas.hasRoles
                    ? family(atlas.family(one.place)).title
                    : atlas.zeroBased(one.place)}
                </span>
              </span>
              <abbr title={ways(one)}>{one.ways.map(({ kind }) => kind).join(" ")}</abbr>
              <span class="hs-num" title={ways(one)}>
                {number(one.ways[0]!.times, 1)} ×
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="hs-note">No head above random ones.</p>
      )}
    </div>
  );
}

/** Every way in which two heads compose, in words. */
function ways(one: Composed): string {
  return one.ways
    .map(({ kind, times }) => `${number(times, 1)} times random heads: ${KINDS[kind]}`)
    .join("; ");
}
