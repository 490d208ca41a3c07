import { count } from "../../format";
import { useStore } from "../../store";
import type { choices } from "./gold";
import type { Prepared } from "./prepared";
import { relationTitle } from "./titles";

interface SelectProps {
  known: ReturnType<typeof choices>;
  relation: string;
  found: Prepared[];
}

/** For and against: which relation to look for in the examples. */
export function RelationSelect({ known, relation, found }: SelectProps) {
  const store = useStore();
  const about = store.atlas!.document.relations;
  const words = (id: string, down: boolean) => {
    const direction = down ? "head to dependent" : "dependent to head";
    const one = about.find((other) => other.relation === id && other.direction === direction);
    return one?.words
      ? `${relationTitle(one)} (${id})`
      : `${id}: ${down ? "head word → dependent" : "dependent → head word"}`;
  };
  const arcs = found.flatMap((one) => one.verdicts);
  const right = arcs.filter((one) => one.found).length;
  return (
    <p class="hs-for">
      <label>
        For and against{" "}
        <select
          value={relation}
          onChange={(event) => store.set({ relation: event.currentTarget.value || undefined })}
        >
          <option value="">no relation</option>
          <optgroup label="Position">
            <option value="previous">The previous word</option>
            <option value="next">The next word</option>
          </optgroup>
          {[false, true].map((down) => (
            <optgroup
              key={String(down)}
              label={down ? "From a head word to its dependents" : "From a word to its head word"}
            >
              {known
                .filter((one) => one.down === down)
                .map((one) => (
                  <option key={one.id} value={one.id}>
                    {words(one.relation, down)}
                  </option>
                ))}
            </optgroup>
          ))}
          {relation && !SIMPLE.includes(relation) && !known.some((one) => one.id === relation) && (
            <option value={relation}>{relation}</option>
          )}
        </select>
      </label>
      {relation && (
        <span class="hs-soft">
          {arcs.length
            ? `${right} of ${count(arcs.length)} arcs are the word’s strongest link; dashed: missed`
            : "These examples have no such arcs."}
        </span>
      )}
    </p>
  );
}

const SIMPLE = ["previous", "next"];
