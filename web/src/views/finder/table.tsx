import { useMemo, useState } from "preact/hooks";

import { roleWords } from "../../components/card";
import { HeadLink } from "../../components/link";
import { SaveMenu } from "../../components/save";
import type { Atlas } from "../../data/atlas";
import { type Field, fieldText } from "../../data/fields";
import { family, fill, isRole } from "../../families";
import { plural } from "../../format";
import { useStore } from "../../store";

const MOST = 60;

/** The selected heads, or all, sorted by any column. */
export function HeadTable({ fields }: { fields: Field[] }) {
  const store = useStore();
  const atlas = store.atlas!;
  const [every, setEvery] = useState(false);
  const [by, rising] = sorting(store.option("sort"));
  const selection = store.selection.value;
  const places = useMemo(() => {
    const all = selection
      ? [...selection]
      : Array.from({ length: atlas.size }, (_, place) => place);
    return all.sort(comparing(atlas, fields, by, rising));
  }, [atlas, selection, fields.map((one) => one.id).join(), by, rising]);
  const shown = every ? places : places.slice(0, MOST);
  const data = () => ({
    columns: ["head", "zero-based", "main role", ...fields.map((one) => one.title), "description"],
    rows: places.map((place) => [
      atlas.name(place),
      atlas.zeroBased(place),
      atlas.family(place),
      ...fields.map((one) => one.values[place] ?? null),
      atlas.document.heads[place]?.lead ?? "",
    ]),
  });
  return (
    <section class="hs-head-table">
      <div class="hs-title">
        <h2>
          {selection
            ? plural(places.length, "selected head")
            : `All ${plural(places.length, "head")}`}
        </h2>
        <SaveMenu name={selection ? "selected-heads" : "all-heads"} data={data} />
      </div>
      <div class="hs-table-scroll">
        <table>
          <thead>
            <tr>
              <Column id="head" title="head" {...{ by, rising }} />
              {atlas.hasRoles && <Column id="role" title="main role" {...{ by, rising }} />}
              {fields.map((one) => (
                <Column
                  key={one.id}
                  id={one.id}
                  title={one.short ?? one.title}
                  about={`${one.title}: ${one.unit}`}
                  number
                  {...{ by, rising }}
                />
              ))}
              <th scope="col">what it does</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((place) => (
              <Row key={place} {...{ place, fields }} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < places.length && (
        <button type="button" class="hs-button" onClick={() => setEvery(true)}>
          Show all {plural(places.length, "head")}
        </button>
      )}
    </section>
  );
}

function Row({ place, fields }: { place: number; fields: Field[] }) {
  const store = useStore();
  const atlas = store.atlas!;
  const id = atlas.family(place);
  return (
    <tr onMouseEnter={() => (store.focus.value = place)}>
      <td>
        <HeadLink place={place} /> <span class="hs-quiet">{atlas.zeroBased(place)}</span>
      </td>
      {atlas.hasRoles && (
        <td class="hs-role-cell">
          <svg class="hs-key-colour" width="10" height="10" aria-hidden="true">
            <rect
              class={isRole(id) ? undefined : "hs-hairline"}
              width="10"
              height="10"
              fill={fill(id, atlas.excess(place), store.dark.value)}
            />
          </svg>{" "}
          {family(id).title}
        </td>
      )}
      {fields.map((one) => (
        <td key={one.id} class="hs-num">
          {fieldText(one, one.values[place] ?? NaN)}
        </td>
      ))}
      <td class="hs-lead-cell">{atlas.document.heads[place]?.lead || roleWords(atlas, place)}</td>
    </tr>
  );
}

interface ColumnProps {
  id: string;
  title: string;
  about?: string;
  number?: boolean;
  by: string;
  rising: boolean;
}

/** A heading that sorts; a second click turns the order round. */
function Column({ id, title, about, number, by, rising }: ColumnProps) {
  const store = useStore();
  const on = by === id;
  const next = on ? !rising : !number;
  return (
    <th
      scope="col"
      class={number ? "hs-num" : undefined}
      aria-sort={on ? (rising ? "ascending" : "descending") : "none"}
    >
      <button
        type="button"
        class="hs-sort"
        title={about}
        onClick={() => store.set({ sort: `${next ? "" : "-"}${id}` })}
      >
        {title} {on && <span aria-hidden="true">{rising ? "↑" : "↓"}</span>}
      </button>
    </th>
  );
}

/** "-entropy": by entropy, largest first. */
export function sorting(option: string | undefined): [by: string, rising: boolean] {
  if (!option || option === "value") return ["head", true];
  return option.startsWith("-") ? [option.slice(1), false] : [option, true];
}

function comparing(
  atlas: Atlas,
  fields: Field[],
  by: string,
  rising: boolean,
): (a: number, b: number) => number {
  const sign = rising ? 1 : -1;
  const one = fields.find((field) => field.id === by);
  if (by === "role") {
    const order = (place: number) => atlas.document.families.indexOf(atlas.family(place));
    return (a, b) => sign * (order(a) - order(b)) || atlas.excess(b) - atlas.excess(a) || a - b;
  }
  if (!one) return (a, b) => sign * (a - b);
  return (a, b) => {
    const [x, y] = [one.values[a] ?? NaN, one.values[b] ?? NaN];
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return sign * (x - y) || a - b;
  };
}
