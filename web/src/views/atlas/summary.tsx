import { FamilyMark } from "../../components/legend";
import { Prose } from "../../components/link";
import type { Part, SummaryLine } from "../../data/types";
import { family } from "../../families";
import { count, plural } from "../../format";
import { useStore } from "../../store";

/** What the heads do: the lead, and one line per family, which is the legend of the grid. */
export function Summary() {
  const store = useStore();
  const atlas = store.atlas!;
  const of = (name: string) => atlas.document.summary.filter((line) => line.family === name);
  const lead = of("lead");
  const { examples } = atlas.document.corpus;
  return (
    <section class="hs-summary" aria-label="What the heads do">
      <h2>What the heads do</h2>
      {lead.map((line, at) => (
        <p key={at} class="hs-summary-lead">
          <Parts parts={line.parts} />
        </p>
      ))}
      {atlas.hasRoles ? (
        <ul class="hs-families">
          {atlas.document.families.map((id) => (
            <FamilyLine key={id} id={id} line={of(id)[0]} />
          ))}
        </ul>
      ) : (
        <p class="hs-small hs-without">
          These results have no main roles. Survey again with the default measures to get them:{" "}
          <code>headscope survey MODEL CORPUS -o results.nc</code>
        </p>
      )}
      {atlas.hasRoles && examples > 0 && <p class="hs-small hs-summary-note">{halving(examples)}</p>}
    </section>
  );
}

/** Intervals shrink with the root of the number of examples. */
export function halving(examples: number): string {
  return `About ${count(4 * examples)} examples instead of ${count(examples)} would halve the 95 % intervals.`;
}

/** Findings by test, and warnings. */
export function Findings() {
  const { summary, notes } = useStore().atlas!.document;
  const findings = summary.filter((line) => ["finding", "fact", ""].includes(line.family));
  const warnings = summary.filter((line) => line.family === "warning");
  const said = summary.map((line) => line.parts.map((part) => part.text).join("")).join(" ");
  const unsaid = notes.filter((note) => !said.includes(note));
  if (!findings.length && !warnings.length && !unsaid.length) return null;
  return (
    <section class="hs-findings" aria-label="Findings">
      {findings.length > 0 && <h2>Findings</h2>}
      <ul>
        {findings.map((line, at) => (
          <li key={at}>
            <Parts parts={line.parts} />
          </li>
        ))}
      </ul>
      {warnings.map((line, at) => (
        <p key={at} class="hs-small hs-summary-note">
          <Parts parts={line.parts} />
        </p>
      ))}
      {unsaid.map((note) => (
        <p key={note} class="hs-small hs-summary-note">
          Note: {note}.
        </p>
      ))}
    </section>
  );
}

function FamilyLine({ id, line }: { id: string; line?: SummaryLine }) {
  const store = useStore();
  const atlas = store.atlas!;
  const heads: string[] = [];
  for (let place = 0; place < atlas.size; place++) {
    if (atlas.family(place) === id) heads.push(atlas.name(place));
  }
  if (!line && !heads.length) return null;
  const parts = line?.parts ?? [
    { text: plural(heads.length, "head"), heads },
    { text: `: ${family(id).title.toLowerCase()}` },
  ];
  return (
    <li>
      <FamilyMark id={id} dark={store.dark.value} />
      <span>
        <Parts parts={parts} />
      </span>
    </li>
  );
}

/** Sentences whose parts select the heads they speak of. */
export function Parts({ parts }: { parts: Part[] }) {
  return (
    <>
      {parts.map((part, at) =>
        part.heads?.length ? (
          <HeadsPart key={at} part={part} />
        ) : part.strong ? (
          <b key={at}>
            <Prose text={part.text} />
          </b>
        ) : (
          <Prose key={at} text={part.text} />
        ),
      )}
    </>
  );
}

function HeadsPart({ part }: { part: Part }) {
  const store = useStore();
  const atlas = store.atlas!;
  const places = (part.heads ?? []).flatMap((name) => atlas.place(name) ?? []);
  const single = places.length === 1 && part.text === atlas.name(places[0]!);
  const words = part.strong ? <b>{part.text}</b> : part.text;
  if (single) {
    const name = part.text;
    return (
      <a
        class="hs-part hs-head-link"
        href={`#/head/${name}`}
        onMouseEnter={() => (store.focus.value = places[0]!)}
        onFocus={() => (store.focus.value = places[0]!)}
        onClick={(event) => {
          if (store.addressed) return;
          event.preventDefault();
          store.go(`head/${name}`);
        }}
      >
        {words}
      </a>
    );
  }
  const chosen = store.selection.value;
  const on =
    chosen !== null && chosen.size === places.length && places.every((place) => chosen.has(place));
  return (
    <button
      type="button"
      class="hs-part"
      aria-pressed={on}
      title={`Select ${plural(places.length, "head")}`}
      onClick={() => store.select(on ? null : places, on ? "" : "from the summary")}
    >
      {words}
    </button>
  );
}
