/** To be written. */
export function LiveView() {
  return <p class="hs-empty">Live</p>;
}
