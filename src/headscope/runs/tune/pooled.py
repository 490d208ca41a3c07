"""A classifier on the last layer, a chosen layer or chosen heads, and its files.

Its own layers are kept beside the ordinary checkpoint of the base network.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoModel
from transformers.modeling_outputs import SequenceClassifierOutput

from headscope.errors import ModelError
from headscope.files import Damaged, read_tensors, write_tensors
from headscope.heads import Head
from headscope.models import LayerView, Model, OutputListener, Pooling, Watch, load, take, watching
from headscope.models.cache import layer_blocks
from headscope.models.pooling import MODULES, POOLING, write_modules
from headscope.models.vectors import layer_states
from headscope.runs.tune.classifier import SPREAD, draw_normal
from headscope.runs.tune.record import read_record

CLASSIFIER = "headscope-classifier.safetensors"
LAYERS = ("dense", "classifier")
DROPOUT = 0.1
"""Before the classifier (Jo and Myaeng 2020, A.4)."""


class StopForward(Exception):
    """Ends a forward pass once everything needed was seen: higher layers are never computed."""


class PooledClassifier(nn.Module):
    """A base network, a pooled vector, a linear layer with tanh, dropout, and the classifier.

    Parameters
    ----------
    model
        Its network is the base, and is trained with the classifier.
    pooling
        What the classifier sees, fitted to the model (see :meth:`headscope.models.Pooling.fit`).
    outputs
        The number of classes; 1 is a regression.
    seed
        Draws the new weights from normal(0, 0.02). Biases are 0.

    References
    ----------
    Jo and Myaeng 2020, "Roles and Utilization of Attention Heads in Transformer-based Neural
    Language Models", §5.2 and A.4.
    """

    def __init__(self, model: Model, pooling: Pooling, outputs: int, *, seed: int) -> None:
        super().__init__()
        self.base, self.pooling, self.outputs = model.network, pooling, outputs
        width, hidden = pooling.width(model), model.hidden_size
        self.dense = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(DROPOUT)
        self.classifier = nn.Linear(hidden, outputs)
        random = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for linear in (self.dense, self.classifier):
                linear.weight.normal_(0.0, SPREAD, generator=random)
                linear.bias.zero_()
        self.to(model.device)
        cached = "use_cache" in inspect.signature(self.base.forward).parameters
        self._options = {"use_cache": False} if cached else {}
        self._numbers = {"encoder": model.shape(model.main_stack()).numbers}
        self._layer = (pooling.layer or 1) - 1  # an index from 0
        self._top = None if pooling.heads else self._last_block(model)

    @property
    def watches(self) -> bool:
        """Whether it needs the attention function that can be observed."""
        return bool(self.pooling.heads)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """The outputs for a batch, and with labels the loss.

        The loss is the cross-entropy, or the squared error of a regression.
        """
        vectors = self.vectors(input_ids, attention_mask, token_type_ids)
        logits = self.classifier(self.dropout(torch.tanh(self.dense(vectors))))
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
        """What the classifier sees, (text, width)."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, **self._options}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        mask = attention_mask.bool()
        if self.pooling.heads:
            return self._head_vectors(inputs, mask)
        states = self._layer_states(inputs) if self._top is None else self._cut(inputs, self._top)
        return take(states, mask, self.pooling.position)

    def _head_vectors(self, inputs: dict[str, Any], mask: Tensor) -> Tensor:
        found: dict[Head, Tensor] = {}
        last = max(head.layer for head in self.pooling.heads)

        def listen(view: LayerView) -> None:
            for head in self.pooling.heads:
                if head.layer == view.layer:
                    values = view.output[:, :, head.head]
                    found[head] = take(values, mask, self.pooling.position)
            if view.layer == last:
                raise StopForward

        with watching(Watch({}, [OutputListener(listen)], None, mask, numbers=self._numbers)):
            self._run(inputs)
        return torch.cat([found[head] for head in self.pooling.heads], 1)

    def _layer_states(self, inputs: dict[str, Any]) -> Tensor:
        """The hidden states after the layer, from a full pass."""
        return layer_states(self.base(**inputs, output_hidden_states=True))[self._layer]

    def _cut(self, inputs: dict[str, Any], name: str) -> Tensor:
        """The same states, from a pass that ends with the layer."""
        found: list[Tensor] = []

        def listen(_block: nn.Module, _arguments: Any, output: Any) -> None:
            found.append(output if isinstance(output, Tensor) else output[0])
            raise StopForward

        handle = self.base.get_submodule(name).register_forward_hook(listen)
        try:
            self._run(inputs)
        finally:
            handle.remove()
        return found[0]

    def _run(self, inputs: dict[str, Any]) -> None:
        try:
            self.base(**inputs)
        except StopForward:
            return

    def _last_block(self, model: Model) -> str | None:
        """The name of the module after which a pass may end, or None if it must run to its end.

        A pass ends after the chosen layer, unless that is the last one (final norms belong to it)
        or the module's output is not the hidden state, which is tried on three tokens.
        """
        blocks = layer_blocks(self.base)
        layers, layer = model.shape(model.main_stack()).layers, self._layer
        if layer == layers - 1 or len(blocks) != layers:
            return None
        name = next(name for name, module in self.base.named_modules() if module is blocks[layer])
        ids = torch.zeros((1, 3), dtype=torch.long, device=model.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **self._options}
        with torch.inference_mode():
            same = torch.equal(self._cut(inputs, name), self._layer_states(inputs))
        return name if same else None


