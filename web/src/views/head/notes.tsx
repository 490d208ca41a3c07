import { download } from "../../components/save";
import { plural } from "../../format";
import { useStore } from "../../store";

/** What the reader says of this head, beside what was measured. */
export function OwnNotes({ place }: { place: number }) {
  const store = useStore();
  const atlas = store.atlas!;
  const name = atlas.name(place);
  const { label, remark } = store.notes.of(name);
  const count = Object.keys(store.notes.all.value).length;
  const save = () => {
    const text = store.notes.tsv((head) => atlas.place(head) ?? atlas.size);
    download(new Blob([text], { type: "text/tab-separated-values" }), "notes.tsv");
  };
  return (
    <section class="hs-block hs-notes" aria-label="Your notes">
      <div class="hs-title">
        <h2>Your notes</h2>
        <span>kept in this browser only</span>
        {count > 0 && (
          <button type="button" class="hs-save-button hs-notes-save" onClick={save}>
            Save {plural(count, "note")} as TSV
          </button>
        )}
      </div>
      <input
        value={label}
        maxLength={80}
        placeholder="A label, such as “names of months”"
        aria-label={`Your label of head ${name}`}
        dir="auto"
        onInput={(event) => store.notes.write(name, { label: event.currentTarget.value })}
      />
      <textarea
        value={remark}
        rows={3}
        placeholder="A remark"
        aria-label={`Your remark on head ${name}`}
        dir="auto"
        onInput={(event) => store.notes.write(name, { remark: event.currentTarget.value })}
      />
    </section>
  );
}
