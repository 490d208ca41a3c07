import type { NullBand } from "../data/types";

interface Props {
  bands: NullBand[] | undefined;
  /** From a value to a pixel. */
  x: (value: number) => number;
  /** The first and the last pixel that may be drawn on. */
  from: number;
  to: number;
  y: number;
  height: number;
}

const LOOKS = ["hs-band", "hs-band hs-band-line", "hs-band hs-band-line hs-band-dashed"];

/** How the band of the first, second or third null model is drawn: shaded, in a frame, dashed. */
export function bandLook(at: number): string {
  return LOOKS[Math.min(at, LOOKS.length - 1)]!;
}

/** Where the middle 95 % of the heads of each null model are. */
export function Bands({ bands, x, from, to, y, height }: Props) {
  const clamp = (value: number) => Math.min(Math.max(x(value), from), to);
  return (
    <>
      {(bands ?? []).map((band, at) => {
        const [left, right] = [clamp(band.low), clamp(band.high)];
        const width = Math.max(right - left, 3);
        // beyond what is drawn: nothing, the text says where it is
        if (right <= from || left >= to) return null;
        return <rect key={band.null} class={bandLook(at)} {...{ x: left, y, width, height }} />;
      })}
    </>
  );
}
