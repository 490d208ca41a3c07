"""Models with a classifier on top: trained, new on a pretrained encoder, or random throughout.

Checkpoints that were fine-tuned elsewhere are checked, and scored on a task. A classifier may also
sit on the last layer, a chosen layer or chosen heads: its own layers are then kept beside the
ordinary checkpoint of the base network.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from headscope.corpus import Corpus
from headscope.errors import ModelError
from headscope.files import Damaged, read_tensors, write_tensors
from headscope.heads import Head
from headscope.models import LayerView, Model, OutputListener, Pooling, Watch, load, take, watching
from headscope.models.cache import layer_blocks
from headscope.models.pooling import MODULES, POOLING, write_modules
from headscope.models.vectors import layer_states
from headscope.runs.survey.comparison import check_alike, check_tokens
from headscope.runs.tune import read_record
from headscope.runs.tune.rows import encode_rows, predict
from headscope.tasks.metrics import score
from headscope.tasks.task import Task

SPREAD = 0.02
"""The standard deviation of random weights (Kovaleva et al. 2019, Table 1)."""
COMPARED = 3
"""Examples on which the tokens of two models are compared."""


def load_classifier(
    name: str | Path,
    task: Task | None = None,
    *,
    title: str = "",
    seed: int = 0,
    random: bool = False,
    **loading: Any,
) -> tuple[Model, list[str]]:
    """Load a model with a classifier.

    Parameters
    ----------
    name
        A hub id, a folder, or ``"demo"``.
    task
        Names the classes. If the checkpoint has classes of the same names in another order, its
        order stands (see :func:`task_for`). Without a task the classes are those of the checkpoint.
    title
        The name that messages and results show, if it is not ``name``.
    seed
        Draws the weights that the checkpoint lacks.
    random
        Draw all weights, those of the encoder too, from normal(0, 0.02).
    loading
        As in :func:`headscope.load`: device, dtype, revision …

    Returns
    -------
    model : Model
    notes : list of str
        Which weights of the classifier were never trained; empty if all were.

    Raises
    ------
    ModelError
        If the architecture has no classifier, or is an encoder-decoder.

    See Also
    --------
    headscope.runs.tune.load_pooled : a classifier on a layer or on heads.

    Examples
    --------
    >>> model, notes = load_classifier("demo")
    >>> notes[0]  # doctest: +ELLIPSIS
    'the classifier of demo was never trained for this task: 2 of its weights are random (...'
    """
    auto = _ClassifierClass(title or str(name), task, random=random)
    model = _named_and_padded(partial(load, name, head=auto, seed=seed, **loading), title)
    assert model.reload is not None
    model.reload = partial(_named_and_padded, model.reload, title)
    model.notes += auto.notes
    return model, auto.notes


def _named_and_padded(load_model: Callable[[], Model], title: str) -> Model:
    """A classifier that is loaded, now or again where a worker needs it."""
    model = load_model()
    model.name = title or model.name
    _set_padding(model)
    return model


def task_for(model: Model, task: Task) -> Task:
    """The task with its classes in the order of a model's classifier.

    Parameters
    ----------
    model
        A model with a classifier.
    task
        Returned unchanged if the classifier names other classes.
    """
    names = class_names(model.config)
    if not same_classes(names, task):
        return task
    ordered = sorted(task.labels, key=lambda label: names.index(label.lower()))
    return replace(task, labels=tuple(ordered))


class _ClassifierClass:
    """Takes the place of a transformers auto class in :func:`headscope.load`.

    It sets the classes before the weights are read, and learns which weights are missing.
    """

    def __init__(self, name: str, task: Task | None, *, random: bool) -> None:
        self.name, self.task, self.random = name, task, random
        self.notes: list[str] = []

    def from_pretrained(
        self, place: str, *, config: Any, dtype: torch.dtype, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The network, and transformers' report on loading it."""
        if (
            type(config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
            or config.is_encoder_decoder
        ):
            raise ModelError(f"classifiers on top of {config.model_type} are not supported")
        if self.task is not None:
            self._set_classes(config, self.task)
        if self.random:
            network = AutoModelForSequenceClassification.from_config(config, dtype=dtype)
            draw_normal(network)
            return network, {}
        network, info = AutoModelForSequenceClassification.from_pretrained(
            place, config=config, dtype=dtype, **options
        )
        self._note_new_weights(network, info)
        return network, info

    def _set_classes(self, config: Any, task: Task) -> None:
        """Put the task's classes in the config, unless the checkpoint already names them."""
        config.problem_type = "single_label_classification" if task.labels else "regression"
        if not same_classes(class_names(config), task):
            config.num_labels = task.outputs
            config.id2label = dict(enumerate(task.labels or ("score",)))
            config.label2id = {label: index for index, label in config.id2label.items()}

    def _note_new_weights(self, network: Any, info: dict[str, Any]) -> None:
        """Note the classifier's new weights, and take them off the list of missing weights."""
        inside = f"{network.base_model_prefix}."
        lacking = {*info["missing_keys"], *map(_weight_name, info["mismatched_keys"])}
        new = sorted(key for key in lacking if not key.startswith(inside) or "pooler" in key)
        for kind in ("missing_keys", "mismatched_keys"):
            info[kind] = [key for key in info[kind] if _weight_name(key) not in new]
        if new:
            self.notes.append(
                f"the classifier of {self.name} was never trained for this task: "
                f"{len(new)} of its weights are random ({', '.join(new)})"
            )


def draw_normal(network: Any) -> None:
    """Draw every matrix from normal(0, 0.02).

    Biases and LayerNorms keep the values that the architecture starts with, 0 and 1.
    """
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, SPREAD)


