import { useMemo, useRef } from "preact/hooks";

import { ChangeTable } from "../components/changes";
import { DiffGrid } from "../components/diffgrid";
import { PairScatter } from "../components/pairscatter";
import { SaveMenu } from "../components/save";
import { type Change, changes, roleChanges, shared, TESTED } from "../data/compare";
import { count, plural } from "../format";
import { useStore } from "../store";

/** Two results side by side: the same grid, the difference, one against the other. */
export function CompareView() {
  const store = useStore();
  const figure = useRef<HTMLDivElement>(null);
  const { atlases } = store;
  const pick = (name: string, usual: number) =>
    Math.min(Math.max(Number(store.option(name) ?? usual + 1) - 1, 0), atlases.length - 1);
  const [first, second] = [atlases[pick("a", 0)]!, atlases[pick("b", 1)]!];
  const both = useMemo(() => shared(first, second), [first, second]);
  const chosen = both.ids.includes(store.option("by") ?? "") ? store.option("by")! : both.ids[0];
  const found = useMemo(
    () => (chosen ? changes(first, second, chosen) : []),
    [first, second, chosen],
  );
  const roles = useMemo(() => roleChanges(first, second), [first, second]);
  if (atlases.length < 2) {
    return (
      <p class="hs-empty">
        There is one set of results on this page. To compare: <code>headscope report a.nc b.nc</code>
      </p>
    );
  }
  const about = chosen ? first.statistic(chosen)!.about : undefined;
  const sure = found.filter((one) => one.sure).length;
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
          <b>{sure ? plural(sure, "head") : "No head"}</b> of {count(first.size)}{" "}
          {sure === 1 ? "differs" : sure ? "differ" : "differs"} in {about.title} by more than chance
          {roles && (
            <>
              ; <b>{roles.length}</b> {roles.length === 1 ? "has" : "have"} another main role
            </>
          )}
          .
        </p>
      )}
      <div ref={figure} class="hs-compare-grids">
        <DiffGrid atlas={first} id={chosen} title={`A: ${first.document.model.name}`} />
        <DiffGrid atlas={second} id={chosen} title={`B: ${second.document.model.name}`} />
        {both.sameShape && chosen && <DiffGrid atlas={first} id={chosen} title="B − A" changes={found} />}
      </div>
      {both.sameShape && about && (
        <div class="hs-compare-detail">
          <PairScatter found={found} about={about} first={first} second={second} />
          <section>
            <div class="hs-title">
              <h2>Heads that differ most</h2>
              <span>{TESTED}</span>
              <SaveMenu name="changes" data={() => table(found)} />
            </div>
            <ChangeTable found={found} about={about} first={first} second={second} />
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

function table(found: Change[]): { columns: string[]; rows: (string | number)[][] } {
  const rows = found.map((one) => [one.head, one.a, one.b, one.difference, one.half, one.sure ? 1 : 0]);
  return { columns: ["head", "a", "b", "difference", "half_width", "significant"], rows };
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
