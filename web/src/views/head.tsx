import { useEffect } from "preact/hooks";

import { follow } from "../components/link";
import { type Store, useStore } from "../store";
import { Among } from "./head/among";
import { Composition } from "./head/composition";
import { Examples } from "./head/examples";
import { useExamples } from "./head/load";
import { More } from "./head/more";
import { surveyed } from "./head/order";
import { OwnNotes } from "./head/notes";
import { Relations } from "./head/relations";
import { Roles } from "./head/roles";
import { Distance, Nearest, Pairs } from "./head/side";
import { open, Top } from "./head/top";

/** The page of one head: "#/head/3-9". */
export function HeadView({ name }: { name: string }) {
  const store = useStore();
  const place = store.atlas!.place(name);
  useEffect(() => {
    if (place !== undefined) store.focus.value = place;
  }, [place, store]);
  useEffect(() => listen(store), [store]);
  if (place === undefined) return <Unknown name={name} />;
  return <Passport place={place} />;
}

function Passport({ place }: { place: number }) {
  const atlas = useStore().atlas!;
  const { examples, distance } = atlas.document;
  if (surveyed(atlas) || examples.kept > 0 || distance) return <Surveyed place={place} />;
  return (
    <div class="hs-head">
      <Top place={place} />
      <div class="hs-head-alone">
        {atlas.document.composition && <Among place={place} />}
        <Composition place={place} />
        <More place={place} />
        <OwnNotes place={place} />
      </div>
    </div>
  );
}

function Surveyed({ place }: { place: number }) {
  const atlas = useStore().atlas!;
  const { examples } = atlas.document;
  const loaded = useExamples(atlas.name(place), examples.kept > 0);
  const ready = typeof loaded === "object" ? loaded : undefined;
  return (
    <div class="hs-head">
      <Top place={place} card={ready?.card} />
      {surveyed(atlas) ? (
        <div class="hs-head-three">
          <Roles place={place} />
          <Among place={place} />
          <Relations place={place} />
        </div>
      ) : (
        <NotMeasured />
      )}
      <div class="hs-head-two">
        <div class="hs-head-main">
          {ready && ready.head.document.examples.length > 0 ? (
            <Examples place={place} loaded={ready} />
          ) : loaded === undefined && examples.kept > 0 ? (
            <p class="hs-note">Loading examples …</p>
          ) : typeof loaded === "string" && examples.kept > 0 ? (
            <p class="hs-note">{loaded}</p>
          ) : (
            <NoExamples name={atlas.name(place)} kept={examples.kept} why={examples.why} />
          )}
        </div>
        <div class="hs-head-side">
          {ready && <Distance place={place} loaded={ready} />}
          {ready && <Pairs place={place} loaded={ready} />}
          <Nearest place={place} />
          <Composition place={place} />
          <More place={place} />
          <OwnNotes place={place} />
        </div>
      </div>
    </div>
  );
}

/** What these results leave out, and the command that adds it. */
function NotMeasured() {
  return (
    <p class="hs-note">
      Not measured: roles, relations and statistics of single heads. The default measures add them:{" "}
      <code>headscope survey MODEL CORPUS -o results.nc</code>
    </p>
  );
}

/** Why there are no examples, and how to get some. */
function NoExamples({ name, kept, why }: { name: string; kept: number; why: string }) {
  const reason = kept > 0 ? "the page could not load them" : why || "these results keep none";
  return (
    <section class="hs-block hs-examples" aria-label="Examples">
      <div class="hs-title">
        <h2>Examples</h2>
      </div>
      <div class="hs-none">
        <p>There are no examples of this head: {reason}.</p>
        <p>
          Survey again and keep some: <code>headscope survey MODEL CORPUS --examples 32</code>
        </p>
        <p>
          Or look for examples of this head alone:{" "}
          <code>headscope examples MODEL CORPUS {name}</code>
        </p>
      </div>
    </section>
  );
}

function Unknown({ name }: { name: string }) {
  const store = useStore();
  const { atlas } = store;
  const { numbers } = atlas!.document.model;
  const last = numbers[numbers.length - 1] ?? atlas!.layers;
  const layers = numbers.length === 1 ? `layer ${last}` : `layers ${numbers[0] ?? 1} to ${last}`;
  return (
    <p class="hs-empty">
      {name ? `There is no head “${name.slice(0, 40)}”.` : "Which head?"} These results have{" "}
      {layers} with heads 1 to {atlas!.heads} each, such as{" "}
      <a href={`#/head/${atlas!.name(0)}`} onClick={follow(store, `head/${atlas!.name(0)}`)}>
        {atlas!.name(0)}
      </a>{" "}
      ({atlas!.zeroBased(0)}).{" "}
      <a href="#/atlas" onClick={follow(store, "atlas")}>
        Choose one in the atlas.
      </a>
    </p>
  );
}

const STEPS: Record<string, number> = { "[": -1, "]": 1, ArrowLeft: -1, ArrowRight: 1 };

/** ← and →, or [ and ], open the head before and after. */
function listen(store: Store): () => void {
  const press = (event: KeyboardEvent) => {
    const at = event.target as HTMLElement;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const step = STEPS[event.key];
    // the address as it is now: keys may come faster than the page is drawn
    const place = store.atlas!.place(store.route.value.view.replace(/^head\//, ""));
    if (!step || place === undefined) return;
    const next = place + step;
    if (next >= 0 && next < store.atlas!.size) open(store, next, true);
  };
  const target: HTMLElement | Document = store.addressed ? document : store.root;
  target.addEventListener("keydown", press as EventListener);
  return () => target.removeEventListener("keydown", press as EventListener);
}
