import { useMemo, useState } from "preact/hooks";

import type { Table } from "../data/types";
import { Linked } from "./link";
import { SaveMenu } from "./save";

const MINUS = "\u2212";

/** What a cell is sorted by: a head by layer, then head; a number, even if something follows it. */
export function order(text: string | null): number | string {
  if (text === null || text === "–" || text === "") return NaN;
  const head = /^(\d+)-(\d+)$/.exec(text);
  if (head) return Number(head[1]) * 1000 + Number(head[2]);
  const number = /^<?([-+]?[\d,]*\.?\d+)/.exec(text.replace(MINUS, "-"));
  return number ? Number(number[1]!.replaceAll(",", "")) : text;
}

/** The places of rows in the order of a column; what is not known comes last either way. */
export function sorted(rows: Table["rows"], column: number, rising: boolean): number[] {
  const keys = rows.map((row) => order(row[column] ?? null));
  const unknown = (at: number) => Number(Number.isNaN(keys[at]));
  const compare = (a: number, b: number) => {
    const [one, two] = [keys[a]!, keys[b]!];
    if (typeof one === "number" && typeof two === "number") return one - two;
    return String(one).localeCompare(String(two));
  };
  const sign = rising ? 1 : -1;
  return rows
    .map((_, at) => at)
    .sort((a, b) => unknown(a) - unknown(b) || sign * compare(a, b) || a - b);
}

/** What a row is called on the page, and a sign before it. */
export interface Mark {
  id: string;
  sign: string;
}

/** A cell that is longer is text, and wraps. */
const LONG = 40;

/** A table; heads in it are links, and its columns sort it where that helps. */
export function DataTable({ table, marks = [] }: { table: Table; marks?: Mark[] }) {
  const [by, setBy] = useState<[column: number, rising: boolean] | null>(null);
  const places = useMemo(
    () => (by ? sorted(table.rows, ...by) : table.rows.map((_, at) => at)),
    [table, by],
  );
  const data = () => ({
    columns: table.columns.map((column) => column.title),
    rows: table.rows,
  });
  const long = table.columns.map((_, at) => table.rows.some((row) => (row[at]?.length ?? 0) > LONG));
  const tall = table.sortable && table.rows.length > 16;
  const name = table.title || table.id || "Table";
  return (
    <div class="hs-figure">
      <div class="hs-title">
        {table.title && <h2>{table.title}</h2>}
        <SaveMenu name={table.id || slug(table.title) || "table"} data={data} />
      </div>
      <div class={tall ? "hs-scroll hs-tall" : "hs-scroll"} tabIndex={0} role="region" aria-label={name}>
        <table class="hs-table">
          <thead>
            <tr>
              {table.columns.map(({ title, number }, column) => (
                <th
                  key={title}
                  scope="col"
                  class={number ? "hs-num" : ""}
                  aria-sort={by?.[0] === column ? (by[1] ? "ascending" : "descending") : undefined}
                >
                  {table.sortable ? (
                    <button
                      type="button"
                      class="hs-sort"
                      onClick={() => setBy([column, by?.[0] === column ? !by[1] : !number])}
                    >
                      {title} {by?.[0] === column && <span aria-hidden="true">{by[1] ? "↑" : "↓"}</span>}
                    </button>
                  ) : (
                    title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {places.map((at) => (
              <tr key={at} id={marks[at]?.id}>
                {table.rows[at]!.map((cell, column) => (
                  <td
                    key={column}
                    class={`${table.columns[column]!.number ? "hs-num" : ""} ${long[column] ? "hs-long" : ""}`}
                  >
                    {column === 0 && marks[at] && <span class="hs-sign">{marks[at].sign}</span>}
                    <Linked text={cell ?? ""} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.note && <p class="hs-small">{table.note}</p>}
    </div>
  );
}

function slug(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}
