import { useRef } from "preact/hooks";

import type { Section } from "../data/types";
import { useStore } from "../store";
import { Linked } from "./link";
import { Panels, partsOf } from "./panels";
import { isWide, Picture } from "./picture";
import { RowsPlot } from "./rows";
import { SaveMenu } from "./save";
import { DataTable, type Mark } from "./table";

type AnyPlot = Section["plots"][number];

/** A heading, with text, charts and tables: a paper in a report, or a part of a paper. */
export function SectionView({ section, marks }: { section: Section; marks?: Mark[] }) {
  const { id, title, text, plots, tables, command } = section;
  const pictures = plots.filter((plot) => plot.kind === "picture");
  const own = plots.filter((plot) => plot.kind !== "picture");
  return (
    <section class="hs-paper" id={`hs-${id}`}>
      <h1>{title}</h1>
      {text && (
        <p class="hs-section-text">
          <Linked text={text} />
        </p>
      )}
      {command && (
        <p class="hs-small">
          The whole paper, with the published numbers beside: <code>{command}</code>
        </p>
      )}
      {own.map((plot) => (
        <Plot key={plot.id} plot={plot} />
      ))}
      {tables.map((table, at) => (
        <DataTable key={at} table={table} marks={at === 0 ? marks : undefined} />
      ))}
      {pictures.length > 0 && (
        <div class="hs-pictures">
          {pictures.map((plot) => (
            <Plot key={plot.id} plot={plot} />
          ))}
        </div>
      )}
    </section>
  );
}

/** A chart with its title, what it is of, its caption, and a menu to save it. */
export function Plot({ plot }: { plot: AnyPlot }) {
  const store = useStore();
  const holder = useRef<HTMLElement>(null);
  const data = () => numbers(store, plot);
  const said = [("unit" in plot && plot.unit) || "", ("about" in plot && plot.about) || ""];
  return (
    <figure class={looks(plot)} ref={holder}>
      <div class="hs-title">
        <h2>{plot.title}</h2>
        <span>{said.filter(Boolean).join("; ")}</span>
        <SaveMenu
          name={plot.id}
          chart={() => holder.current?.querySelector("svg")}
          data={plot.kind === "picture" ? undefined : data}
        />
      </div>
      {plot.kind === "picture" ? (
        <Picture figure={plot} />
      ) : plot.kind === "rows" ? (
        <RowsPlot chart={plot} />
      ) : (
        <Panels chart={plot} />
      )}
      {plot.caption && (
        <figcaption class="hs-small">
          <Linked text={plot.caption} />
        </figcaption>
      )}
    </figure>
  );
}

function looks(plot: AnyPlot): string {
  if (plot.kind !== "picture") return "hs-figure";
  return isWide(plot) ? "hs-figure hs-drawn hs-drawn-wide" : "hs-figure hs-drawn";
}

/** The numbers of a chart that the page draws itself. */
function numbers(store: ReturnType<typeof useStore>, plot: AnyPlot) {
  if (plot.kind === "picture") return { columns: [], rows: [] };
  if (plot.kind === "rows") {
    return {
      columns: ["label", "value", "low", "high", "baseline", "about"],
      rows: plot.rows.map((row) => [row.name, row.value, row.low, row.high, row.baseline, row.beside]),
    };
  }
  const atlas = store.atlas!;
  const rows = partsOf(store, plot).flatMap((one) =>
    Array.from({ length: atlas.size }, (_, place) => [
      one.id,
      atlas.name(place),
      ...[one.values, one.low, one.high].map((values) => values?.[place] ?? null),
    ]),
  );
  return { columns: ["statistic", "head", "mean", "low", "high"], rows };
}
