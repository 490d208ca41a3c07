import { useRef } from "preact/hooks";

import { Panels } from "../components/panels";
import { SaveMenu } from "../components/save";
import type { Figure, PaperChart, PaperSection, Table } from "../data/types";
import { useStore } from "../store";

/** Tables and figures in the order of the papers that defined them. */
export function PapersView() {
  const store = useStore();
  const { papers, figures, provenance, version } = store.atlas!.document;
  if (!papers.length && !figures.length) {
    return <p class="hs-empty">These results hold no measure of the papers.</p>;
  }
  return (
    <div class="hs-papers">
      <nav class="hs-toc" aria-label="Papers">
        {papers.map((paper) => (
          <Jump key={paper.id} id={paper.id} title={paper.title} />
        ))}
        {figures.length > 0 && <Jump id="figures" title="Figures" />}
        <Jump id="provenance" title="Provenance" />
      </nav>
      <div>
        {papers.map((paper) => (
          <Paper key={paper.id} paper={paper} />
        ))}
        {figures.length > 0 && (
          <section class="hs-paper" id="hs-figures">
            <h1>Figures</h1>
            {figures.map((figure) => (
              <Drawn key={figure.name} figure={figure} />
            ))}
          </section>
        )}
        <section class="hs-paper" id="hs-provenance">
          <h1>Provenance</h1>
          <p class="hs-small">What was run on what, as the results file records it. Headscope {version}.</p>
          <details>
            <summary>Show as JSON</summary>
            <pre class="hs-json">{JSON.stringify(provenance, null, 2)}</pre>
          </details>
        </section>
      </div>
    </div>
  );
}

function Jump({ id, title }: { id: string; title: string }) {
  const store = useStore();
  return (
    <button
      type="button"
      onClick={() => store.root.querySelector(`#hs-${id}`)?.scrollIntoView({ block: "start" })}
    >
      {title.split(",")[0]}
    </button>
  );
}

function Paper({ paper }: { paper: PaperSection }) {
  return (
    <section class="hs-paper" id={`hs-${paper.id}`}>
      <h1>{paper.title}</h1>
      {paper.command && (
        <p class="hs-small">
          The whole paper, with the published numbers beside: <code>{paper.command}</code>
        </p>
      )}
      {paper.charts.map((chart) => (
        <Chart key={chart.id} chart={chart} />
      ))}
      {paper.tables.map((table) => (
        <DataTable key={table.title} table={table} />
      ))}
    </section>
  );
}

function Chart({ chart }: { chart: PaperChart }) {
  const store = useStore();
  const holder = useRef<HTMLDivElement>(null);
  const atlas = store.atlas!;
  const data = () => {
    const rows: (string | number | null)[][] = [];
    for (const id of chart.statistics) {
      const at = atlas.statistic(id)?.at;
      if (at === undefined) continue;
      for (let place = 0; place < atlas.size; place++) {
        const cells = ["value", "low", "high"].map((name) => atlas.number(name, place, at));
        rows.push([id, atlas.name(place), ...cells]);
      }
    }
    return { columns: ["statistic", "head", "mean", "low", "high"], rows };
  };
  return (
    <figure class="hs-figure" ref={holder}>
      <div class="hs-title">
        <h2>{chart.title}</h2>
        <span>{chart.unit}</span>
        <SaveMenu name={chart.id} chart={() => holder.current?.querySelector("svg")} data={data} />
      </div>
      <Panels chart={chart} />
      {chart.caption && <figcaption class="hs-small">{chart.caption}</figcaption>}
    </figure>
  );
}

function Drawn({ figure }: { figure: Figure }) {
  return (
    <figure class="hs-figure hs-drawn">
      <h2>{figure.title}</h2>
      <img
        src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure.svg)}`}
        alt={figure.title}
      />
      <figcaption class="hs-small">{figure.caption}</figcaption>
    </figure>
  );
}

const HEAD = /^(\d+-\d+)$/;

/** A table; heads in it are links. */
export function DataTable({ table }: { table: Table }) {
  const store = useStore();
  const data = () => ({
    columns: table.columns.map((column) => column.title),
    rows: table.rows,
  });
  const shown = (text: string | null) =>
    text !== null && HEAD.test(text) && store.atlas?.place(text) !== undefined ? (
      <a href={`#/head/${text}`}>{text}</a>
    ) : (
      text
    );
  return (
    <div class="hs-figure">
      <div class="hs-title">
        <h2>{table.title}</h2>
        <SaveMenu name={table.id || "table"} data={data} />
      </div>
      <div class="hs-scroll" tabIndex={0} role="region" aria-label={table.title}>
        <table class="hs-table">
          <thead>
            <tr>
              {table.columns.map((column) => (
                <th key={column.title} scope="col" class={column.number ? "hs-num" : ""}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td key={column} class={table.columns[column]?.number ? "hs-num" : ""}>
                    {shown(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.note && <p class="hs-small">{table.note}</p>}
    </div>
  );
}
