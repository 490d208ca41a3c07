import type { Shift } from "../../data/live";
import { number, percent } from "../../format";
import { useStore } from "../../store";
import { quoted, useLive } from "./context";

/** The heads whose maps change most when others are off. */
export function MovesCard() {
  const store = useStore();
  const { session, options, heads } = useLive();
  const changes = session.changes.value.value;
  const reading = session.reading.value.value;
  if (!options.off.length || !changes || !reading) return null;
  const token = (at: number) => <b><bdi>{quoted(reading.tokens[at] ?? "")}</bdi></b>;
  const moved = ([key, before, after]: Shift) => {
    const digits = Math.abs(after - before) < 0.02 ? 1 : 0;
    return (
      <>
        {token(key)} <span class="hs-soft">{percent(before, digits).replace(" %", "")} → {percent(after, digits)}</span>
      </>
    );
  };
  return (
    <section class="hs-block" aria-label="Later maps that change most">
      <div class="hs-title">
        <h2>Later maps that change most</h2>
        <span title="Jensen–Shannon divergence between the map with all heads on and that with heads off, mean over the tokens">
          Jensen–Shannon, nats
        </span>
      </div>
      {!changes.moves.length && <p class="hs-small">No later map changes.</p>}
      <table class="hs-live-moves">
        <tbody>
          {changes.moves.map((move) => (
            <tr key={move.head}>
              <th scope="row">
                <button
                  type="button" class="hs-live-name"
                  onClick={() => store.set({
                    heads: (heads.includes(move.head) ? heads : [...heads, move.head]).join(","),
                    map: move.head, after: "yes", token: String(move.row),
                  })}
                >
                  {move.head}
                </button>
              </th>
              <td>
                <bdi>{quoted(reading.tokens[move.row] ?? "")}</bdi> looks more at {moved(move.more)}, less at {moved(move.less)}
              </td>
              <td class="hs-num">{number(move.divergence, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
