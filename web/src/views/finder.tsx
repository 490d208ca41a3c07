/** To be written. */
export function FinderView() {
  return <p class="hs-empty">Finder</p>;
}
