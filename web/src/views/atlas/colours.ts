import { useMemo } from "preact/hooks";

import { type Colouring, differenceField, fieldColouring, roleColouring } from "../../colour";
import type { Option } from "../../components/select";
import type { Atlas } from "../../data/atlas";
import { field, type Field, fields } from "../../data/fields";
import { outside } from "../../data/nulls";
import type { Store } from "../../store";

const ROLES: Option = { id: "role", title: "main role", group: "Main role" };

/** What the address says about colour, order and a second model, and what can be chosen. */
export function useColours(store: Store) {
  const atlas = store.atlas!;
  const dark = store.dark.value;
  const choices = useMemo(() => colourChoices(atlas), [atlas]);
  const first = choices[0]?.id ?? "layer";
  const asked = store.option("colour") ?? first;
  const colour = choices.some((one) => one.id === asked) ? asked : first;
  const seconds = useMemo(() => secondChoices(store, atlas), [store, atlas]);
  const asking = store.option("second") ?? "none";
  const second = seconds.some((one) => one.id === asking) ? asking : "none";
  const sorted = store.option("sort") === "value";
  const nulls = useMemo(
    () => (second === "none" ? nullChoices(field(atlas, colour)) : []),
    [atlas, colour, second],
  );
  const wanted = store.option("null") ?? "none";
  const faded = nulls.some((one) => one.id === wanted) ? wanted : "none";
  const built = useMemo(
    () =>
      faded === "none"
        ? build(store, atlas, colour, second, dark)
        : { colouring: fieldColouring(fadedField(field(atlas, colour)!, faded), dark) },
    [store, atlas, colour, second, dark, faded],
  );
  return { choices, first, colour, seconds, second, sorted, nulls, faded, ...built };
}

/** The null models inside whose bands heads can be faded; empty without any. */
export function nullChoices(one: Field | undefined): Option[] {
  if (!one?.nulls?.length) return [];
  return [
    { id: "none", title: "none" },
    ...one.nulls.map((band) => ({ id: band.null, title: `heads like ${band.null}` })),
  ];
}

/** A field in which heads inside the band of a null model are faded. */
export function fadedField(one: Field, name: string): Field {
  const band = one.nulls!.find(({ null: id }) => id === name)!;
  return { ...one, passes: outside(one.values, band), faded: band };
}

export function colourChoices(atlas: Atlas): Option[] {
  const all = fields(atlas)
    .filter((one) => one.id !== "layer")
    .map(({ id, title, group, query }) => ({ id, title, group, words: query }));
  if (!atlas.hasRoles && !all.length) return [{ id: "layer", title: "layer" }];
  return atlas.hasRoles ? [ROLES, ...all] : all;
}

/** Other results of the same shape: side by side in each cell, or as a difference. */
function secondChoices(store: Store, atlas: Atlas): Option[] {
  const same = store.atlases
    .map((one, at) => ({ one, at }))
    .filter(({ one, at }) => at > 0 && one.layers === atlas.layers && one.heads === atlas.heads);
  const name = ({ one, at }: { one: Atlas; at: number }) => secondName(store, one, at);
  return [
    { id: "none", title: "none" },
    ...same.map((two) => ({ id: `split-${two.at}`, title: `split cells: ${name(two)}` })),
    ...same.map((two) => ({ id: `difference-${two.at}`, title: `difference to ${name(two)}` })),
  ];
}

/** A name that tells results of the same model apart. */
export function secondName(store: Store, atlas: Atlas, at: number): string {
  const { name } = atlas.document.model;
  const taken = store.atlases.some(
    (one, other) => other !== at && one.document.model.name === name,
  );
  return taken ? `${name} (${atlas.document.corpus.examples} examples)` : name;
}

interface Built {
  colouring: Colouring;
  other?: { atlas: Atlas; colouring: Colouring; differing: boolean };
  secondAbout?: { mine: string; name: string; mode: string };
}

function build(store: Store, atlas: Atlas, colour: string, second: string, dark: boolean): Built {
  const [mode = "none", number] = second.split("-");
  const two = mode === "none" ? undefined : store.atlases[Number(number)];
  const colouring = colouringOf(atlas, colour, dark);
  if (!two) return { colouring };
  const secondAbout = {
    mine: secondName(store, atlas, 0),
    name: secondName(store, two, Number(number)),
    mode,
  };
  const [mine, theirs] = [field(atlas, colour), field(two, colour)];
  if (mode === "difference" && mine) {
    if (!theirs) return { colouring };
    return {
      colouring: fieldColouring(differenceField(mine, theirs, secondAbout.name), dark),
      secondAbout,
    };
  }
  if (!mine && !two.hasRoles) return { colouring };
  if (mine && !theirs) return { colouring };
  const other = mine && theirs ? sharedScale(mine, theirs, dark) : colouringOf(two, colour, dark);
  return {
    colouring,
    other: { atlas: two, colouring: other, differing: mode === "difference" },
    secondAbout,
  };
}

/** The second model's colours on the first one's scale. */
function sharedScale(
  mine: ReturnType<typeof field> & object,
  theirs: typeof mine,
  dark: boolean,
): Colouring {
  const scale = fieldColouring(mine, dark);
  const own = fieldColouring(theirs, dark);
  return { ...own, domain: scale.domain, of: (place) => scale.at(theirs.values[place] ?? NaN) };
}

export function colouringOf(atlas: Atlas, colour: string, dark: boolean): Colouring {
  const found = field(atlas, colour);
  return found ? fieldColouring(found, dark) : roleColouring(atlas, dark);
}
