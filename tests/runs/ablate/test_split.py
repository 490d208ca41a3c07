"""Batches and pruning steps that are done elsewhere and in any order."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.errors import Interrupted
from headscope.results import Atlas
from headscope.runs import run
from headscope.runs.ablate import ablate
from headscope.runs.tune.classifier import load_classifier
from runs.ablate.made import RUN, TASK, classifier, labelled, language_model
from runs.engines.workers import same
from runs.in_process import OddFirst, stop_after
from tiny import SENTENCES

EVERYTHING: dict[str, Any] = {"task": TASK, "dev": labelled(), "importance": True, "prune": True}


@pytest.fixture(autouse=True)
def out_of_order(monkeypatch):
    """The engine "processes" is one in this process."""

    def make(options: Any, **_: Any) -> OddFirst | None:
        return OddFirst() if options.engine == "processes" else None

    monkeypatch.setattr(run, "make_engine", make)


@pytest.mark.parametrize("way", ["uniform", "mean"])
def test_batches_in_any_order_give_the_same_bits(way):
    model = classifier()
    given = {**EVERYTHING, **RUN, "way": way, "batch_size": 1}
    same(ablate(model, engine="processes", **given), ablate(model, **given))


@pytest.mark.parametrize(
    "stops",
    [
        [(True, 2), (False, 3), (True, 1)],  # in the sweep, with batches done ahead
        [(True, 9), (False, 4), (True, 4)],  # in the search of the pruning curve
        [(True, 14), (True, 3)],  # while the curve is scored
    ],
)
def test_every_batch_is_counted_once_however_a_run_is_stopped_and_resumed(stops, tmp_path):
    model, output = classifier(), tmp_path / "off.nc"
    given = {**EVERYTHING, **RUN, "batch_size": 1}
    for split, steps in stops:
        how = {"engine": "processes" if split else "local", "progress": stop_after(steps)}
        with pytest.raises(Interrupted):
            ablate(model, output=output, **how, **given)
    seen: list[tuple[int, int]] = []
    found = ablate(
        model, output=output, engine="processes", progress=lambda *step: seen.append(step), **given
    )
    same(found, ablate(model, **given))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]


def test_a_classifier_is_loaded_again_with_its_padding_and_random_weights(tmp_path):
    """GPT-2 has no padding token; the classifier that the checkpoint lacks is drawn by a seed."""
    folder = tmp_path / "tiny"
    plain = language_model("gpt2")
    plain.network.save_pretrained(folder)
    plain.tokenizer.save_pretrained(folder)
    model, notes = load_classifier(folder, TASK, seed=3)
    assert notes
    given = {"task": TASK, "dev": labelled(), "heads": False, **RUN}
    same(ablate(model, engine="processes", **given), ablate(model, **given))


def test_functions_and_language_models_are_judged_elsewhere_too():
    model = language_model("bert")
    limit = 3.0

    def spread(output: Any, batch: Any) -> Any:  # as in a notebook: workers cannot import it
        return output.logits.std((1, 2)).clamp(max=limit)

    def both(**more: Any) -> list[Atlas]:
        given = {"corpus": list(SENTENCES), "layers": False, **RUN, **more}
        return [ablate(model, engine=name, **given) for name in ("processes", "local")]

    same(*both(objective=spread))
    same(*both())
