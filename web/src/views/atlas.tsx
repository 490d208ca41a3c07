import { useMemo, useRef } from "preact/hooks";

import { BarsKey, LayerBars } from "../components/bars";
import { HeadCard } from "../components/card";
import { HeadGrid } from "../components/grid";
import { gridLayout, headOrders } from "../components/grid-layout";
import { BesidePages } from "../components/link";
import { Legend } from "../components/legend";
import { SaveMenu } from "../components/save";
import { Select } from "../components/select";
import { useWidth } from "../components/measure";
import { count } from "../format";
import { useStore } from "../store";
import { Clearest } from "./atlas/clearest";
import { useColours } from "./atlas/colours";
import { SmallFinder } from "./atlas/small-finder";
import { Findings, Summary } from "./atlas/summary";

/** The whole model at once: the grid of heads, what the heads do, and where to look next. */
export function AtlasView() {
  const store = useStore();
  const atlas = store.atlas!;
  const { corpus } = atlas.document;
  const colours = useColours(store);
  const opening = atlas.layers > 16 ? "from left to right" : "upward";
  return (
    <div class="hs-atlas">
      <div class="hs-tools">
        <Select
          label="Colour"
          value={colours.colour}
          options={colours.choices}
          onPick={(id) => store.set({ colour: id === colours.first ? undefined : id })}
        />
        <Select
          label="Sort heads"
          value={colours.sorted ? "value" : "number"}
          options={[
            { id: "number", title: "by number" },
            { id: "value", title: "by the colour’s value" },
          ]}
          onPick={(id) => store.set({ sort: id === "value" ? "value" : undefined })}
        />
        {colours.nulls.length > 1 && (
          <Select
            label="Fade"
            value={colours.faded}
            options={colours.nulls}
            onPick={(id) => store.set({ null: id === "none" ? undefined : id })}
          />
        )}
        {colours.seconds.length > 1 && (
          <Select
            label="Second model"
            value={colours.second}
            options={colours.seconds}
            onPick={(id) => store.set({ second: id === "none" ? undefined : id })}
          />
        )}
        <span class="hs-tools-end hs-small">
          {count(corpus.examples)} examples of {corpus.name}
        </span>
      </div>
      <div class="hs-columns">
        <div class="hs-wide">
          <p class="hs-opening hs-small">
            Each square is one attention head; layers go {opening}. Colour:{" "}
            {colours.colouring.kind === "roles" ? "where it looks" : colours.colouring.title}.
          </p>
          <GridBlock colours={colours} />
          <div class="hs-atlas-pair">
            <SmallFinder />
            <Clearest />
          </div>
        </div>
        <aside class="hs-side">
          <Summary />
          <HeadCard />
          <Findings />
          <BesidePages />
        </aside>
      </div>
    </div>
  );
}

const BARS = 188;

/** The grid with the bars of its layers, and what everything means. */
export function GridBlock({ colours }: { colours: ReturnType<typeof useColours> }) {
  const store = useStore();
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const [block, room] = useWidth<HTMLDivElement>();
  const grid = useRef<HTMLDivElement>(null);
  const bars = atlas.document.activity.length > 0;
  const wide = room >= 720;
  const layout = useMemo(() => {
    const alone = gridLayout(atlas, room);
    return !alone.across && wide && bars ? gridLayout(atlas, room - BARS - 24) : alone;
  }, [atlas, room, wide, bars]);
  const { colouring, other, sorted } = colours;
  const orders = useMemo(
    () => headOrders(atlas, sorted ? colouring.value : undefined),
    [atlas, sorted, colouring],
  );
  const form = layout.across ? "below" : wide ? "beside" : "alone";
  const data = () => ({
    columns: [
      "head",
      "zero-based",
      "main role",
      colouring.field?.title ?? "above chance",
    ],
    rows: Array.from({ length: atlas.size }, (_, place) => [
      atlas.name(place),
      atlas.zeroBased(place),
      atlas.family(place),
      colouring.value(place),
    ]),
  });
  return (
    <div ref={block} class="hs-grid-block">
      {room > 0 && (
        <div class={`hs-grid-row hs-grid-row-${form}`}>
          <div ref={grid}>
            <HeadGrid {...{ atlas, colouring, layout, orders, dark, other }} numbered={!sorted} />
          </div>
          {bars && (
            <LayerBars
              atlas={atlas}
              layout={layout}
              form={form}
              room={form === "beside" ? BARS : room}
            />
          )}
        </div>
      )}
      <div class="hs-keys-row hs-small">
        <Legend
          atlas={atlas}
          colouring={colouring}
          dark={dark}
          marks={layout.marks}
          second={colours.secondAbout}
        />
        {bars && <BarsKey atlas={atlas} />}
        <SaveMenu
          name="heads"
          chart={() =>
            grid.current?.querySelector<SVGSVGElement | HTMLCanvasElement>("svg.hs-grid, canvas")
          }
          data={data}
        />
      </div>
    </div>
  );
}
