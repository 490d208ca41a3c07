import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { count } from "../../format";
import { useStore } from "../../store";
import { useLive } from "./context";
import { replaceWord } from "./units";

const WAIT = 350;
/** Longer texts are not kept in the address. */
const LONGEST_LINK = 20_000;

/** The text, and the second text of a pair. */
export function TextField() {
  const { options, model, session } = useLive();
  const store = useStore();
  const [pair, setPair] = useState(options.second !== "");
  const reading = session.reading.value.value;
  return (
    <div class="hs-live-text">
      <Field
        label="Text" value={options.text} mask={maskOf(model)}
        onText={(text) => store.set({ text, ...RESET })}
      >
        {reading && (
          <span class="hs-live-length">
            {count(reading.tokens.length)} of {count(model.longest)} pieces
          </span>
        )}
      </Field>
      {pair && (
        <Field
          label="Second text" value={options.second} mask={maskOf(model)}
          onText={(second) => store.set({ second, ...RESET })}
        >
          <button
            type="button" class="hs-live-x" aria-label="Remove the second text" title="Remove the second text"
            onClick={() => {
              setPair(false);
              store.set({ second: undefined, ...RESET });
            }}
          >
            ×
          </button>
        </Field>
      )}
      <p class="hs-live-hints">
        {!pair && (
          <button type="button" class="hs-more" onClick={() => setPair(true)}>
            Add a second text
          </button>
        )}
        <MaskButton />
        {options.text.length > LONGEST_LINK && (
          <span class="hs-small">This text is too long for some browsers’ addresses: a link to it may be cut.</span>
        )}
      </p>
    </div>
  );
}

/** What no longer fits when the text changes. */
const RESET = { more: undefined, token: undefined, from: undefined };

function maskOf(model: { mask?: string }): string {
  return model.mask ?? "";
}

/** Mask the word that was picked, or put a word back in the place of a mask. */
function MaskButton() {
  const { model, options, session } = useLive();
  const store = useStore();
  const mask = maskOf(model);
  const reading = session.reading.value.value;
  if (model.predicts !== "masked" || !mask || !reading) return null;
  const word = options.token === null ? -1 : (reading.unit[options.token] ?? -1);
  const masked = options.token !== null && reading.masks.includes(options.token);
  if (word < 0 || masked) {
    return reading.masks.length ? null : (
      <span class="hs-small">Click a word below to mask it, or type {mask}.</span>
    );
  }
  return (
    <button
      type="button" class="hs-more"
      onClick={() => {
        const inFirst = replaceWord(options.text, reading.words, word, mask);
        const text = inFirst === options.text ? {} : { text: inFirst };
        store.set({ ...text, ...RESET });
      }}
    >
      Mask “{reading.words[word]}”
    </button>
  );
}

interface FieldProps {
  label: string;
  value: string;
  mask: string;
  onText: (text: string) => void;
  children?: preact.ComponentChildren;
}

/** A field that grows with its text. Masks are drawn as boxes behind the letters. */
export function Field({ label, value, mask, onText, children }: FieldProps) {
  const [text, setText] = useState(value);
  const area = useRef<HTMLTextAreaElement>(null);
  const timer = useRef(0);
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
  }, [text]);
  const send = (next: string) => {
    clearTimeout(timer.current);
    sent.current = next;
    onText(next);
  };
  return (
    <div class="hs-live-field">
      <div class="hs-live-layers">
        <div class="hs-live-back" aria-hidden="true">
          {parts(text, mask).map((part, at) => (part === mask && mask ? <mark key={at}>{part}</mark> : part))}{" "}
        </div>
        <textarea
          ref={area} rows={1} aria-label={label} spellcheck={false} value={text} placeholder="Type or paste a text"
          onInput={(event) => {
            const next = event.currentTarget.value;
            setText(next);
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => send(next), WAIT);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            send(event.currentTarget.value);
          }}
          onScroll={(event) => {
            const back = event.currentTarget.previousElementSibling as HTMLElement;
            back.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {children}
    </div>
  );
}

/** A text cut at its masks. */
export function parts(text: string, mask: string): string[] {
  if (!mask) return [text];
  return text.split(mask).flatMap((part, at) => (at ? [mask, part] : [part]));
}
