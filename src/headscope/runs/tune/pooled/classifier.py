"""A classifier on the last layer, a chosen layer or chosen heads (J7; Jo and Myaeng 2020, §5.2 and A.4)."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel
from transformers.modeling_outputs import SequenceClassifierOutput

from headscope.errors import ModelError
from headscope.models import LayerView, Model, Pooling, Watch, load, take, watching
from headscope.models.layer_cache import layer_blocks
from headscope.models.pooling import layer_states
from headscope.runs.tune.classifier import SPREAD, draw_normal

DROPOUT = 0.1
"""Before the classifier, as in the paper."""
RATE = 2e-5
"""The paper's learning rate."""


class Enough(Exception):
    """Leaves a forward pass once everything that is asked for was seen: the layers above are never computed."""


class PooledClassifier(nn.Module):
    """A base network, the vector that a pooling takes of it, a linear layer with tanh, dropout, and the classifier.

    ``pooling`` has been fitted to the model. The network stays the model's own; new weights are drawn from normal(0, 0.02) with ``seed``, biases are 0.
    """

    def __init__(self, model: Model, pooling: Pooling, outputs: int, *, seed: int) -> None:
        super().__init__()
        self.base, self.pooling, self.outputs = model.network, pooling, outputs
        width, hidden = pooling.width(model), int(model.config.hidden_size)
        self.dense, self.dropout, self.classifier = (
            nn.Linear(width, hidden),
            nn.Dropout(DROPOUT),
            nn.Linear(hidden, outputs),
        )
        random = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for linear in (self.dense, self.classifier):
                linear.weight.normal_(0.0, SPREAD, generator=random)
                linear.bias.zero_()
        self.to(model.device)
        self._options = (
            {"use_cache": False}
            if "use_cache" in inspect.signature(self.base.forward).parameters
            else {}
        )
        self._top = None if pooling.heads else self._last_block(model)

    @property
    def watches(self) -> bool:
        """Whether it needs the attention function that can be watched."""
        return bool(self.pooling.heads)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """The outputs for a batch, and the loss where there are labels: cross-entropy, or the squared error of a regression."""
        logits = self.classifier(
            self.dropout(
                torch.tanh(self.dense(self.vectors(input_ids, attention_mask, token_type_ids)))
            )
        )
        if labels is None:
            return SequenceClassifierOutput(logits=logits)
        loss = (
            nn.functional.mse_loss(logits[:, 0], labels)
            if self.outputs == 1
            else nn.functional.cross_entropy(logits, labels)
        )
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def vectors(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """What the classifier sees: (text, width)."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **self._options} | (
            {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        )
        mask = attention_mask.bool()
        if self.pooling.heads:
            return self._heads(inputs, mask)
        return take(
            self._states(inputs) if self._top is None else self._cut(inputs, self._top),
            mask,
            self.pooling.position,
        )

    def _heads(self, inputs: dict[str, Any], mask: Tensor) -> Tensor:
        found: dict[tuple[int, int], Tensor] = {}
        last = max(layer for layer, _ in self.pooling.heads)

        def listen(view: LayerView) -> None:
            for layer, head in self.pooling.heads:
                if layer == view.layer:
                    found[layer, head] = take(view.output[:, :, head], mask, self.pooling.position)
            if view.layer == last:
                raise Enough

        with watching(Watch({}, [listen], None, mask)):
            self._run(inputs)
        return torch.cat([found[head] for head in self.pooling.heads], 1)

    def _states(self, inputs: dict[str, Any]) -> Tensor:
        """The hidden states after the layer, from a full pass."""
        return layer_states(self.base(**inputs, output_hidden_states=True))[self.pooling.layer or 0]

    def _cut(self, inputs: dict[str, Any], name: str) -> Tensor:
        """The same, from a pass that ends with the layer."""
        found: list[Tensor] = []

        def listen(_block: nn.Module, _arguments: Any, output: Any) -> None:
            found.append(output if isinstance(output, Tensor) else output[0])
            raise Enough

        handle = self.base.get_submodule(name).register_forward_hook(listen)
        try:
            self._run(inputs)
        finally:
            handle.remove()
        return found[0]

    def _run(self, inputs: dict[str, Any]) -> None:
        try:
            self.base(**inputs)
        except Enough:
            return

    def _last_block(self, model: Model) -> str | None:
        """The module after which a pass may end, by name: the chosen layer, if it is not the last one (final norms belong to that) and its output is the hidden state."""
        blocks, layers, layer = (
            layer_blocks(self.base),
            model.shape(model.main_stack()).layers,
            self.pooling.layer or 0,
        )
        if layer == layers - 1 or len(blocks) != layers:
            return None
        name = next(name for name, module in self.base.named_modules() if module is blocks[layer])
        ids = torch.zeros((1, 3), dtype=torch.long, device=model.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **self._options}
        with torch.inference_mode():
            return name if torch.equal(self._cut(inputs, name), self._states(inputs)) else None


class _Random:
    """Stands where :func:`headscope.load` takes an auto class: a network with every matrix drawn anew."""

    @staticmethod
    def from_pretrained(
        _place: str, *, config: Any, dtype: torch.dtype, **_options: Any
    ) -> tuple[Any, dict[str, Any]]:
        network = AutoModel.from_config(config, dtype=dtype)
        draw_normal(network)
        return network, {}


def load_base(name: str, pooling: Pooling, *, seed: int, random: bool, **options: Any) -> Model:
    """A model without a classifier, its weights its own or random, with the pooling fitted to it. ``options`` are those of :func:`headscope.load`."""
    model = load(name, head=_Random if random else None, seed=seed, **options)
    if model.encoder_decoder:
        raise ModelError(
            f"classifiers on top of {model.config.model_type} are not supported",
            hint="choose an encoder or a decoder, such as BERT or GPT-2",
        )
    model.pooling = pooling.fit(model)
    return model
