import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Option {
  id: string;
  title: string;
  group?: string;
  /** More words to search in. */
  words?: string;
}

interface Props {
  label: string;
  value: string;
  options: Option[];
  onPick: (id: string) => void;
  /** With a search line; on from a dozen options. */
  searchable?: boolean;
  /** What the button says while nothing is chosen. */
  empty?: string;
}

let made = 0;

/** A choice from a list, which can be searched where it is long. */
export function Select({
  label,
  value,
  options,
  onPick,
  searchable = options.length > 12,
  empty = "none",
}: Props) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const chosen = options.find((one) => one.id === value);
  const close = (focus: boolean) => {
    setOpen(false);
    if (focus) button.current?.focus();
  };
  return (
    <span
      class="hs-select"
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null;
        if (!event.currentTarget.contains(next)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="hs-select-button"
        aria-haspopup="listbox"
        aria-expanded={open}
        title={chosen ? `${label}: ${chosen.title}` : label}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || open) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <span class="hs-soft">{label}</span>{" "}
        <span class="hs-select-value">{chosen?.title ?? empty}</span>
        <svg width="10" height="6" aria-hidden="true">
          <path d="M1 1L5 5L9 1" />
        </svg>
      </button>
      {open && (
        <Choices
          {...{ label, value, options, searchable, close }}
          onPick={(id) => {
            close(true);
            onPick(id);
          }}
        />
      )}
    </span>
  );
}

interface ChoiceProps extends Props {
  close: (focus: boolean) => void;
}

/** How far a list must move to the left, or to the right, to be inside the window. */
export function shiftInto(left: number, right: number, window: number, edge = 8): number {
  return Math.max(Math.min(0, window - edge - right), edge - left);
}

function Choices({ label, value, options, onPick, searchable, close }: ChoiceProps) {
  const [text, setText] = useState("");
  const found = filtered(options, text);
  const [at, setAt] = useState(
    Math.max(
      0,
      options.findIndex((one) => one.id === value),
    ),
  );
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [prefix] = useState(() => `hs-choice-${++made}`);
  const box = useRef<HTMLDivElement>(null);
  const [shift, setShift] = useState(0);
  useLayoutEffect(() => {
    const { left, right } = box.current!.getBoundingClientRect();
    setShift(shiftInto(left, right, window.innerWidth));
    (input.current ?? list.current)?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, text]);
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter" && found[at]) onPick(found[at].id);
    else if (event.key === "Escape") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={box} class="hs-choices" style={{ left: `${shift}px` }} onKeyDown={press}>
      {searchable && (
        <input
          ref={input}
          class="hs-choices-search"
          placeholder="Search"
          aria-label={`Search ${label}`}
          role="combobox"
          aria-expanded="true"
          aria-controls={prefix}
          aria-activedescendant={`${prefix}-${at}`}
          autocomplete="off"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
        />
      )}
      <div
        ref={list}
        class="hs-choices-list"
        role="listbox"
        id={prefix}
        tabIndex={-1}
        aria-label={label}
        aria-activedescendant={`${prefix}-${at}`}
      >
        {found.map((one, index) => (
          <Choice
            key={one.id}
            {...{ one, index, prefix }}
            head={one.group !== found[index - 1]?.group}
            active={index === at}
            current={one.id === value}
            onPick={onPick}
          />
        ))}
        {!found.length && <p class="hs-soft hs-choices-none">Nothing fits “{text}”.</p>}
      </div>
    </div>
  );
}

interface OneChoice {
  one: Option;
  index: number;
  prefix: string;
  head: boolean;
  active: boolean;
  current: boolean;
  onPick: (id: string) => void;
}

function Choice({ one, index, prefix, head, active, current, onPick }: OneChoice) {
  return (
    <>
      {head && one.group && <p class="hs-choices-group">{one.group}</p>}
      <div
        id={`${prefix}-${index}`}
        role="option"
        aria-selected={active}
        class={current ? "hs-option hs-option-current" : "hs-option"}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onPick(one.id)}
      >
        {one.title}
      </div>
    </>
  );
}

/** Options in which every typed word occurs. */
export function filtered(options: Option[], text: string): Option[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return options;
  return options.filter((one) => {
    const all = `${one.title} ${one.group ?? ""} ${one.words ?? ""} ${one.id}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
