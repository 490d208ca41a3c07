import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { TEXT } from "./arcs-layout";

/** A text cut to so many pixels, in type of another size. */
export function fitText(text: string, width: number, size: number, font: string): string {
  const scale = size / TEXT;
  if (textWidth(text, font) * scale <= width) return text;
  let most = text.length;
  while (most > 2 && textWidth(`${text.slice(0, most)}…`, font) * scale > width) most--;
  return `${text.slice(0, most).trimEnd()}…`;
}

let pen: CanvasRenderingContext2D | null | undefined;
const widths = new Map<string, number>();

/** The width of a word in the page's typeface. */
export function textWidth(word: string, font: string): number {
  const key = `${font}\n${word}`;
  let known = widths.get(key);
  if (known === undefined) {
    if (pen === undefined) pen = document.createElement("canvas").getContext("2d");
    if (pen) pen.font = `${TEXT}px ${font}`;
    known = pen ? pen.measureText(word).width : word.length * 7.6;
    if (widths.size > 20_000) widths.clear();
    widths.set(key, known);
  }
  return known;
}

/** An element's width in whole pixels, followed as it changes (0 until it is known), and its typeface. */
export function useWidth<Kind extends HTMLElement>(): [RefObject<Kind | null>, number, string] {
  const box = useRef<Kind>(null);
  const [width, setWidth] = useState(0);
  const [font, setFont] = useState("sans-serif");
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    setFont(getComputedStyle(element).fontFamily || "sans-serif");
    if (typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width, font];
}
