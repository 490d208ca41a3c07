import { useMemo, useRef } from "preact/hooks";

import { follow } from "../../components/link";
import { SaveMenu } from "../../components/save";
import { Scatter } from "../../components/scatter";
import { useWidth } from "../../components/measure";
import { field, fields } from "../../data/fields";
import { useStore } from "../../store";
import { colouringOf } from "./colours";

/** A small scatter of all heads: spread over the words against active share. */
export function SmallFinder() {
  const store = useStore();
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const [block, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const all = fields(atlas);
  const x = field(atlas, "main:spread") ?? all[0];
  const y = field(atlas, "main:activity") ?? all.find((one) => one !== x);
  const colouring = useMemo(
    () => colouringOf(atlas, atlas.hasRoles ? "role" : (x?.id ?? "layer"), dark),
    [atlas, dark],
  );
  if (!x || !y) return null;
  const data = () => ({
    columns: ["head", x.title, y.title],
    rows: Array.from({ length: atlas.size }, (_, place) => [
      atlas.name(place),
      x.values[place]!,
      y.values[place]!,
    ]),
  });
  return (
    <section ref={block} class="hs-small-finder">
      <div class="hs-title">
        <h2>
          <a href="#/finder" onClick={follow(store, "finder")}>
            Finder
          </a>
        </h2>
        <span>drag to select</span>
        <SaveMenu name="finder" chart={() => svg.current} data={data} />
      </div>
      {width > 0 && (
        <Scatter {...{ atlas, x, y, colouring, width }} height={272} labels={12} svgRef={svg} />
      )}
    </section>
  );
}
