"""Fine-tuning a model on a task, or only scoring it."""

from __future__ import annotations

from pathlib import Path

from headscope.corpus import CorpusLike
from headscope.models import ModelLike, Pooling
from headscope.progress import ProgressLike
from headscope.runs.tune.loading import load_to_train
from headscope.runs.tune.pooled.classifier import RATE
from headscope.runs.tune.pooled.names import find_pooling
from headscope.runs.tune.record import Tuned
from headscope.runs.tune.run import IntoFolder, Tuning
from headscope.runs.tune.settings import Precision, Start, TuneSettings, check_training
from headscope.runs.tune.trainer import EVERY
from headscope.tasks.data import TaskData, training_data
from headscope.tasks.task import Task


def tune(
    model: ModelLike,
    *,
    task: str | Task | None = None,
    data: str | Path | None = None,
    train: CorpusLike | None = None,
    dev: CorpusLike | None = None,
    output: str | Path,
    start: Start = "pretrained",
    pooling: Pooling | str | None = None,
    position: str = "",
    epochs: int = 3,
    learning_rate: float | None = None,
    batch_size: int = 32,
    max_length: int = 128,
    warmup: float = 0.1,
    seed: int = 0,
    precision: Precision = "float32",
    limit: int | None = None,
    device: str = "cpu",
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    resume: bool = True,
    overwrite: bool = False,
    every: float = EVERY,
    progress: ProgressLike = False,
) -> Tuned:
    """Fine-tune a model on a task, score it, and save it as an ordinary checkpoint.

    An interrupted run resumes from its last checkpoint and reaches the same weights. A finished
    one is read from ``output``, not trained again.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`headscope.Model`, or a network with its tokenizer.
        What is already loaded is copied and stays unchanged.
    task
        A GLUE task by name (mrpc, sts-b, sst-2, qqp, rte, qnli, mnli), or a task of your own.
        Without one, the classes are the labels of ``train``.
    data
        The task's files: a folder in GLUE's layout (``FOLDER/RTE/train.tsv``), or ``"hub"``.
    train, dev
        Instead of ``data``: labelled tables to train on and to score on, as anything that
        :func:`headscope.read` takes (a TSV, CSV or JSON-lines file, a DataFrame, a corpus …).
    output
        The folder that gets the tuned model.
    start
        ``"pretrained"`` trains the model's own weights with a new classifier; ``"random"`` draws
        all weights from normal(0, 0.02) first; ``"untrained"`` only scores a new classifier on the
        model's own weights.
    pooling
        Puts the classifier on a vector of your choice (Jo and Myaeng 2020, §5.2): ``"last"``,
        ``"layer:4"``, ``"heads:3-9,4-1"`` or a :class:`headscope.models.Pooling`. By default the
        architecture's own classifier is trained.
    position
        With ``pooling``: ``"cls"`` (the first token), ``"last"`` or ``"mean"``. By default the last
        token of a causal model, else the first one if the tokenizer puts one there for it, else the
        mean.
    epochs
        Passes over the training examples.
    learning_rate
        The highest learning rate, after warm-up. By default 5e-5; 2e-5 with ``pooling``.
    batch_size
        Examples per step.
    max_length
        Tokens per example; longer ones are truncated, the longer text of a pair first.
    warmup
        The share of steps in which the learning rate rises. It falls to 0 over the others.
    seed
        Seed of new weights, order and dropout.
    precision
        ``"float32"``, or mixed precision: ``"bf16"``, ``"fp16"`` (GPU only).
    limit
        Use only the first examples, so many for training and so many for scoring.
    device
        ``"cpu"``, ``"cuda"`` or ``"mps"``.
    revision, allow_pickle, trust_remote_code
        As in :func:`headscope.load`.
    resume
        False starts again, and removes what an earlier run left in ``output``.
    overwrite
        Train again what is finished in ``output``, and replace what another run left there. What
        this very run left unfinished is resumed.
    every
        Seconds between two checkpoints.
    progress
        True shows a progress bar; a function is called with (steps done, steps in all).

    Returns
    -------
    Tuned
        The folder, the scores and how they were made.

    Raises
    ------
    UserError
        If the settings, the data or the output folder cannot be used.
    Interrupted
        If the run was stopped; what was done is kept.

    See Also
    --------
    load_classifier : loads the tuned model with its classifier.
    load_pooled : the same for a model that was tuned with ``pooling``.
    headscope.runs.ablate.ablate : the score with each head disabled.

    References
    ----------
    Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", §3 and Table 1.
    Jo and Myaeng 2020, "Roles and Utilization of Attention Heads in Transformer-based Neural
    Language Models", §5.2 and Table 4.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from headscope.corpus import Example, from_examples
    >>> days = [("A fine day.", "good"), ("A bad day.", "bad")] * 4
    >>> rows = [Example(str(n), (text,), label=label) for n, (text, label) in enumerate(days)]
    >>> table = from_examples(rows, name="days")
    >>> with TemporaryDirectory() as folder:
    ...     tuned = tune("demo", train=table, dev=table, output=folder, start="untrained")
    >>> tuned.task.labels, tuned.examples
    (('bad', 'good'), {'train': 8, 'dev': 8})
    """
    chosen = find_pooling(pooling, position)
    if learning_rate is None:
        learning_rate = 5e-5 if chosen is None else RATE
    settings = TuneSettings(
        start=start,
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        max_length=max_length,
        warmup=warmup,
        seed=seed,
        precision=precision,
        limit=limit,
    )
    check_training(settings, device)
    found = training_data(task, data=data, train=train, dev=dev)
    found = TaskData(found.task, found.train.first(limit), found.dev.first(limit))
    loaded = load_to_train(
        model,
        found.task,
        chosen,
        seed=seed,
        random=start == "random",
        device=device,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    run = Tuning(
        loaded,
        found,
        settings,
        IntoFolder(output=output, overwrite=overwrite, progress=progress),
        device=device,
        every=every,
        resume=resume,
    )
    return run.execute()
