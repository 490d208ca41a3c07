import { useEffect, useRef } from "preact/hooks";

import type { Figure } from "../data/types";

/** Elements of a drawn figure that only draw. */
const DRAWS = new Set(
  ["svg", "g", "defs", "clipPath", "linearGradient", "stop", "path", "rect", "circle", "line"].concat(
    ["text", "tspan", "title", "image"],
  ),
);

/** The elements of an SVG that draw, and their plain attributes: nothing that runs or loads. */
export function drawing(svg: string): SVGSVGElement | null {
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (root.localName !== "svg") return null;
  for (const one of [root, ...Array.from(root.querySelectorAll("*"))]) {
    if (!DRAWS.has(one.localName)) {
      one.remove();
      continue;
    }
    for (const { name, value } of Array.from(one.attributes)) {
      const foreign = /href$/.test(name) && !/^(#|data:image\/png)/.test(value);
      if (/^on|^style$/i.test(name) || foreign) one.removeAttribute(name);
    }
    name(one);
  }
  return document.importNode(root, true) as unknown as SVGSVGElement;
}

/** What a mark says to screen readers is said to the pointer too. */
function name(one: Element): void {
  const said = one.getAttribute("aria-label");
  if (!said || one.getAttribute("role") !== "graphics-symbol") return;
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = said.replaceAll("; ", "\n");
  one.append(title);
}

/** A figure that was drawn beforehand; it is put into the page when it comes near the window. */
export function Picture({ figure }: { figure: Figure }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const draw = () => {
      watch?.disconnect();
      const svg = drawing(figure.svg);
      if (svg && !element.firstChild) element.append(svg);
    };
    const watch =
      typeof IntersectionObserver === "undefined"
        ? undefined
        : new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && draw(), {
            rootMargin: "900px",
          });
    if (watch) watch.observe(element);
    else draw();
    addEventListener("beforeprint", draw);
    return () => {
      watch?.disconnect();
      removeEventListener("beforeprint", draw);
    };
  }, [figure]);
  const [width, height] = sizeOf(figure);
  const room = { maxWidth: `${width}px`, aspectRatio: `${width} / ${height}` };
  return <div ref={box} class="hs-picture" role="img" aria-label={figure.title} style={room} />;
}

/** A wider figure has the whole width of the page, so that its letters can be read. */
export function isWide(figure: Figure): boolean {
  return sizeOf(figure)[0] > 480;
}

function sizeOf({ svg }: Figure): [width: number, height: number] {
  const [, width = "480", height = "320"] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  return [Number(width), Number(height)];
}
