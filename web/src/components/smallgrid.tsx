import type { Colouring } from "../colour";
import type { Atlas } from "../data/atlas";
import { family, ink, isRole } from "../families";
import { GridLabels } from "./grid";
import { headLabel } from "./grid-cell";
import { type Arrangement, smallGrid } from "./grid-layout";
import { Ramp } from "./legend";
import { Cells } from "./many";

const [LEFT, TOP] = [26, 4];
const [WIDEST, TALLEST] = [380, 360];

interface Props {
  atlas: Atlas;
  colouring: Colouring;
  title: string;
  /** By default, the head's role or value. */
  label?: (place: number) => string;
}

/** A grid of heads as a figure: layers upward, with its scale. */
export function SmallGrid({ atlas, colouring, title, label }: Props) {
  const wide = Math.max(4, Math.min(30, Math.floor(WIDEST / atlas.heads)));
  const tall = Math.max(4, Math.min(wide, Math.floor(TALLEST / atlas.layers)));
  const arrangement = smallGrid(atlas, { cell: [wide, tall], left: LEFT, top: TOP });
  const { layout } = arrangement;
  const roles = colouring.kind === "roles";
  return (
    <figure class="hs-smallgrid">
      <figcaption>{title}</figcaption>
      <svg
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        style={{ maxWidth: `${layout.width}px` }}
        role="group"
        aria-label={`${title}: one cell per head`}
      >
        <GridLabels numbers={atlas.document.model.numbers} layout={layout} numbered={false} bare />
        <Cells
          arrangement={arrangement}
          colour={(place) =>
            roles || !Number.isNaN(colouring.value(place)) ? colouring.of(place) : ""
          }
          by={[colouring]}
          label={label ?? ((place) => headLabel(atlas, place, colouring))}
        >
          {roles && <Symbols {...{ atlas, arrangement }} colour={(place) => colouring.of(place)} />}
        </Cells>
      </svg>
      {!roles && (
        <p class="hs-small">
          <Ramp colouring={colouring} />
        </p>
      )}
    </figure>
  );
}

interface SymbolProps {
  atlas: Atlas;
  arrangement: Arrangement;
  colour(place: number): string;
}

/** The symbols of main roles over their cells, where they are large enough: colours alone are not safe. */
export function Symbols({ atlas, arrangement, colour }: SymbolProps) {
  if (arrangement.layout.stepY < 14) return null;
  const places = Array.from({ length: atlas.size }, (_, place) => place);
  return (
    <>
      {places
        .filter((place) => isRole(atlas.family(place)))
        .map((place) => {
          const [x, y, width, height] = arrangement.box(place);
          return (
            <text
              key={place}
              x={x + width / 2}
              y={y + height / 2 + 4}
              font-size={11}
              text-anchor="middle"
              fill={ink(colour(place))}
            >
              {family(atlas.family(place)).symbol}
            </text>
          );
        })}
    </>
  );
}
