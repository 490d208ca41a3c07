"""Disabling heads, layers and sets of heads, with scores, intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from headscope.corpus import CorpusLike
from headscope.encode import Bos
from headscope.heads import HeadsLike
from headscope.models import ModelLike
from headscope.models.selection import split_heads
from headscope.options import EVERY, DeviceMap, Workers
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.runs.ablate.inputs import ablation_inputs
from headscope.runs.ablate.judgement import Judgement
from headscope.runs.ablate.objectives import Objective, OutputFunction
from headscope.runs.ablate.plan import plan
from headscope.runs.ablate.prune import CANDIDATES, POINTS, PruneSettings
from headscope.runs.ablate.run import AblationRun
from headscope.runs.ablate.settings import ScoreSettings, Way, ablation_settings
from headscope.tasks import Task


def ablate(
    model: ModelLike,
    *,
    task: str | Task | None = None,
    data: str | Path | None = None,
    train: CorpusLike | None = None,
    dev: CorpusLike | None = None,
    corpus: CorpusLike | None = None,
    objective: Objective | OutputFunction | None = None,
    metric: str = "",
    heads: bool = True,
    layers: bool = True,
    sets: Sequence[HeadsLike] = (),
    way: Way = "uniform",
    importance: bool = False,
    prune: bool = False,
    prune_candidates: int = CANDIDATES,
    prune_budget: int | None = None,
    prune_points: int = POINTS,
    correction: Literal["holm", "bh", "none"] = "holm",
    resamples: int | None = None,
    confidence: float = 0.95,
    limit: int | None = None,
    max_length: int = 128,
    long: Literal["truncate", "drop"] = "truncate",
    batch_size: int = 16,
    seed: int = 0,
    stack: str = "",
    token_types: bool = True,
    device: str = "cpu",
    dtype: Any = "float32",
    device_map: DeviceMap = "",
    quantization: Any = "",
    adapter: str | Path = "",
    bos: Bos = "keep",
    chat: bool = False,
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
    overwrite: bool = False,
    engine: Literal["local", "processes", "ray"] = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
) -> Atlas:
    """Disable each head, each layer or sets of heads, and score the model without them.

    The model is judged in one of four ways:

    - ``task`` and ``data``: a classifier, by a GLUE task's dev examples;
    - ``dev`` (and ``task`` or ``train``): a classifier, by a labelled table of your own;
    - ``corpus``: a masked or causal language model, by its loss;
    - ``corpus`` and ``objective``: any model, by any function of its output.

    A paired bootstrap over documents (examples that belong to none are drawn one by one) gives the
    interval and the p-value of each difference from the model with all heads.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`headscope.Model`, or a network with its tokenizer.
        A name is loaded with a classifier for the task, or with its language-model head.
    task
        A GLUE task by name, or a task of your own. By default the one that the model was tuned for,
        if it is a folder made by :func:`headscope.tune`.
    data
        The task's files: a folder in GLUE's layout (``FOLDER/MRPC/dev.tsv``), or ``"hub"``.
    dev
        Instead of ``data``: a labelled table to score on, as a file or a corpus.
    train
        With ``dev`` and without a task: the table whose labels are the classes. By default they are
        those of ``dev``.
    corpus
        The texts for a language model's loss or for an objective. By default the built-in corpus.
    objective
        What the model is judged by: an :class:`Objective`, or a function of the model's output and
        the batch that returns one number per example.
    metric
        Another metric than the task's main one; for a function ``"mean"`` (more is better, the
        default) or ``"loss"`` (less is better).
    heads, layers
        Whether to disable each head and each layer in turn.
    sets
        Sets of heads to disable together, such as ``["3-9,4-1", "4-*"]``.
    way
        ``"uniform"``: a disabled head attends equally to every token it may see; ``"zero"``: its
        output is 0; ``"mean"``: its output is its mean over all tokens of the examples.
    importance
        Also compute gradient importance, and its agreement with disabling heads.
    prune
        Also compute a pruning curve: the score with fewer and fewer heads.
    prune_candidates, prune_budget, prune_points
        How many heads the greedy order tries at each step; after how many trials it ends (by
        default, when one head is left); in how many steps the curve goes from all heads to none.
    correction
        The correction of p-values over all heads (layers, sets).
    resamples
        Bootstrap resamples. By default 10,000, or 100 per head if that is more.
    confidence
        The confidence of the intervals.
    limit
        Use only the first examples.
    max_length, long
        Tokens per example, and whether to truncate or drop longer ones.
    batch_size
        Examples per forward pass.
    seed
        Seed of the bootstrap, the masked pieces, the random pruning order, and of weights that a
        checkpoint lacks.
    stack
        ``"encoder"`` or ``"decoder"``, for models that have both.
    token_types
        Whether the two texts of a pair get different token types.
    device, dtype, device_map, quantization, adapter, bos, chat, revision, allow_pickle, \
    trust_remote_code
        As in :func:`headscope.load`, for a model that is given by name.
    output
        A results file (``.nc``). A stopped run resumes when it is called again with the same
        arguments; a finished one is opened.
    checkpoint
        Where the state of an unfinished run is kept; by default beside the output.
    every
        Seconds between two checkpoints.
    overwrite
        As in :func:`headscope.survey`.
    engine, workers, address
        Where batches are worked on, as in :func:`headscope.survey`.
    progress
        True shows a progress bar; a function is called with (done, total).

    Returns
    -------
    Atlas
        ``head_off``, ``layer_off`` and ``set_off`` hold the score without each head, layer and set,
        its difference from the baseline with interval and p-values; ``ablation`` the outputs for
        every example; and, if asked for, ``importance``, ``importance_agreement`` and ``pruning``.

    Raises
    ------
    UserError
        If the arguments do not fit together, or do not fit the model.
    Interrupted
        If the run was stopped.

    See Also
    --------
    headscope.stats.ablation.change_table : heads by what disabling them does.
    headscope.runs.tune.tune : makes the classifiers.

    References
    ----------
    Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", §4.6.
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.

    Examples
    --------
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> atlas = ablate(
    ...     "demo", corpus=["The dog barks.", "A cat sleeps."], objective=length,
    ...     heads=False, layers=False, sets=["1-3,2-*"], resamples=100,
    ... )
    >>> atlas["set_off"]["set"].values[0].split(",")[:3]
    ['1-3', '2-1', '2-2']
    """
    settings = ablation_settings(
        way,
        long,
        limit=limit,
        max_length=max_length,
        batch_size=batch_size,
        seed=seed,
        stack=stack,
        token_types=token_types,
    )
    scores = ScoreSettings(correction, resamples, confidence)
    keeping = Workers(
        output=output,
        checkpoint=checkpoint,
        every=every,
        overwrite=overwrite,
        engine=engine,
        workers=workers,
        address=address,
        progress=progress,
    )
    curve = PruneSettings(prune_candidates, prune_budget, prune_points) if prune else None
    for chosen in sets:  # what is not a head is an error before a model is loaded
        split_heads(chosen)
    judgement = Judgement(task, data, train, dev, corpus, objective, metric).for_model(model)
    inputs = ablation_inputs(
        model,
        judgement,
        seed=seed,
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        bos=bos,
        chat=chat,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    with inputs as found:
        stack = stack or found.model.main_stack()
        run = AblationRun(
            found,
            plan(found.model.shape(stack), heads=heads, layers=layers, sets=sets),
            replace(settings, stack=stack),
            way=way,
            importance=importance,
            prune=curve,
            scores=scores,
            options=keeping,
        )
        for note in found.model.notes:
            run.say(f"warning: {note}")
        return run.execute()