def _weight_name(key: Any) -> str:
    """The name of a weight; transformers reports mismatched ones as (name, shape, shape)."""
    return str(key[0] if isinstance(key, tuple) else key)


def class_names(config: Any) -> list[str]:
    """The names of a checkpoint's classes, in lower case."""
    return [str(config.id2label[index]).lower() for index in sorted(config.id2label)]


def same_classes(names: list[str], task: Task) -> bool:
    """Whether a checkpoint's classes are a task's, in any order."""
    return bool(task.labels) and sorted(names) == sorted(label.lower() for label in task.labels)


def _set_padding(model: Model) -> None:
    """Make sure that there is a padding token.

    A causal classifier finds the last real token by the padding after it. GPT-2 has no padding
    token, so its end token is used.
    """
    tokenizer = model.tokenizer
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"the tokenizer of {model.name} has neither a padding token nor an end token",
            hint="set its pad_token and save it again",
        )
    model.config.pad_token_id = tokenizer.pad_token_id


# --- checkpoints that were fine-tuned elsewhere ---


@dataclass(frozen=True)
class CheckpointScores:
    """How good a checkpoint is at a task.

    Attributes
    ----------
    scores
        The task's metrics on the dev examples, from 0 to 1 (correlations from -1).
    examples
        How many dev examples there were.
    notes
        What a reader of the scores should know.
    """

    scores: dict[str, float]
    examples: int
    notes: tuple[str, ...]


def score_checkpoint(
    place: str | Path,
    task: Task,
    dev: Corpus,
    *,
    like: Model | None = None,
    max_length: int = 128,
    batch_size: int = 32,
    device: str = "cpu",
) -> CheckpointScores:
    """Check that a checkpoint is a classifier for a task, and score it.

    Parameters
    ----------
    place
        A folder or a hub id, fine-tuned by anybody.
    task
        What it was tuned for.
    dev
        The examples to score it on.
    like
        The model that it was tuned from: its heads and its tokens must be the same.
    max_length, batch_size, device
        As in :func:`headscope.runs.tune.tune`.

    Returns
    -------
    CheckpointScores
        With a note if the checkpoint's classes have other names, so that their order is assumed to
        be the task's.

    Raises
    ------
    ModelError
        The checkpoint has no trained classifier with the task's classes, or has other heads or
        other tokens than ``like``.
    """
    model = check_checkpoint(place, task, dev, like=like, device=device)
    ordered = task_for(model, task)
    rows, skipped = encode_rows(model, ordered, dev, max_length=max_length)
    scores = score(ordered, predict(model, rows, batch_size=batch_size), rows.labels)
    # The loaded model's config has the task's names by now, so the checkpoint's is read again.
    names = class_names(AutoConfig.from_pretrained(str(place)))
    if task.labels and not same_classes(names, task):
        skipped = [
            f"the classes of {place} are called {', '.join(names)}: they are taken to be "
            f"{', '.join(task.labels)}, in this order",
            *skipped,
        ]
    return CheckpointScores(scores, len(rows), tuple(skipped))


