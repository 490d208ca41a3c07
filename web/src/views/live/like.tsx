import { follow } from "../../components/link";
import { percent } from "../../format";
import { useStore } from "../../store";
import { useLive } from "./context";

/** From a link that is seen here to the corpus examples of its head. */
export function MoreLikeThis() {
  const store = useStore();
  const { session, options, model, shown } = useLive();
  const reading = session.reading.value.value;
  const maps = session.maps.value.value;
  const weights = maps?.weights.get(shown);
  if (!store.atlas || !reading || !maps || !weights) return null;
  const rows = Array.from({ length: maps.size }, (_, at) => at + maps.first);
  const skipped = new Set([...reading.special, ...reading.stop, ...(model.causal ? [0] : [])]);
  const wanted = options.token ?? session.prediction.value.value?.at ?? -1;
  const own = wanted >= 0 && rows.includes(wanted) ? [wanted] : rows.filter((row) => !skipped.has(row));
  let best: [number, number, number] | null = null;
  for (const row of own) {
    for (let key = 0; key < maps.size; key++) {
      const weight = weights[(row - maps.first) * maps.size + key] ?? 0;
      const to = key + maps.first;
      if (to !== row && !skipped.has(to) && weight > (best?.[2] ?? 0)) best = [row, to, weight];
    }
  }
  if (!best) return null;
  const examples = store.atlas.document.examples;
  return (
    <section class="hs-block" aria-label="Find more like this">
      <div class="hs-title">
        <h2>Find more like this</h2>
      </div>
      <p>
        <bdi>{reading.tokens[best[0]]}</bdi> → <b><bdi>{reading.tokens[best[1]]}</bdi></b> at {percent(best[2], 0)}:{" "}
        <a href={`#/head/${shown}`} onClick={follow(store, `head/${shown}`)}>
          {examples.kept ? `corpus examples of ${shown}` : `what ${shown} does in the corpus`}
        </a>
      </p>
    </section>
  );
}
