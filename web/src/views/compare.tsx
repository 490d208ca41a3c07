/** To be written. */
export function CompareView() {
  return <p class="hs-empty">Compare</p>;
}
