"""Several passes over a small batch at once, and how long an ablation will take."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch

from headscope.corpus import from_texts
from headscope.models import Model
from headscope.models.cache import LayerCache
from headscope.progress import Reporter
from headscope.runs.ablate import TaskObjective, ablate
from headscope.runs.ablate.objectives import (
    CustomObjective,
    LanguageModelObjective,
    Objective,
    Question,
    TaskObjective,
)
from headscope.runs.ablate.work import (
    STACKED_TOKENS,
    AblationWork,
    disabled_set,
    head_importance,
    plan,
    time_passes,
)
from runs.ablate.made import RUN, TASK, classifier, labelled, language_model, stream
from tiny import HEADS, SENTENCES, WIDTH, place


@pytest.fixture
def stacks(monkeypatch):
    """How many passes were run at once, time after time."""
    sizes: list[int] = []
    plain = LayerCache.forward_stacked

    def count(self: LayerCache, replacements: Any) -> Any:
        sizes.append(len(replacements))
        return plain(self, replacements)

    monkeypatch.setattr(LayerCache, "forward_stacked", count)
    return sizes


def swept(objective: Objective, model: Any, batch: Any) -> Any:
    work = AblationWork(model, objective, stack=model.main_stack(), way="uniform")
    return work(batch, plan(model.shape(model.main_stack())))[0].outputs


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_heads_of_a_layer_are_disabled_at_once_with_the_losses_of_single_passes(
    kind, stacks, monkeypatch
):
    model = language_model(kind)
    batch = stream(model, from_texts(SENTENCES), 2)[1]
    together = swept(LanguageModelObjective(model), model, batch)
    # Each head of a layer and the layer itself, as many as there is room for.
    assert sum(stacks) == 2 * (HEADS + 1)
    assert 1 < max(stacks) <= STACKED_TOKENS // batch.ids.size
    stacks.clear()
    monkeypatch.setattr(LanguageModelObjective, "by_example", False)
    singly = swept(LanguageModelObjective(model), model, batch)
    assert not stacks
    assert together == pytest.approx(singly, abs=1e-6)
    assert np.ptp(together[:, 0]) > 1e-4


def test_a_function_of_the_whole_batch_gets_the_batch_as_it_is(stacks):
    model = language_model("bert")
    seen: set[int] = set()

    def rank(output: Any, batch: Any) -> Any:
        seen.add(len(output.logits))
        return output.logits.mean((1, 2)).argsort().float()

    swept(CustomObjective("rank", rank), model, stream(model, from_texts(SENTENCES), 3)[0])
    assert not stacks
    assert seen == {3}


def test_a_large_batch_is_run_pass_by_pass(stacks):
    model = classifier()
    texts = from_texts(SENTENCES * 6)
    batch = stream(model, texts, 30)[0]
    assert batch.ids.size > STACKED_TOKENS / 2

    class First(TaskObjective):
        def ask(self, batch: Any) -> Any:
            return CustomObjective("first", lambda output, _: output.logits).ask(batch)

    swept(First(model, TASK), model, batch)
    assert not stacks


@pytest.mark.parametrize("wrong", ["refuses", "mixes"])
def test_a_network_that_mixes_examples_is_run_pass_by_pass(wrong, monkeypatch):
    model = classifier()
    given: dict[str, Any] = {"task": TASK, "dev": labelled(), "layers": False, **RUN}
    expected = ablate(model, **given)["ablation"]["outputs"].values
    plain = LayerCache.forward_stacked
    tried: list[int] = []

    def fail(self: LayerCache, replacements: Any) -> Any:
        tried.append(len(replacements))
        if wrong == "refuses":
            raise RuntimeError("a tensor of another size")
        output = plain(self, replacements)
        output.logits += torch.arange(len(output.logits))[:, None]
        return output

    monkeypatch.setattr(LayerCache, "forward_stacked", fail)
    found = ablate(model, **given)["ablation"]["outputs"].values
    assert len(tried) == 1
    assert found == pytest.approx(expected, abs=1e-6)


class Lines(Reporter):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_what_a_run_will_take_is_said_before_it_starts(monkeypatch):
    timed: list[int] = []

    def times(_work: Any, batch: Any, *_: Any, **__: Any) -> tuple[float, float]:
        timed.append(batch.ids.size)
        return 600.0, 400.0

    monkeypatch.setattr("headscope.runs.ablate.run.time_passes", times)
    reporter = Lines()
    given = {"task": TASK, "dev": labelled(), "layers": False, **RUN}
    silent = ablate(classifier(), **given)
    found = ablate(classifier(), progress=reporter, **given)
    said = [line for line in reporter.lines if "will take" in line]
    padded = sum(batch.ids.size for batch in stream(classifier(), labelled(), 2))
    seconds = (600 + 8 * 400) * padded / timed[0]
    minutes, second = divmod(round(seconds), 60)
    clock = f"{minutes // 60}:{minutes % 60:02d}:{second:02d}"
    assert said == [f"9 passes over 5 examples will take about {clock}"]
    assert reporter.lines[0] == said[0]
    assert found["ablation"].identical(silent["ablation"])


def test_passes_are_timed_where_they_begin_in_the_middle_layer():
    """They take in proportion to the layers above the first disabled head."""
    timed: list[list[str]] = []

    class Work:
        model, stack = classifier(), "encoder"

        def __call__(self, _batch: Any, passes: Any) -> None:
            timed.append([off.name for off in passes])
            time.sleep(0.01 * len(passes))

    shape = Work.model.shape("encoder")
    passes = [*plan(shape, layers=False), disabled_set(shape, "2-1,1-2")]
    full, disabled = time_passes(Work(), stream(Work.model, labelled(), 2)[0], passes)  # type: ignore[arg-type]
    assert timed[0] == ["none"]
    assert timed[-1] == ["none", "1-1", "1-2", "1-3", "1-4", "1-2,2-1"]  # of two layers the lower
    assert full == pytest.approx(0.01, rel=1.0)
    assert disabled == pytest.approx(0.01, rel=1.0)


def test_timing_keeps_the_number_of_threads():
    model = classifier()
    before = torch.get_num_threads()
    work = AblationWork(model, TaskObjective(model, TASK), stack="encoder", way="uniform")
    batch = stream(model, labelled(), 2)[0]
    full, disabled = time_passes(work, batch, plan(model.shape("encoder")), threads=before + 1)
    assert torch.get_num_threads() == before
    assert full > 0
    assert disabled >= 0


# --- gradient importance ---

STEP = 1e-4


def gated_losses(
    model: Model, kind: str, question: Question, layer: int, head: int, gate: float
) -> np.ndarray[Any, Any]:
    """The loss of each example with one head's output multiplied by a gate."""

    def scale(_module: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        split = arguments[0].unflatten(-1, (HEADS, WIDTH)).clone()
        split[..., head, :] *= gate
        return (split.flatten(-2), *arguments[1:])

    projection = place(model.network.base_model, kind, model.main_stack(), layer)[1]
    hook = projection.register_forward_pre_hook(scale)
    try:
        with torch.inference_mode():
            logits = model.forward(question.batch).logits
    finally:
        hook.remove()
    losses = torch.nn.functional.cross_entropy(logits, question.gold, reduction="none")
    return np.asarray(losses.numpy())


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_importance_is_the_derivative_of_each_examples_loss_by_a_gate_on_the_head(kind):
    model = classifier(kind)
    model.network.double()
    objective = TaskObjective(model, TASK)
    for batch in stream(model, labelled(), 3):
        question = objective.ask(batch)
        found = head_importance(model, objective, question, model.main_stack())
        for layer, head in ((0, 0), (0, 3), (1, 1)):
            above, below = (
                gated_losses(model, kind, question, layer, head, 1 + step) for step in (STEP, -STEP)
            )
            expected = np.abs(above - below) / (2 * STEP)
            assert found[:, layer, head] == pytest.approx(expected, rel=1e-3, abs=1e-6)
            assert expected.max() > 1e-4
