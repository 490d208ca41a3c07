"""Observation is limited to one pass, one thread and one model, and works in copies."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import pytest
import torch

from headscope.models import LayerView, Replacement, Shape, wrap
from headscope.models.observe import current_watch
from tiny import (
    BOTH,
    DECODERS,
    KINDS,
    LAYERS,
    PRIVATE,
    eager_inputs,
    eager_run,
    maps_of,
    same,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)


def in_threads(*jobs: Callable[[], None]) -> None:
    """Run jobs at the same time, and raise what any of them raises."""
    errors: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()  # they meet at barriers, which give up in the end
    if errors:
        raise errors[0]


def equal(one: list[LayerView], other: list[LayerView]) -> bool:
    named = ({(v.stack, v.layer): [v.weights, v.output] for v in views} for views in (one, other))
    return same(*named)


@pytest.mark.parametrize(
    ("first", "second"), [("bert", "gpt2"), ("gpt", "mpnet"), ("llama", "gpt")]
)
def test_two_threads_can_observe_two_models_at_once(first, second):
    meet = threading.Barrier(2, timeout=300)
    seen: dict[str, list[LayerView]] = {first: [], second: []}
    models = {kind: tiny_model(kind) for kind in seen}
    replacements = {first: None, second: Replacement("1-2")}

    def observe(kind):
        def listen(view):
            meet.wait()  # both threads are inside a layer now
            seen[kind].append(view)

        def job():
            with torch.no_grad():
                models[kind].forward(
                    tiny_batch(kind), listeners=[listen], replacement=replacements[kind]
                )

        return job

    in_threads(observe(first), observe(second))
    for kind, views in seen.items():
        assert equal(
            views, views_of(models[kind], tiny_batch(kind), replacement=replacements[kind])
        )


@pytest.mark.parametrize("kind", ["bert", *PRIVATE])
def test_two_threads_can_observe_one_model_at_once(kind):
    model = tiny_model(kind)
    texts = [tiny_batch(kind, seed=1), tiny_batch(kind, seed=2)]
    expected = [views_of(model, batch) for batch in texts]
    seen: list[list[LayerView]] = [[], []]
    meet = threading.Barrier(2, timeout=300)

    def wait(*_):
        meet.wait()

    if kind in PRIVATE:  # the threads meet between the maps and the outputs of a layer
        for name, module in model.network.named_modules():
            if name.endswith("attn_dropout" if kind == "gpt" else "attn.dropout"):
                module.register_forward_hook(wait)

    def observe(index):
        def listen(view):
            meet.wait()
            seen[index].append(view)

        def job():
            with torch.no_grad():
                model.forward(texts[index], listeners=[listen])

        return job

    in_threads(observe(0), observe(1))
    assert equal(seen[0], expected[0])
    assert equal(seen[1], expected[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_called_directly_computes_as_usual_and_calls_no_listener(kind):
    batch, model = tiny_batch(kind), tiny_model(kind)
    seen = views_of(model, batch)
    number = len(seen)
    output = model.network(**eager_inputs(kind, batch))
    expected, _ = eager_run(kind, batch)
    assert len(seen) == number
    assert torch.equal(output.last_hidden_state, expected.last_hidden_state)


@pytest.mark.parametrize("kind", ["bert", *PRIVATE])
def test_after_a_listener_that_fails_the_next_pass_is_observed_as_usual(kind):
    batch, model = tiny_batch(kind), tiny_model(kind)

    def fail(view):
        raise RuntimeError(f"layer {view.layer}")

    with pytest.raises(RuntimeError, match="layer 0"):
        model.forward(batch, listeners=[fail])
    assert current_watch() is None
    assert equal(views_of(model, batch), views_of(tiny_model(kind), batch))


def test_listeners_are_called_in_order():
    called = []
    listeners = [
        lambda view, name=name: called.append((name, view.layer)) for name in ("first", "second")
    ]
    tiny_model("bert").forward(tiny_batch("bert"), listeners=listeners)
    assert called == [("first", 0), ("second", 0), ("first", 1), ("second", 1)]


@pytest.mark.parametrize("kind", ["bert", "gpt", "mpnet", "t5"])
def test_a_network_wrapped_twice_is_observed_once(kind):
    network, batch = tiny_network(kind), tiny_batch(kind)
    once, twice = (wrap(network, tiny_tokenizer(kind)) for _ in range(2))
    assert twice.shapes == once.shapes
    assert twice.shape(twice.main_stack()) == Shape(LAYERS, 4, 8)
    assert equal(views_of(twice, batch), views_of(tiny_model(kind), batch))


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("kind", ["bert", *DECODERS, *BOTH, "mpnet"])
def test_a_copy_of_a_model_is_observed_like_the_original_and_names_its_own_modules(kind, copied):
    batch, model = tiny_batch(kind), tiny_model(kind)
    other = copied(model)
    views = views_of(other, batch)
    assert equal(views, views_of(model, batch))
    assert all(view.module in set(other.network.modules()) for view in views)
    weight = other.network.get_input_embeddings().weight
    weight.data += torch.randn(weight.shape)
    assert not equal(views_of(other, batch), views_of(model, batch))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["bert", "gpt", "llama", "t5"])
def test_maps_are_float32_whatever_the_dtype_of_the_model(kind, dtype):
    batch = tiny_batch(kind)
    model = wrap(tiny_network(kind).to(dtype), tiny_tokenizer(kind))
    with torch.no_grad():
        _, maps = eager_run(kind, batch, network=tiny_network(kind).to(dtype))
    for view in views_of(model, batch):
        assert view.weights.dtype == view.output.dtype == dtype
        assert view.attention.dtype == torch.float32
        assert torch.equal(view.attention, maps[view.stack][view.layer].float())


def test_float32_maps_are_not_copied():
    view = views_of(tiny_model("bert"), tiny_batch("bert"))[0]
    assert view.attention is view.weights


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_former_attention_implementation_does_not_matter(attention):
    batch = tiny_batch("bert")
    model = wrap(tiny_network("bert", attention=attention), tiny_tokenizer("bert"))
    assert same(maps_of(model, batch), eager_run("bert", batch)[1])


def test_one_token_is_enough():
    seen = maps_of(tiny_model("bert"), tiny_batch("bert", (1,)))["encoder"]
    assert [attention.tolist() for attention in seen] == [[[[[1.0]]] * 4]] * LAYERS
