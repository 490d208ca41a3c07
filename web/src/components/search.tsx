import { useStore } from "../store";

/** The search line: a head's name, or a query. */
export function SearchBox() {
  const store = useStore();
  return (
    <form
      class="hs-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = String(new FormData(event.currentTarget).get("q") ?? "").trim();
        const place = store.atlas?.place(text);
        if (place !== undefined) store.go(`head/${store.atlas!.name(place)}`);
      }}
    >
      <kbd aria-hidden="true">/</kbd>
      <input name="q" aria-label="Search heads" placeholder="3-9, or entropy < 1.5" autocomplete="off" />
    </form>
  );
}
