import { useState } from "preact/hooks";

/** What can be saved of a chart. */
interface Props {
  /** The file's name without its ending. */
  name: string;
  /** The chart's element: an SVG, or a canvas (PNG only). */
  chart?: () => SVGSVGElement | HTMLCanvasElement | null | undefined;
  /** The chart's numbers: a header and rows. */
  data?: () => { columns: string[]; rows: (string | number | null)[][] };
}

/** A small menu: the chart as SVG or PNG, its data as CSV. */
export function SaveMenu({ name, chart, data }: Props) {
  const [open, setOpen] = useState(false);
  const choose = (action: () => void) => () => {
    setOpen(false);
    action();
  };
  const element = () => chart?.() ?? null;
  const isSvg = () => element() instanceof SVGSVGElement;
  return (
    <span class="hs-save" onFocusOut={(event) => leave(event, setOpen)}>
      <button
        type="button"
        class="hs-save-button"
        aria-expanded={open}
        aria-haspopup="menu"
        title="Save this chart or its data"
        onClick={() => setOpen(!open)}
      >
        Save
      </button>
      {open && (
        <span class="hs-save-menu" role="menu">
          {chart && isSvg() && (
            <button type="button" role="menuitem" onClick={choose(() => saveSvg(element(), name))}>
              SVG
            </button>
          )}
          {chart && (
            <button type="button" role="menuitem" onClick={choose(() => void savePng(element(), name))}>
              PNG
            </button>
          )}
          {data && (
            <button type="button" role="menuitem" onClick={choose(() => saveCsv(data(), name))}>
              CSV
            </button>
          )}
        </span>
      )}
    </span>
  );
}

function leave(event: FocusEvent, setOpen: (open: boolean) => void): void {
  const next = event.relatedTarget as Node | null;
  if (!(event.currentTarget as Node).contains(next)) setOpen(false);
}

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor",
  "dominant-baseline",
];

/** An SVG that looks the same outside the page: styles become attributes. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...Array.from(svg.querySelectorAll<SVGElement>("*"))];
  const to = [copy, ...Array.from(copy.querySelectorAll<SVGElement>("*"))];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) to[at]!.setAttribute(name, value);
    }
    to[at]!.removeAttribute("class");
    to[at]!.removeAttribute("style");
  });
  const box = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.ceil(box.width)));
  copy.setAttribute("height", String(Math.ceil(box.height)));
  if (!copy.getAttribute("viewBox")) {
    copy.setAttribute("viewBox", `0 0 ${Math.ceil(box.width)} ${Math.ceil(box.height)}`);
  }
  return new XMLSerializer().serializeToString(copy);
}

function saveSvg(element: Element | null, name: string): void {
  if (element instanceof SVGSVGElement) {
    download(new Blob([standalone(element)], { type: "image/svg+xml" }), `${name}.svg`);
  }
}

async function savePng(element: Element | null, name: string): Promise<void> {
  if (element instanceof HTMLCanvasElement) {
    element.toBlob((blob) => blob && download(blob, `${name}.png`));
    return;
  }
  if (!(element instanceof SVGSVGElement)) return;
  const { width, height } = element.getBoundingClientRect();
  // Figures that were drawn beforehand are for a white ground; the page inverts them in the dark.
  const page = element.closest(".headscope") ?? element;
  const drawn = element.closest(".hs-picture") !== null;
  const ground = drawn ? "#fff" : getComputedStyle(page).backgroundColor;
  await saveDrawing(standalone(element), name, { width: 2 * width, height: 2 * height, ground });
}

/** Save an SVG that stands by itself as PNG. */
export async function saveDrawing(
  svg: string,
  name: string,
  { width, height, ground }: { width: number; height: number; ground: string },
): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d")!;
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => blob && download(blob, `${name}.png`));
}

/** A table as CSV. Cells that a spreadsheet would run as formulas are quoted with an apostrophe. */
export function csv(table: { columns: string[]; rows: (string | number | null)[][] }): string {
  const cell = (value: string | number | null): string => {
    if (value === null || (typeof value === "number" && !Number.isFinite(value))) return "";
    if (typeof value === "number") return String(value);
    const formula = /^[=+\-@\t\r\n]/.test(value) && !/^[-+]?[\d.]+$/.test(value);
    const safe = formula ? `'${value}` : value;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [table.columns, ...table.rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function saveCsv(table: { columns: string[]; rows: (string | number | null)[][] }, name: string): void {
  download(new Blob([csv(table)], { type: "text/csv" }), `${name}.csv`);
}

export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
