/** To be written. */
export function AtlasView() {
  return <p class="hs-empty">Atlas</p>;
}
