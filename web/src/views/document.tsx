import { HeadCard } from "../components/card";
import { BesidePages, Linked } from "../components/link";
import { SectionView } from "../components/section";
import { Select } from "../components/select";
import { DataTable, type Mark } from "../components/table";
import { useStore } from "../store";
import { GridBlock } from "./atlas";
import { useColours } from "./atlas/colours";
import { Parts, Provenance } from "./papers";

/** A paper's page, a portrait, the page of a table: the atlas, claims, and the parts below. */
export function DocumentView() {
  const store = useStore();
  const about = store.document!.document;
  const { sections, remarks, missing, verdicts, runs } = about;
  const claims = sections.find((section) => section.id === "claims");
  const others = sections.filter((section) => section !== claims);
  const parts: [string, string][] = others.map(({ id, title }) => [id, title]);
  if (remarks.length) parts.unshift(["remarks", "What stands out"]);
  if (claims) parts.unshift([claims.id, claims.title]);
  if (missing.length) parts.push(["missing", "What is missing"]);
  if (about.provenance) parts.push(["provenance", "Provenance"]);
  const marks = verdicts.map((verdict, at) => ({
    id: `hs-claim-${at + 1}`,
    sign: LOOKS[verdict]![1],
  }));
  return (
    <div class="hs-document">
      <header class="hs-document-head">
        <h1>{about.title}</h1>
        <p class="hs-soft">{about.subtitle}</p>
        <ul class="hs-facts">
          {about.facts.map(({ value, about: meaning }) => (
            <li key={meaning}>
              <b>{value}</b> <span class="hs-soft">{meaning}</span>
            </li>
          ))}
        </ul>
        <BesidePages />
      </header>
      {verdicts.length > 0 && <Scoreboard verdicts={verdicts} marks={marks} />}
      {store.atlas && <Heads />}
      <Parts parts={parts}>
        {claims && <SectionView section={claims} marks={marks} />}
        {remarks.length > 0 && (
          <section class="hs-paper" id="hs-remarks">
            <h1>What stands out</h1>
            <Sentences texts={remarks} />
          </section>
        )}
        {others.map((section) => (
          <SectionView key={section.id} section={section} />
        ))}
        {missing.length > 0 && (
          <section class="hs-paper" id="hs-missing">
            <h1>What is missing</h1>
            <Sentences texts={missing} />
          </section>
        )}
        {about.provenance && (
          <Provenance json={about.provenance}>{runs && <DataTable table={runs} />}</Provenance>
        )}
      </Parts>
    </div>
  );
}

function Sentences({ texts }: { texts: string[] }) {
  return (
    <ul class="hs-sentences">
      {texts.map((text) => (
        <li key={text}>
          <Linked text={text} />
        </li>
      ))}
    </ul>
  );
}

/** The heads of the model: the grid with its colours, and the head that is pointed at. */
function Heads() {
  const store = useStore();
  const colours = useColours(store);
  return (
    <div class="hs-columns">
      <div class="hs-wide">
        <div class="hs-tools">
          <Select
            label="Colour"
            value={colours.colour}
            options={colours.choices}
            onPick={(id) => store.set({ colour: id === colours.first ? undefined : id })}
          />
          <span class="hs-small">Each square is one attention head: choose one to open its page.</span>
        </div>
        <GridBlock colours={colours} />
      </div>
      <aside class="hs-side">
        <HeadCard />
      </aside>
    </div>
  );
}

export const LOOKS: Record<string, [name: string, sign: string]> = {
  yes: ["holds", "✓"],
  no: ["does not hold", "✕"],
  undecided: ["undecided", "?"],
  "not tested": ["not tested", "·"],
};

/** How many claims hold, and one square per claim, which leads to its row. */
export function Scoreboard({ verdicts, marks }: { verdicts: string[]; marks: Mark[] }) {
  const store = useStore();
  const count = (verdict: string) => verdicts.filter((one) => one === verdict).length;
  const tested = verdicts.length - count("not tested");
  const show = (id: string) => {
    const row = store.root.querySelector<HTMLElement>(`#${id}`);
    row?.scrollIntoView({ block: "center" });
    row?.classList.add("hs-shown");
    setTimeout(() => row?.classList.remove("hs-shown"), 2000);
  };
  return (
    <section class="hs-scoreboard" aria-label="Claims that hold">
      <p class="hs-score">
        {tested ? (
          <>
            <b>
              {count("yes")} of {tested}
            </b>{" "}
            claims hold
          </>
        ) : (
          "No claim could be tested"
        )}
      </p>
      <ol class="hs-verdicts">
        {verdicts.map((verdict, at) => {
          const [name, sign] = LOOKS[verdict]!;
          return (
            <li key={at}>
              <button
                type="button"
                class={`hs-verdict hs-verdict-${verdict.replace(" ", "-")}`}
                title={`Claim ${at + 1}: ${name}`}
                aria-label={`Claim ${at + 1}: ${name}. Show it in the table`}
                onClick={() => show(marks[at]!.id)}
              >
                {sign}
              </button>
            </li>
          );
        })}
      </ol>
      <p class="hs-small hs-verdict-key">
        {Object.entries(LOOKS)
          .filter(([verdict]) => count(verdict) > 0)
          .map(([verdict, [name, sign]]) => `${sign} ${name}: ${count(verdict)}`)
          .join("   ")}
      </p>
    </section>
  );
}
