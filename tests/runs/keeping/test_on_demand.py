"""Examples on demand are those that a survey which keeps everything would show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.corpus import from_texts, read
from headscope.errors import UserError
from runs.test_survey import broken_bert
from tiny import SENTENCES, tiny_model


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("relation", ["", "det", "previous"])
def test_on_demand_gives_what_results_that_keep_all_give(kind: str, relation: str) -> None:
    model, corpus = tiny_model(kind), read("demo", limit=10)
    atlas = hs.survey(model, corpus, measures="position", max_length=60, batch_size=3)
    for head in ("1-2", "L1H3"):
        kept = atlas.examples(head, relation=relation, k=6)
        found = hs.examples(
            model, corpus, head, relation=relation, top=6, max_length=60, batch_size=4
        )
        assert list(found.columns) == list(kept.columns)
        for name in set(found.columns) & {"score", "attention"}:
            np.testing.assert_allclose(found[name], kept[name], atol=1e-4)
        same = ["rank", "id", "text", *(["found", "of", "direction"] if relation else [])]
        pd.testing.assert_frame_equal(pd.DataFrame(found[same]), pd.DataFrame(kept[same]))


def test_the_limit_counts_the_first_examples_and_progress_ends_at_it() -> None:
    told: list[tuple[int, int]] = []
    found = hs.examples(
        tiny_model("bert"),
        list(SENTENCES),
        "1-1",
        limit=3,
        batch_size=1,
        max_length=60,
        progress=lambda done, total: told.append((done, total)),
    )
    assert sorted(found["id"]) == ["1", "2", "3"]
    assert told[-1] == (3, 3)


def test_long_inputs_show_their_first_128_tokens() -> None:
    model = tiny_model("bert", max_position_embeddings=400)
    text = " ".join(SENTENCES * 4)
    found = hs.examples(model, [text], "2-1", max_length=400)
    kept = hs.survey(model, [text], measures="position", max_length=400)
    assert found["text"].tolist() == kept.examples("2-1")["text"].tolist()
    assert len(found["text"][0]) < len(text) / 2
    np.testing.assert_allclose(found["score"], kept.examples("2-1")["score"], atol=1e-5)


def test_examples_whose_attention_is_not_finite_are_left_out() -> None:
    found = hs.examples(
        broken_bert(), from_texts(["a dog", "who sat", "the cat"]), "1-1", max_length=24
    )
    assert sorted(found["id"]) == ["1", "3"]


def test_what_cannot_be_looked_for_is_an_error_before_the_model_is_run(tmp_path: Path) -> None:
    model = tiny_model("bert")
    with pytest.raises(UserError, match="have no dependency trees") as caught:
        hs.examples("no-such-model", list(SENTENCES), "1-1", relation="det")
    assert "parse=True" in caught.value.hint
    with pytest.raises(UserError, match="unknown relation 'deet'; did you mean 'det'"):
        hs.examples("no-such-model", read("demo", limit=3), "1-1", relation="deet")
    with pytest.raises(UserError, match="the model has no head 3-1"):
        hs.examples(model, list(SENTENCES), "3-1", max_length=60)
    with pytest.raises(UserError, match="one head is needed here"):
        hs.examples(model, list(SENTENCES), "1-1,1-2", max_length=60)
    with pytest.raises(UserError, match="the number of examples must be 1 or more, got 0"):
        hs.examples(model, list(SENTENCES), "1-1", top=0, max_length=60)
    with pytest.raises(UserError, match="cross attention"):
        hs.examples(tiny_model("t5"), list(SENTENCES), "1-1", stack="cross", max_length=60)


def test_a_known_head_of_the_embedded_model_finds_determiners() -> None:
    found = hs.examples("demo", read("demo", limit=12), "3-9", relation="det", top=12)
    assert found["found"].sum() / found["of"].sum() > 0.8
    assert set(found["direction"]) == {"dependent → head word"}
    previous = hs.examples("demo", read("demo", limit=4), "1-3", relation="previous", top=4)
    assert previous["found"].sum() / previous["of"].sum() > 0.99
