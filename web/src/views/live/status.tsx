import { plural } from "../../format";
import { useLive } from "./context";

/** What is being computed, or what went wrong. */
export function Status() {
  const { session } = useLive();
  const errors = [session.reading, session.small, session.maps, session.changes].map((one) => one.error.value);
  const error = errors.find(Boolean);
  const ahead = session.client.ahead.value;
  const busy = session.client.busy.value > 0;
  return (
    <div class="hs-live-status" aria-live="polite">
      {error ? (
        <p class="hs-live-error" role="alert">
          {error}
        </p>
      ) : (
        <span class={busy ? "hs-live-busy" : "hs-live-idle"}>
          {busy ? (ahead ? `${plural(ahead, "request")} before yours` : "Computing …") : ""}
        </span>
      )}
    </div>
  );
}
