import { useEffect, useMemo } from "preact/hooks";

import { LiveClient } from "../data/live";
import { useStore } from "../store";
import { chosenHeads, LiveContext } from "./live/context";
import { EffectsCard } from "./live/effects";
import { Generation } from "./live/generation";
import { HeadChips } from "./live/chips";
import { LineCard } from "./live/lines";
import { MapCard } from "./live/mapcard";
import { MoreLikeThis } from "./live/like";
import { MovesCard } from "./live/moves";
import { readOptions } from "./live/options";
import { OffCard, PredictionCard } from "./live/prediction";
import { LiveSession } from "./live/session";
import { Status } from "./live/status";
import { TextField } from "./live/textfield";
import { ThumbnailCard } from "./live/thumbnails";
import { Toolbar } from "./live/toolbar";
import { TwoTexts } from "./live/twotexts";

/** Type a text, see every head's attention, switch heads off. Only in the explorer. */
export function LiveView() {
  const store = useStore();
  const model = store.boot.live!;
  const session = useMemo(() => new LiveSession(new LiveClient(), model), [store, model]);
  const options = readOptions((name) => store.option(name), model);
  const heads = chosenHeads(store, session, options);
  const shown = heads.includes(options.map) || !heads.length ? options.map : heads[heads.length - 1]!;
  const wanted = shown && !heads.includes(shown) ? [...heads, shown] : heads;
  const reading = session.reading.value.value; // maps are asked for once the tokens are known
  useEffect(() => session.update(options, wanted), [store.route.value, reading, wanted.join(), session.generating.value]);
  useEffect(() => session.compare(options, shown), [options.other, options.from, shown]);
  return (
    <LiveContext.Provider value={{ session, model, options, heads, shown }}>
      <div class="hs-live">
        <div class="hs-live-main">
          <TextField />
          <Toolbar />
          <HeadChips />
          <Status />
          <LineCard />
          <Generation />
          <div class="hs-live-two">
            <MapCard />
            {model.predicts ? <PredictionCard /> : <OffCard />}
          </div>
          <TwoTexts />
        </div>
        <aside class="hs-live-side" aria-label="All heads">
          {model.predicts && <EffectsCard />}
          <ThumbnailCard />
          <MovesCard />
          <MoreLikeThis />
        </aside>
      </div>
    </LiveContext.Provider>
  );
}
