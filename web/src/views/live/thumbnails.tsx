import { useEffect, useRef, useState } from "preact/hooks";

import { ramp } from "../../components/heatmap-draw";
import { number } from "../../format";
import { useStore } from "../../store";
import { listed, roleOf, useLive } from "./context";
import { useArrows } from "./arrows";
import { nameOf, toggled } from "./options";
import type { Small } from "./session";
import { Switch } from "./toolbar";

/** All heads' maps, small. A click draws a head; with shift or alt it switches the head off. */
export function ThumbnailCard() {
  const { session, model, options, shown } = useLive();
  const { box, active, onKeyDown } = useArrows(model, shown);
  const [switches, setSwitches] = useState(false);
  const base = session.small.value.value;
  const changes = session.changes.value.value;
  const off = options.off.length > 0;
  const small: Small | null = off && changes ? changes : base;
  const size = model.layers > 16 ? 22 : model.heads > 12 ? 24 : 32;
  const rows = Array.from({ length: model.layers }, (_, at) => model.layers - 1 - at);
  return (
    <section class="hs-block" aria-label="All heads">
      <div class="hs-title">
        <h2>All heads</h2>
        <span>{off ? `map with ${listed(options.off)} off; bar: change of the map` : "layers upward"}</span>
        <span class="hs-live-end">
          <Switch
            label="What a click does" value={switches ? "off" : "show"}
            choices={[
              ["show", "show", "A click draws a head’s lines and map"],
              ["off", "switch off", "A click switches a head off or on; so does a shift-click at any time"],
            ]}
            onPick={(one) => setSwitches(one === "off")}
          />
        </span>
      </div>
      <div class="hs-live-thumbs" ref={box} role="group" aria-label="All heads: arrow keys move" onKeyDown={onKeyDown} style={{ "--size": `${size}px`, "--heads": String(model.heads) } as never}>
        <div class="hs-live-thumb-row hs-live-numbers" aria-hidden="true">
          <span class="hs-live-layer" />
          {Array.from({ length: model.heads }, (_, head) => <span key={head}>{head + 1}</span>)}
        </div>
        <div class={model.layers > 16 ? "hs-live-scroll" : ""}>
          {rows.map((layer) => (
            <Row key={layer} {...{ layer, small, size, switches, active }} />
          ))}
        </div>
      </div>
    </section>
  );
}

interface RowProps {
  layer: number;
  small: Small | null;
  size: number;
  switches: boolean;
  /** The head that the tab key reaches. */
  active: string;
}

/** One layer: drawn once it comes near the window. */
function Row({ layer, small, size, switches, active }: RowProps) {
  const store = useStore();
  const { session, model, options, heads, shown } = useLive();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const near = useNear(box);
  const dark = store.dark.value;
  const changes = options.off.length ? session.changes.value.value : null;
  useEffect(() => {
    if (near && small && canvas.current) draw(canvas.current, small, layer, model.heads, size, dark);
  }, [near, small, size, dark]);
  const click = (name: string) => (event: MouseEvent) => {
    if (switches || event.shiftKey || event.altKey) {
      store.set({ off: toggled(options.off, name).join(",") || undefined });
      return;
    }
    store.set({ heads: (heads.includes(name) ? heads : [...heads, name]).join(","), map: name });
  };
  return (
    <div class={changes ? "hs-live-thumb-row hs-live-changed" : "hs-live-thumb-row"} ref={box}>
      <span class="hs-live-layer">{model.numbers[layer]}</span>
      <canvas ref={canvas} aria-hidden="true" />
      {near && Array.from({ length: model.heads }, (_, head) => {
        const place = layer * model.heads + head;
        const name = nameOf(place, model);
        const isOff = options.off.includes(name);
        const moved = changes?.divergence[place] ?? 0;
        const marks = [name === shown ? "hs-live-thumb-shown" : heads.includes(name) ? "hs-live-thumb-on" : ""];
        const words = [`Head ${name}`, roleOf(store, model, name), isOff ? "off" : "", moved > 0 ? `map changes by ${number(moved, 3)} nats` : ""];
        return (
          <button
            key={head} type="button" class={`hs-live-thumb ${marks.join(" ")}`} title={words.filter(Boolean).join(", ")}
            aria-label={words.filter(Boolean).join(", ")} aria-pressed={heads.includes(name)} data-head={name}
            tabIndex={name === active ? 0 : -1} onClick={click(name)}
          >
            {isOff && (
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <path d="M1.5 1.5L8.5 8.5M8.5 1.5L1.5 8.5" />
              </svg>
            )}
            {changes && <i style={{ width: `${Math.min(1, Math.sqrt(moved / 0.1)) * 100}%` }} />}
          </button>
        );
      })}
    </div>
  );
}

/** Draw the maps of a layer side by side. */
function draw(canvas: HTMLCanvasElement, small: Small, layer: number, heads: number, size: number, dark: boolean): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const { side, cells } = small;
  const colours = ramp(dark).map((one) => parseInt(one.slice(1), 16));
  canvas.width = heads * side;
  canvas.height = side;
  const image = pen.createImageData(heads * side, side);
  for (let head = 0; head < heads; head++) {
    const start = (layer * heads + head) * side * side;
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) {
        const colour = colours[cells[start + row * side + column]!]!;
        const at = 4 * (row * heads * side + head * side + column);
        image.data[at] = colour >> 16;
        image.data[at + 1] = (colour >> 8) & 255;
        image.data[at + 2] = colour & 255;
        image.data[at + 3] = 255;
      }
    }
  }
  pen.putImageData(image, 0, 0);
  spread(canvas, heads, side, size);
}

/** Each map into its own square: the canvas is drawn once more with gaps. */
function spread(canvas: HTMLCanvasElement, heads: number, side: number, size: number): void {
  const dense = Math.min(Math.max(devicePixelRatio || 1, 1), 3);
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  copy.getContext("2d")!.drawImage(canvas, 0, 0);
  const step = canvas.parentElement!.clientWidth - 24;
  canvas.width = Math.round(step * dense);
  canvas.height = Math.round(size * dense);
  const pen = canvas.getContext("2d")!;
  pen.imageSmoothingEnabled = side > size;
  const pitch = canvas.width / heads;
  const square = Math.min(size * dense, pitch - 4 * dense);
  for (let head = 0; head < heads; head++) {
    pen.drawImage(copy, head * side, 0, side, side, Math.round(head * pitch), 0, square, square);
  }
}

/** Whether an element has come near the window. */
function useNear(box: { current: HTMLElement | null }): boolean {
  const [near, setNear] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    const element = box.current;
    if (!element || near) return;
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && setNear(true), { rootMargin: "200px" });
    watch.observe(element);
    return () => watch.disconnect();
  }, [near]);
  return near;
}
