import type { ComponentChildren } from "preact";

import { BesidePages } from "../components/link";
import { Plot, SectionView } from "../components/section";
import { useStore } from "../store";

/** Tables and figures in the order of the papers that defined them. */
export function PapersView() {
  const { papers, figures, provenance } = useStore().atlas!.document;
  if (!papers.length && !figures.length) {
    return <p class="hs-empty">These results hold no measure of the papers.</p>;
  }
  const parts: [string, string][] = papers.map(({ id, title }) => [id, title.split(",")[0]!]);
  if (figures.length) parts.push(["figures", "Figures"]);
  return (
    <Parts parts={[...parts, ["provenance", "Provenance"]]}>
      <BesidePages />
      {papers.map((paper) => (
        <SectionView key={paper.id} section={paper} />
      ))}
      {figures.length > 0 && (
        <section class="hs-paper" id="hs-figures">
          <h1>Figures</h1>
          <div class="hs-pictures">
            {figures.map((figure) => (
              <Plot key={figure.id} plot={figure} />
            ))}
          </div>
        </section>
      )}
      <Provenance json={JSON.stringify(provenance, null, 2)} />
    </Parts>
  );
}

/** Parts of a long page beside a list of them. */
export function Parts({ parts, children }: { parts: [string, string][]; children: ComponentChildren }) {
  const { root } = useStore();
  return (
    <div class="hs-papers">
      <nav class="hs-toc" aria-label="Parts">
        {parts.map(([id, title]) => (
          <button
            key={id}
            type="button"
            onClick={() => root.querySelector(`#hs-${id}`)?.scrollIntoView({ block: "start" })}
          >
            {title}
          </button>
        ))}
      </nav>
      <div>{children}</div>
    </div>
  );
}

/** What was run on what. */
export function Provenance({ json, children }: { json: string; children?: ComponentChildren }) {
  const version = useStore().atlas?.document.version;
  return (
    <section class="hs-paper" id="hs-provenance">
      <h1>Provenance</h1>
      {children}
      <p class="hs-small">
        What was run on what, as the results record it.{version && ` Headscope ${version}.`}
      </p>
      <details>
        <summary>Show as JSON</summary>
        <pre class="hs-json">{json}</pre>
      </details>
    </section>
  );
}