class _RandomClass:
    """Takes the place of a transformers auto class: a network with every matrix drawn anew."""

    @staticmethod
    def from_pretrained(
        _place: str, *, config: Any, dtype: torch.dtype, **_options: Any
    ) -> tuple[Any, dict[str, Any]]:
        network = AutoModel.from_config(config, dtype=dtype)
        draw_normal(network)
        return network, {}


def load_base(
    name: str, pooling: Pooling, *, title: str = "", seed: int, random: bool, **loading: Any
) -> Model:
    """Load a model without a classifier, with a pooling fitted to it.

    Parameters
    ----------
    name
        A hub id, a folder, or ``"demo"``.
    pooling
        What a classifier will see.
    title, seed, random, loading
        As in :func:`headscope.runs.tune.load_classifier`.
    """
    model = load(name, head=_RandomClass if random else None, seed=seed, **loading)
    model.name = title or model.name
    if model.encoder_decoder:
        raise ModelError(
            f"classifiers on top of {model.config.model_type} are not supported",
            hint="choose an encoder or a decoder, such as BERT or GPT-2",
        )
    model.pooling = pooling.fit(model)
    return model


def save_pooled(pooled: PooledClassifier, folder: Path) -> None:
    """Write the pooling and the weights of the classifier's own layers.

    The base network is saved separately, as an ordinary checkpoint.
    """
    pooled.pooling.write(folder)
    write_modules(folder)
    own = {
        name: value.detach().cpu().numpy()
        for name, value in pooled.state_dict().items()
        if name.partition(".")[0] in LAYERS
    }
    write_tensors(folder / CLASSIFIER, own, {"format": "pt"})


def load_pooled(
    folder: str | Path,
    *,
    device: str = "cpu",
    dtype: Any = "float32",
    trust_remote_code: bool = False,
) -> tuple[Model, PooledClassifier]:
    """Load a model that was tuned with a pooling, and its classifier.

    Parameters
    ----------
    folder
        A folder that :func:`headscope.runs.tune.tune` made with ``pooling``.
    device, dtype, trust_remote_code
        As in :func:`headscope.load`.

    Returns
    -------
    model : Model
    classifier : PooledClassifier
        Its outputs are the classes of ``read_record(folder).task``.

    Raises
    ------
    ModelError
        If the folder has no such classifier, or one that does not fit the model.
    """
    path = Path(folder) / CLASSIFIER
    if not path.is_file():
        raise ModelError(
            f"{folder} has no classifier on a layer or on heads: no {CLASSIFIER}",
            hint="make one with tune(..., pooling=...), or use load_classifier",
            command="make one with headscope tune --pooling",
        )
    task = read_record(Path(folder)).task
    model = load(folder, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    pooled = PooledClassifier(model, model.pooling, task.outputs, seed=0)
    try:
        own = {name: torch.from_numpy(value) for name, value in read_tensors(path).items()}
        for name in LAYERS:
            prefix = f"{name}."
            weights = {
                key.removeprefix(prefix): value
                for key, value in own.items()
                if key.startswith(prefix)
            }
            pooled.get_submodule(name).load_state_dict(weights)
    except (SafetensorError, RuntimeError, Damaged) as error:
        raise ModelError(
            f"{path} does not fit the model: {str(error).splitlines()[0]}",
            hint="delete the folder and tune again",
        ) from None
    return model, pooled.eval()


def remove_pooled(folder: Path) -> None:
    """Delete what :func:`save_pooled` wrote, before a run without a pooling takes the folder."""
    for name in (POOLING, MODULES, CLASSIFIER):
        (folder / name).unlink(missing_ok=True)
