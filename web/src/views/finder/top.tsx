import { useState } from "preact/hooks";

import { Select } from "../../components/select";
import type { Field } from "../../data/fields";
import { selectByQuery } from "../../query/selection";
import { useStore } from "../../store";

/** "Top 10 by entropy": selects the heads with the largest values. */
export function TopControl({ fields }: { fields: Field[] }) {
  const store = useStore();
  const options = fields
    .filter((one) => one.query && one.id !== "layer")
    .map(({ query, title, group }) => ({ id: query, title, group }));
  const [many, setMany] = useState(10);
  const chosen = /^top \d+ by (.+)$/.exec(store.selectedBy.value)?.[1] ?? "";
  const [value, setValue] = useState(chosen);
  const run = (count: number, by: string) => {
    if (by && count >= 1) selectByQuery(store, `top ${count} by ${by}`);
  };
  return (
    <span class="hs-top">
      <label>
        Top{" "}
        <input
          type="number"
          min={1}
          max={store.atlas!.size}
          value={many}
          aria-label="Number of heads"
          onChange={(event) => {
            const count = Math.min(
              Math.max(Math.round(event.currentTarget.valueAsNumber) || 1, 1),
              store.atlas!.size,
            );
            setMany(count);
            run(count, value);
          }}
        />
      </label>
      <Select
        label="by"
        empty="a statistic"
        value={value}
        options={options}
        onPick={(id) => {
          setValue(id);
          run(many, id);
        }}
      />
    </span>
  );
}
