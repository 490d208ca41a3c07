/** Addresses: "#/head/3-9?show=map". The view is everything before the question mark. */
export interface Route {
  /** "atlas", "finder", "head/3-9", "papers", "compare", "training", "live". */
  view: string;
  options: Record<string, string>;
}

/** A head's name alone: "#3-9" or "#L2H8" opens its page. */
const HEAD = /^(\d+-\d+|L\d+H\d+)$/i;

export function parse(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  const options: Record<string, string> = {};
  if (at >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(at + 1))) options[name] = value;
  }
  if (HEAD.test(path)) return { view: `head/${path}`, options };
  let view = path;
  try {
    view = decodeURIComponent(path);
  } catch {
    // a stray per cent sign is kept as it is
  }
  return { view, options };
}

export function format(route: Route): string {
  const options = new URLSearchParams(route.options).toString();
  return `#/${route.view}${options ? `?${options}` : ""}`;
}
