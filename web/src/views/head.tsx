/** To be written. */
export function HeadView({ name }: { name: string }) {
  return <p class="hs-empty">{name}</p>;
}