def check_checkpoint(
    place: str | Path, task: Task, dev: Corpus, *, like: Model | None = None, device: str = "cpu"
) -> Model:
    """Check that a checkpoint is a trained classifier for a task.

    Parameters
    ----------
    place, task, dev, like, device
        As in :func:`score_checkpoint`.

    Returns
    -------
    Model
        The checkpoint with its classifier.

    Raises
    ------
    ModelError
        As in :func:`score_checkpoint`.
    """
    model, untrained = load_classifier(place, task, device=device)
    if untrained:
        raise ModelError(
            f"{place} cannot be used for {task.title}: {untrained[0]}",
            hint="give a checkpoint that was fine-tuned for this task",
        )
    if like is not None:
        check_alike(like, model, like.main_stack())
        _check_tokens(like, model, dev)
    return model


def _check_tokens(first: Model, second: Model, corpus: Corpus) -> None:
    """Check on a few examples that two models have the same tokens."""
    one, other = (
        model.encoder(max_length=64, long="truncate", stack=model.main_stack())
        for model in (first, second)
    )
    for example in islice(corpus, COMPARED):
        mine, theirs = (list(encoder.encode([example])) for encoder in (one, other))
        check_tokens(first, second, example, mine, theirs)


# --- a classifier on a layer or on heads ---

CLASSIFIER = "headscope-classifier.safetensors"
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
        self._gates = model.gates
        self._numbers = {"encoder": model.shape(model.main_stack()).numbers}
        self._layer = (pooling.layer or 1) - 1  # an index from 0
        self._top = None if pooling.heads else self._last_block(model)

    @property
    def own(self) -> nn.ModuleDict:
        """Its own layers, which the base network does not have."""
        return nn.ModuleDict({"dense": self.dense, "classifier": self.classifier})

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
        vectors: dict[Head, Tensor] = {}
        last = max(head.layer for head in self.pooling.heads)

        def listen(view: LayerView) -> None:
            for head in self.pooling.heads:
                if head.layer == view.layer:
                    values = view.output[:, :, head.head]
                    vectors[head] = take(values, mask, self.pooling.position)
            if view.layer == last:
                raise StopForward

        watch = Watch(
            *({}, [OutputListener(listen)], None, mask), numbers=self._numbers, gates=self._gates
        )
        with watching(watch):
            self._run(inputs)
        return torch.cat([vectors[head] for head in self.pooling.heads], 1)

    def _layer_states(self, inputs: dict[str, Any]) -> Tensor:
        """The hidden states after the layer, from a full pass."""
        return layer_states(self.base(**inputs, output_hidden_states=True))[self._layer]

    def _cut(self, inputs: dict[str, Any], name: str) -> Tensor:
        """The same states, from a pass that ends with the layer."""
        states: list[Tensor] = []

        def listen(_block: nn.Module, _arguments: Any, output: Any) -> None:
            states.append(output if isinstance(output, Tensor) else output[0])
            raise StopForward

        with self.base.get_submodule(name).register_forward_hook(listen):
            self._run(inputs)
        return states[0]

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
    own = {name: value.cpu().numpy() for name, value in pooled.own.state_dict().items()}
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
        weights = {name: torch.from_numpy(value) for name, value in read_tensors(path).items()}
        pooled.own.load_state_dict(weights)
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
