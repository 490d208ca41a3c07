import { useEffect, useRef, useState } from "preact/hooks";

import { accept, complete, type Completion } from "../query/complete";
import { emptyBecause } from "../query/evaluate";
import { findByWords } from "../query/words";
import { isQuery, selectByQuery, selectionQuery } from "../query/selection";
import { plural } from "../format";
import { type Store, useStore } from "../store";

/** The search line of the header: a head's name, words, or a query. */
export function SearchBox() {
  return (
    <QueryLine form="hs-search" label="Search heads" placeholder="3-9, determiners, or entropy < 2" slash />
  );
}

interface Props {
  form: string;
  label: string;
  placeholder: string;
  slash?: boolean;
}

let made = 0;
const NOTHING: Completion = { from: 0, to: 0, items: [] };
const SILENT = { text: "", wrong: false };

/** What could come next, which of it is marked, and how it is put in. */
function useCompletion(text: string, setText: (text: string) => void) {
  const store = useStore();
  const input = useRef<HTMLInputElement>(null);
  const [done, setDone] = useState<Completion>(NOTHING);
  const [at, setAt] = useState(-1);
  const suggest = (value: string, caret: number) => {
    setDone(store.atlas ? complete(store.atlas, value, caret) : NOTHING);
    setAt(-1);
  };
  const close = () => {
    setDone(NOTHING);
    setAt(-1);
  };
  const take = (index: number) => {
    const item = done.items[index];
    if (!item) return;
    const next = accept(text, done, item);
    setText(next.text);
    requestAnimationFrame(() => input.current?.setSelectionRange(next.caret, next.caret));
    suggest(next.text, next.caret);
  };
  const press = (event: KeyboardEvent) => {
    const { items } = done;
    const { key } = event;
    if (key === "ArrowDown" && !items.length)
      suggest(text, input.current!.selectionStart ?? text.length);
    else if (key === "ArrowDown") setAt((at + 1) % items.length);
    else if (key === "ArrowUp" && items.length) setAt(at <= 0 ? items.length - 1 : at - 1);
    else if (key === "Tab" && !event.shiftKey && items.length && text.trim()) take(Math.max(at, 0));
    else if (key === "Enter" && at >= 0) take(at);
    else if (key === "Escape" && items.length) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { input, done, at, suggest, close, take, press };
}

/** A line for queries with completion. A head's name opens its page; a query selects heads. */
export function QueryLine({ form, label, placeholder, slash }: Props) {
  const store = useStore();
  const [text, setText] = useState("");
  const [answer, setAnswer] = useState(SILENT);
  const [id] = useState(() => `hs-query-${++made}`);
  const { input, done, at, suggest, close, take, press } = useCompletion(text, setText);
  const query = selectionQuery(store);
  useEffect(() => {
    const typing = input.current === input.current?.ownerDocument.activeElement;
    if (!typing) setText(isQuery(store.selectedBy.value) ? query : "");
    if (!query) setAnswer(SILENT);
  }, [query]);
  const write = (value: string, caret: number) => {
    setText(value);
    setAnswer(SILENT);
    suggest(value, caret);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    close();
    setAnswer(run(store, text));
  };
  const leave = (event: FocusEvent) => {
    if (!(event.currentTarget as Node).contains(event.relatedTarget as Node | null)) close();
  };
  return (
    <form class={form} role="search" aria-label={label} onSubmit={submit} onFocusOut={leave}>
      {slash && <kbd aria-hidden="true">/</kbd>}
      <input
        ref={input}
        name="q"
        value={text}
        aria-label={label}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={done.items.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={answer.wrong}
        aria-describedby={`${id}-answer`}
        onInput={({ currentTarget: line }) => write(line.value, line.selectionStart ?? 0)}
        onFocus={() => {
          void store.loadTokens();
          suggest(text, text.length);
        }}
        onKeyDown={press}
      />
      <span
        id={`${id}-answer`}
        role="status"
        class={answer.wrong ? "hs-answer hs-wrong" : "hs-answer"}
      >
        {answer.text}
      </span>
      {done.items.length > 0 && <Suggestions {...{ id, done, at, take }} />}
    </form>
  );
}

/** Words, and nothing of the query language. */
const PLAIN = /^(?!.*\b(and|or|not|top|by)\b)[\p{L}\p{N}\s'’]+$/iu;

/** Open a head or select heads; what came of it. */
function run(store: Store, text: string): typeof SILENT {
  const query = text.trim();
  const place = store.atlas?.place(query);
  if (place !== undefined) {
    store.go(`head/${store.atlas!.name(place)}`);
    return SILENT;
  }
  if (!query) {
    store.select(null);
    return SILENT;
  }
  try {
    const count = selectByQuery(store, query);
    const why = count ? "" : emptyBecause(store.atlas!, query);
    return { text: why ? `No head: ${why}.` : plural(count, "head"), wrong: Boolean(why) };
  } catch (error) {
    const own = (head: string) => Object.values(store.notes.of(head)).join(" ");
    // a comparison is a query, so a mistake in it is explained
    const found = /[<>=!]/.test(query) ? undefined : findByWords(store.atlas!, query, own, store.tokens);
    if (!found && PLAIN.test(query)) return { text: `No head has to do with “${query}”.`, wrong: true };
    if (!found) return { text: sentence((error as Error).message), wrong: true };
    store.select(found.places, `“${query}”, by ${found.by}`);
    return { text: plural(found.places.length, "head"), wrong: false };
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? "" : "."}`;
}

function Suggestions({
  id,
  done,
  at,
  take,
}: {
  id: string;
  done: Completion;
  at: number;
  take: (index: number) => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <ul ref={list} class="hs-suggestions" role="listbox" id={`${id}-list`} aria-label="Suggestions">
      {done.items.map((item, index) => (
        <li
          key={item.insert}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take(index)}
        >
          <code>{item.insert}</code> <span>{item.about}</span>
        </li>
      ))}
    </ul>
  );
}
