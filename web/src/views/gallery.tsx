import { useMemo } from "preact/hooks";

import { ThemeButton } from "../components/header";
import { smallGrid } from "../components/grid-layout";
import { hint } from "../components/link";
import { Cells } from "../components/many";
import { Symbols } from "../components/smallgrid";
import type { Atlas } from "../data/atlas";
import type { Claims, GalleryModel } from "../data/types";
import { FAMILIES, family, fill, isRole } from "../families";
import { count } from "../format";
import { findByWords } from "../query/words";
import { useStore } from "../store";
import { LOOKS } from "./document";
import { Swatch } from "./head/top";

const MOST = 40;

/** The front page of a site: a grid of each model, search over all heads, claims across models. */
export function GalleryView() {
  const store = useStore();
  const { models, claims, citation } = store.gallery!.document;
  const { atlases } = store;
  const heads = atlases.reduce((sum, atlas) => sum + atlas.size, 0);
  const words = store.option("find") ?? "";
  return (
    <div class="hs-gallery">
      <header class="hs-gallery-head">
        <div>
          <h1>What every attention head does</h1>
          <p class="hs-soft">
            {count(heads)} heads of {atlases.length} models. Each square is one attention head.
            Colour: where it looks.
          </p>
        </div>
        <ThemeButton />
      </header>
      <Families />
      <label class="hs-search hs-gallery-search">
        <input
          type="search"
          placeholder="Search all heads: prepositions, previous token, …"
          aria-label="Search all heads"
          value={words}
          onInput={(event) => store.set({ find: event.currentTarget.value || undefined })}
        />
      </label>
      {words.trim() && <Hits words={words} />}
      <div class="hs-gallery-models">
        {atlases.map((atlas, at) => (
          <ModelBlock key={at} atlas={atlas} model={models[at]!} words={words} />
        ))}
      </div>
      {claims.map((one) => (
        <Across key={one.paper} claims={one} />
      ))}
      <details class="hs-gallery-cite">
        <summary>How to cite</summary>
        <pre class="hs-json">{citation}</pre>
      </details>
      <p class="hs-small hs-soft">Made with Headscope.</p>
    </div>
  );
}

/** What the colours mean: the families that occur. */
function Families() {
  const store = useStore();
  const present = useMemo(() => {
    const seen = new Set<string>();
    for (const atlas of store.atlases) {
      for (let place = 0; place < atlas.size; place++) seen.add(atlas.family(place));
    }
    return FAMILIES.filter(({ id }) => seen.has(id));
  }, [store]);
  return (
    <ul class="hs-gallery-key" aria-label="Colours">
      {present.map(({ id, title, symbol }) => (
        <li key={id}>
          <Swatch id={id} excess={1} dark={store.dark.value} /> {symbol} {title}
        </li>
      ))}
    </ul>
  );
}

/** Where a head's page is. */
function address(model: GalleryModel, atlas: Atlas, place: number): string {
  return `${model.folder}/index.html#/head/${atlas.name(place)}`;
}

interface ModelProps {
  atlas: Atlas;
  model: GalleryModel;
  words: string;
}

/** One model: its grid, what stands out, its papers. */
function ModelBlock({ atlas, model, words }: ModelProps) {
  const store = useStore();
  const dark = store.dark.value;
  const { name, type, layers, heads } = atlas.document.model;
  const corpus = atlas.document.corpus;
  const arrangement = useMemo(() => {
    const wide = Math.max(4, Math.min(22, Math.floor(420 / atlas.heads)));
    const tall = Math.max(4, Math.min(wide, Math.floor(300 / atlas.layers)));
    return smallGrid(atlas, { cell: [wide, tall], left: 1.5, top: 1.5 });
  }, [atlas]);
  const found = useMemo(() => {
    const hits = words.trim() ? findByWords(atlas, words) : undefined;
    return words.trim() ? new Set(hits?.places ?? []) : undefined;
  }, [atlas, words]);
  const colour = (place: number) =>
    found && !found.has(place)
      ? fill("no clear role", 0, dark)
      : fill(atlas.family(place) || "broad", atlas.excess(place), dark);
  const { width, height, left, top, columns, rows, stepX, stepY } = arrangement.layout;
  const frame = { x: left - 1, y: top - 1, width: columns * stepX + 1, height: rows * stepY + 1 };
  return (
    <section class="hs-gallery-model" aria-label={name}>
      <h2>
        <a href={`${model.folder}/index.html`}>{name}</a>
      </h2>
      <p class="hs-small hs-soft">
        {type} · {layers} layers × {heads} heads · {corpus.name}, {count(corpus.examples)} examples
      </p>
      <svg
        class="hs-gallery-grid"
        viewBox={`0 0 ${width + 3} ${height + 3}`}
        style={{ maxWidth: `${width + 3}px` }}
        role="group"
        aria-label={`${name}: one cell per head`}
      >
        <Cells
          arrangement={arrangement}
          colour={colour}
          by={[dark, found]}
          label={(place) => headHint(atlas, place)}
          pick={(place) => location.assign(address(model, atlas, place))}
        >
          <rect class="hs-gallery-frame" {...frame} />
          <Symbols {...{ atlas, arrangement, colour }} />
        </Cells>
      </svg>
      <ul class="hs-sentences">
        {atlas.document.summary.slice(0, 3).map((line, at) => (
          <li key={at}>{line.parts.map((part) => part.text).join("")}</li>
        ))}
      </ul>
      {model.papers.length > 0 && (
        <p class="hs-small">
          {model.papers.map(({ title, href, verdicts }, at) => (
            <span key={href}>
              {at > 0 && " · "}
              <a href={href}>{title}</a> {score(verdicts)}
            </span>
          ))}
        </p>
      )}
    </section>
  );
}

