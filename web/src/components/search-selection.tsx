import { useEffect } from "preact/hooks";

import { count, plural } from "../format";
import { followSelection, isQuery, selectionQuery } from "../query/selection";
import { useStore } from "../store";
import { follow, HeadLink } from "./link";

const MOST = 24;

/** Which heads are selected, in all views: "12 heads: entropy < 1.5", their names, and a way out. */
export function SelectionBar() {
  const store = useStore();
  useEffect(() => (store.atlas ? followSelection(store) : undefined), [store]);
  const [chosen, by] = [store.selection.value, store.selectedBy.value];
  if (!chosen || !store.atlas) return null;
  const places = [...chosen].sort((a, b) => a - b);
  const words = /^heads? /i.test(by) && isQuery(by) ? "" : by;
  return (
    <div
      class="hs-selection"
      data-query={selectionQuery(store)}
      role="region"
      aria-label="Selected heads"
    >
      <span class="hs-selection-words">
        <b>{plural(places.length, "head")}</b>
        {words && <>: {isQuery(words) ? <code>{words}</code> : words}</>}
      </span>
      <span class="hs-selection-heads">
        {places.slice(0, MOST).map((place) => (
          <HeadLink key={place} place={place} />
        ))}
        {places.length > MOST && (
          <a href="#/finder" onClick={follow(store, "finder")}>
            and {count(places.length - MOST)} more
          </a>
        )}
      </span>
      <button type="button" class="hs-clear" onClick={() => store.select(null)}>
        clear
      </button>
    </div>
  );
}
