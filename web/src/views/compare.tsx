import { useMemo, useRef } from "preact/hooks";

import { ChangeTable } from "../components/changes";
import { PairScatter } from "../components/pairscatter";
import { SaveMenu } from "../components/save";
import { SmallGrid } from "../components/smallgrid";
import { type Colouring, differenceField, fieldColouring, roleColouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { type Change, changes, mostChanged, roleChanges, shared } from "../data/compare";
import { field, joined } from "../data/fields";
import { count, plural } from "../format";
import { useStore } from "../store";
import { capital } from "./head/titles";

const INTERVALS =
  "B − A; line: the widths of both 95 % intervals together; filled: the intervals do not overlap"

/** Two results side by side: the same grid, the difference, one against the other. */
export function CompareView() {
  const store = useStore();
  const figure = useRef<HTMLDivElement>(null);
  const { atlases } = store;
  const pick = (name: string, usual: number) =>
    Math.min(Math.max(Number(store.option(name) ?? usual + 1) - 1, 0), atlases.length - 1);
  const [first, second] = [atlases[pick("a", 0)]!, atlases[pick("b", 1)]!];
  const both = useMemo(() => shared(first, second), [first, second]);
  const usual = useMemo(
    () => (both.sameShape ? mostChanged(first, second, both.ids) : both.ids[0]),
    [first, second, both],
  );
  const chosen = both.ids.includes(store.option("by") ?? "") ? store.option("by")! : usual;
  const found = useMemo(
    () => (chosen ? changes(first, second, chosen) : []),
    [first, second, chosen],
  );
  const roles = useMemo(() => roleChanges(first, second), [first, second]);
  const dark = store.dark.value;
  const grids = useMemo(
    () => gridsOf(first, second, chosen, dark),
    [first, second, chosen, dark],
  );
  if (atlases.length < 2) {
    return (
      <p class="hs-empty">
        There is one set of results on this page. To compare: <code>headscope report a.nc b.nc</code>
      </p>
    );
  }
  const about = chosen ? first.statistic(chosen)!.about : undefined;
  const apart = found.filter((one) => one.apart).length;
  return (
    <div class="hs-compare">
      <div class="hs-toolbar">
        <Choice name="a" label="A" value={pick("a", 0)} />
        <Choice name="b" label="B" value={pick("b", 1)} />
        {chosen && (
          <label class="hs-choice">
            Statistic{" "}
            <select value={chosen} onChange={(event) => store.set({ by: event.currentTarget.value })}>
              {both.groups.map(([title, ids]) => (
                <optgroup key={title} label={title}>
                  {ids.map((id) => (
                    <option key={id} value={id}>
                      {first.statistic(id)!.about.title}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
          </label>
        )}
        {atlases.length > 2 && <Slider />}
      </div>
      {!both.sameShape && (
        <p class="hs-lead">
          The models have different shapes ({first.layers} × {first.heads} and {second.layers} ×{" "}
          {second.heads}), so heads cannot be paired. The grids below stand side by side.
        </p>
      )}
      {both.sameShape && about && (
        <p class="hs-lead">
          {capital(about.title)}: the 95 % intervals of A and B do not overlap for{" "}
          <b>{apart ? plural(apart, "head") : "no head"}</b> of {count(first.size)}
          {roles && (
            <>
              ; <b>{roles.length}</b> {roles.length === 1 ? "has" : "have"} another main role
            </>
          )}
          .
        </p>
      )}
      <div ref={figure} class="hs-compare-grids">
        {grids.map(([atlas, title, colouring]) => (
          <SmallGrid key={title} {...{ atlas, title, colouring }} />
        ))}
      </div>
      {both.sameShape && about && (
        <div class="hs-compare-detail">
          <PairScatter found={found} about={about} first={first} second={second} />
          <section>
            <div class="hs-title">
              <h2>Heads that differ most</h2>
              <span>{INTERVALS}</span>
              <SaveMenu name="changes" data={() => table(found)} />
            </div>
            <ChangeTable found={found} about={about} first={first} second={second} />
            <p class="hs-small hs-soft">
              This page runs no tests. For tests, corrected over all heads:{" "}
              <code>headscope compare a.nc b.nc</code>
            </p>
          </section>
        </div>
      )}
      {both.only.length > 0 && (
        <details class="hs-small">
          <summary>{plural(both.only.length, "statistic")} only one of them has</summary>
          {both.only.join(", ")}
        </details>
      )}
    </div>
  );
}

/** A and B by one scale, then their difference; main roles where they share no statistic. */
function gridsOf(
  first: Atlas,
  second: Atlas,
  id: string | undefined,
  dark: boolean,
): [Atlas, string, Colouring][] {
  const [one, two] = [field(first, id), field(second, id)];
  const [a, b] = [`A: ${first.document.model.name}`, `B: ${second.document.model.name}`];
  if (!one || !two) {
    return [
      [first, a, roleColouring(first, dark)],
      [second, b, roleColouring(second, dark)],
    ];
  }
  const scale = fieldColouring(joined([one, two]), dark);
  const by = (values: ArrayLike<number>): Colouring => ({
    ...scale,
    field: { ...one, values },
    of: (place) => scale.at(values[place] ?? NaN),
    value: (place) => values[place] ?? NaN,
  });
  const grids: [Atlas, string, Colouring][] = [
    [first, a, by(one.values)],
    [second, b, by(two.values)],
  ];
  if (first.layers === second.layers && first.heads === second.heads) {
    const change = differenceField(two, one, "A");
    grids.push([first, "B − A", fieldColouring(change, dark)]);
  }
  return grids;
}

function table(found: Change[]): { columns: string[]; rows: (string | number)[][] } {
  const rows = found.map((one) => [
    ...[one.head, one.a, one.b, one.difference, one.half],
    one.apart ? 1 : 0,
  ]);
  const columns = ["head", "a", "b", "difference", "half_widths", "intervals_apart"];
  return { columns, rows };
}

function Choice({ name, label, value }: { name: string; label: string; value: number }) {
  const store = useStore();
  return (
    <label class="hs-choice">
      {label}{" "}
      <select
        value={String(value + 1)}
        onChange={(event) => store.set({ [name]: event.currentTarget.value })}
      >
        {store.atlases.map((atlas, at) => (
          <option key={at} value={String(at + 1)}>
            {atlas.document.model.name} on {atlas.document.corpus.name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Walk through many results, such as checkpoints: B moves, A stays. */
function Slider() {
  const store = useStore();
  return (
    <label class="hs-choice">
      Step through B{" "}
      <input
        type="range"
        min={1}
        max={store.atlases.length}
        value={store.option("b") ?? "2"}
        onInput={(event) => store.set({ b: event.currentTarget.value })}
      />
    </label>
  );
}