/** What a head does, for the pointer and for those who hear the page. */
function headHint(atlas: Atlas, place: number): string {
  const lead = atlas.document.heads[place]?.lead;
  return lead ? `${hint(atlas, place)}\n${lead}` : hint(atlas, place);
}

/** "13 of 19 claims hold", or nothing without claims. */
export function score(verdicts: string[]): string {
  const tested = verdicts.filter((one) => one && one !== "not tested");
  const holds = tested.filter((one) => one === "yes").length;
  return tested.length ? `(${holds} of ${tested.length} claims hold)` : "";
}

/** Heads of all models that some words find, those with a clear role first. */
function Hits({ words }: { words: string }) {
  const store = useStore();
  const { models } = store.gallery!.document;
  const hits = useMemo(
    () =>
      store.atlases.flatMap((atlas, at) =>
        (findByWords(atlas, words)?.places ?? []).map((place) => ({ atlas, place, model: models[at]! })),
      ),
    [store, words],
  );
  const clear = ({ atlas, place }: (typeof hits)[number]) =>
    isRole(atlas.family(place)) ? atlas.excess(place) : -1;
  const shown = [...hits].sort((a, b) => clear(b) - clear(a)).slice(0, MOST);
  if (!shown.length) {
    return (
      <p class="hs-empty">
        No head is described with “{words.trim().slice(0, 40)}”. Try a part of speech (“determiner”),
        a place (“previous token”) or a head’s role (“antecedents”).
      </p>
    );
  }
  return (
    <section class="hs-gallery-hits" aria-label="Heads found">
      <p class="hs-small hs-soft" role="status">
        {count(hits.length)} {hits.length === 1 ? "head" : "heads"}
        {hits.length > MOST ? `, the clearest ${MOST} of them` : ""}
      </p>
      <ul>
        {shown.map(({ atlas, place, model }) => (
          <li key={`${model.folder}/${place}`}>
            <a href={address(model, atlas, place)}>
              {atlas.document.model.name} {atlas.name(place)}
            </a>{" "}
            <Swatch id={atlas.family(place)} excess={1} dark={store.dark.value} />{" "}
            {atlas.document.heads[place]?.lead || family(atlas.family(place)).title}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A paper's claims, and whether they hold in each model. */
function Across({ claims: { paper, claims } }: { claims: Claims }) {
  const { atlases } = useStore();
  const columns = atlases
    .map((atlas, at) => ({ name: atlas.document.model.name, at }))
    .filter(({ at }) => claims.some((claim) => claim.verdicts[at]));
  return (
    <section class="hs-paper" aria-label={paper}>
      <h1>{paper}: claims across models</h1>
      <div class="hs-scroll" tabIndex={0} role="region" aria-label={`Claims of ${paper}`}>
        <table class="hs-table hs-gallery-claims">
          <thead>
            <tr>
              <th scope="col">The paper says</th>
              {columns.map(({ name, at }) => (
                <th key={at} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {claims.map(({ text, verdicts }) => (
              <tr key={text}>
                <td class="hs-long">{text}</td>
                {columns.map(({ at }) => {
                  const [name, sign] = LOOKS[verdicts[at]!] ?? ["not run", ""];
                  return (
                    <td key={at} class="hs-gallery-verdict">
                      <span class={`hs-mark-${(verdicts[at] || "none").replace(" ", "-")}`}>{sign}</span>{" "}
                      {name}
                    </td>
                  );
                })}
              </tr>
            ))}
            <tr>
              <th scope="row">Hold, of those tested</th>
              {columns.map(({ at }) => (
                <td key={at} class="hs-gallery-verdict">
                  <b>{score(claims.map((claim) => claim.verdicts[at]!)).replace(/\(| claims hold\)/g, "")}</b>
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </div>
    </section>
  );
}
