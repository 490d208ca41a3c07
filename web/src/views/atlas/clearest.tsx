import { useMemo } from "preact/hooks";

import { roleShape } from "../../components/scatter";
import { HeadLink } from "../../components/link";
import { SaveMenu } from "../../components/save";
import { family, fill, isRole } from "../../families";
import { number, percent, plusMinus } from "../../format";
import { useStore } from "../../store";

const MOST = 9;

/** The heads whose main role is furthest above chance. */
export function Clearest() {
  const store = useStore();
  const atlas = store.atlas!;
  const places = useMemo(() => {
    const all = Array.from({ length: atlas.size }, (_, place) => place);
    return all
      .filter((place) => isRole(atlas.family(place)))
      .sort((a, b) => atlas.excess(b) - atlas.excess(a));
  }, [atlas]);
  if (!places.length) return null;
  const value = (name: string, place: number) => atlas.number(`roles/${name}`, place);
  const data = () => ({
    columns: ["head", "main role", "above chance", "low", "high", "p", "active share"],
    rows: places.map((place) => [
      atlas.name(place),
      family(atlas.family(place)).title,
      ...["excess", "low", "high", "p", "activity"].map((name) => value(name, place)),
    ]),
  });
  return (
    <section class="hs-clearest">
      <div class="hs-title">
        <h2>Clearest heads</h2>
        <SaveMenu name="clearest-heads" data={data} />
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">head</th>
            <th scope="col">main role</th>
            <th
              scope="col"
              class="hs-num"
              title="Share of the active attention on the role’s tokens, above what chance would give"
            >
              above chance
            </th>
            <th scope="col" class="hs-num" title="Half of the 95 % interval, over documents">
              95 %
            </th>
            <th scope="col" class="hs-num" title="Share of attention that is not on sinks">
              active share
            </th>
          </tr>
        </thead>
        <tbody>
          {places.slice(0, MOST).map((place) => (
            <tr key={place} onMouseEnter={() => (store.focus.value = place)}>
              <td>
                <HeadLink place={place} />
              </td>
              <td>
                <svg class="hs-key-colour" width="10" height="10" aria-hidden="true">
                  <path
                    d={roleShape(atlas.family(place), 4)}
                    transform="translate(5 5)"
                    fill={fill(atlas.family(place), 1, store.dark.value)}
                  />
                </svg>{" "}
                {family(atlas.family(place)).title}
              </td>
              <td class="hs-num">{number(atlas.excess(place))}</td>
              <td class="hs-num hs-quiet">
                {plusMinus(value("low", place), value("high", place), "number")}
              </td>
              <td class="hs-num">{percent(value("activity", place))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
