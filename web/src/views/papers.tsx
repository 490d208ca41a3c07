/** To be written. */
export function PapersView() {
  return <p class="hs-empty">Papers</p>;
}
