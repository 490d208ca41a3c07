import type { ComponentChildren } from "preact";

import { SaveMenu } from "../../components/save";

interface Props {
  title: string;
  /** What is shown, its unit: beside the title. */
  note?: ComponentChildren;
  /** The name of saved files. */
  name: string;
  chart?: () => SVGSVGElement | HTMLCanvasElement | null | undefined;
  data?: () => { columns: string[]; rows: (string | number | null)[][] };
  children: ComponentChildren;
  tools?: ComponentChildren;
  class?: string;
}

/** A part of the head page: a title, a note, what it shows, a menu to save it. */
export function Block({ title, note, name, chart, data, children, tools, ...rest }: Props) {
  return (
    <section class={`hs-block ${rest.class ?? ""}`} aria-label={title}>
      <div class="hs-title">
        <h2>{title}</h2>
        {note && <span>{note}</span>}
        {tools}
        {(chart || data) && <SaveMenu name={name} chart={chart} data={data} />}
      </div>
      {children}
    </section>
  );
}
