import { useMemo } from "preact/hooks";

import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { fieldText, unitText } from "../data/fields";
import { bandText } from "../data/nulls";
import { family, fill, isRole } from "../families";

interface Props {
  atlas: Atlas;
  colouring: Colouring;
  dark: boolean;
  /** Whether cells are large enough for marks. */
  marks: boolean;
  /** Both models' names, and how the second is shown. */
  second?: { mine: string; name: string; mode: string };
}

/** What colours and marks in the grid mean. */
export function Legend(props: Props) {
  const { colouring, second } = props;
  return (
    <span class="hs-key">
      {colouring.kind === "roles" ? <RoleMarks {...props} /> : <Ramp colouring={colouring} />}
      {second && colouring.kind === "roles" && second.mode === "difference" && (
        <span>
          faded: same role in {second.name}; split: left this model, right {second.name}
        </span>
      )}
      {second && colouring.kind === "diverging" && second.mode === "difference" && (
        <span>
          {second.mine} minus {second.name}
        </span>
      )}
      {second && second.mode === "split" && (
        <span>
          left: {second.mine}; right: {second.name}
        </span>
      )}
    </span>
  );
}

function RoleMarks({ atlas, dark, marks, second }: Props) {
  const borderline = useMemo(
    () => atlas.arrays["roles/borderline"]?.some((one) => one === 1),
    [atlas],
  );
  const example = fill("noun phrase", 1, dark);
  const cell = fill("broad", 0, dark);
  return (
    <>
      <span title="How far the share of active attention is above chance: attention spread evenly">
        darker = further above chance (0.10, 0.25, 0.50)
      </span>
      {marks && (
        <span title="Share of attention that is not on sinks">
          <svg width="40" height="8" aria-hidden="true">
            <rect class="hs-foot" y="2" width="40" height="4" />
            <rect class="hs-foot-work" y="2" width="22" height="4" />
          </svg>
          active share
        </span>
      )}
      {marks && !second && (
        <span>
          <svg width="14" height="12" aria-hidden="true">
            <rect width="14" height="12" fill={cell} />
            <path d="M4 0H14V10Z" fill={example} />
          </svg>
          second role
        </span>
      )}
      {marks && !second && borderline && (
        <span title="Borderline: drawing other documents often gives this head another role">
          <svg width="22" height="12" aria-hidden="true">
            <rect width="22" height="12" fill={cell} />
            <line class="hs-borderline hs-borderline-key" x1="3" x2="19" y1="8.5" y2="8.5" />
          </svg>
          borderline
        </span>
      )}
    </>
  );
}

const STEPS = 24;

/** The map of a statistic: a strip with its ends, and even attention marked. */
export function Ramp({ colouring }: { colouring: Colouring }) {
  const { field, domain, at } = colouring;
  if (!field) return null;
  const [low, high] = domain;
  const width = 144;
  const reference = field.reference;
  const inside = reference !== undefined && reference > low && reference < high;
  return (
    <span class="hs-ramp-legend">
      <span>{fieldText(field, low)}</span>
      <svg
        width={width}
        height="14"
        role="img"
        aria-label={`from ${fieldText(field, low)} to ${fieldText(field, high)}`}
      >
        {Array.from({ length: STEPS }, (_, step) => (
          <rect
            key={step}
            x={(step * width) / STEPS}
            y="2"
            width={width / STEPS + 0.5}
            height="10"
            fill={at(low + ((step + 0.5) / STEPS) * (high - low))}
          />
        ))}
        {inside && (
          <line
            class="hs-ramp-line"
            x1={((reference - low) / (high - low)) * width}
            x2={((reference - low) / (high - low)) * width}
            y1="0"
            y2="14"
          />
        )}
      </svg>
      <span>{fieldText(field, high)}</span>
      <span class="hs-soft">
        {field.kind === "share" ? unitText(field) : unitText(field) || field.title}
        {inside &&
          `; line: ${field.id.startsWith("relation:") ? "best fixed offset" : "uniform attention"}, ${fieldText(field, reference)}`}
        {field.passes && !field.faded && "; pale: fails the test"}
      </span>
      {field.faded && (
        <span class="hs-faded-key">
          <svg width="14" height="12" aria-hidden="true">
            <rect class="hs-hairline" x="0.5" y="0.5" width="13" height="11" fill="none" />
          </svg>{" "}
          empty: inside the band of {bandText(field.faded, field.kind)}
        </span>
      )}
    </span>
  );
}

/** A family's three tints and its symbol, as in the summary. */
export function FamilyMark({ id, dark }: { id: string; dark: boolean }) {
  const role = isRole(id);
  const tints = role ? [0.1, 0.25, 0.5] : [0];
  return (
    <span class="hs-family">
      <svg width="36" height="12" aria-hidden="true">
        {tints.map((excess, at) => (
          <rect
            key={at}
            x={at * 12}
            width={36 / tints.length}
            height="12"
            fill={fill(id, excess, dark)}
          />
        ))}
        {!role && id !== "broad" && (
          <rect
            class={id === "rests" ? "hs-rests" : "hs-hairline"}
            x="0.5"
            y="0.5"
            width="35"
            height="11"
            fill="none"
          />
        )}
      </svg>
      <span aria-hidden="true">{family(id).symbol}</span>
    </span>
  );
}
