"""The model, the examples and the objective that the arguments of an ablation stand for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headscope.corpus import Corpus
from headscope.errors import ModelError, UserError
from headscope.models import Model, ModelLike, using_model
from headscope.options import Loading
from headscope.runs.ablate.judgement import Judgement
from headscope.runs.ablate.objectives import (
    CustomObjective,
    LanguageModelObjective,
    Objective,
    OutputFunction,
    TaskObjective,
)
from headscope.runs.tune.classifier import load_classifier

NO_TASK = {
    "hint": "give task and data for a classifier, or choose a masked or causal language model",
    "command": "give --task and --data for a tuned classifier, or choose a masked or causal "
    "language model",
}


@dataclass(frozen=True)
class AblationInputs:
    """What an ablation needs: a model, examples, and what the model is judged by."""

    model: Model
    corpus: Corpus
    objective: Objective


@contextmanager
def ablation_inputs(
    model: ModelLike, judgement: Judgement, *, seed: int, **options: Any
) -> Iterator[AblationInputs]:
    """Read and load what an ablation needs; a network that was wrapped is put back at the end.

    Parameters
    ----------
    model
        See :func:`headscope.models.as_model`.
    judgement
        What the model is judged by.
    seed
        Draws weights that a checkpoint lacks, and the pieces that are masked.
    options
        How a model is loaded by name; see :func:`headscope.load`.
    """
    task, corpus = judgement.read()
    with ExitStack() as stack:
        if task is not None:
            if isinstance(model, str | Path):
                loaded, _ = load_classifier(model, task, seed=seed, **options)
            else:
                loaded = stack.enter_context(using_model(model, Loading(**options)))
            objective: Objective = TaskObjective(loaded, task, judgement.metric)
        elif judgement.objective is not None:
            objective = as_objective(judgement.objective, judgement.metric)
            loaded = stack.enter_context(using_model(model, Loading(**options)))
        else:
            loaded = stack.enter_context(_language_model(model, options))
            objective = LanguageModelObjective(loaded, seed)
        yield AblationInputs(loaded, corpus, objective)


def as_objective(objective: Objective | OutputFunction, metric: str = "") -> Objective:
    """An objective, made of a function if necessary.

    Examples
    --------
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> as_objective(length).name
    'length'
    """
    if isinstance(objective, Objective):
        if metric and metric != objective.metric:
            raise UserError(
                f"the objective is scored by {objective.metric}, and the metric is {metric}",
                hint="leave the metric out",
            )
        return objective
    if not callable(objective):
        raise UserError(
            f"an objective must be an Objective or a function; got {type(objective).__name__}"
        )
    name = getattr(objective, "__name__", type(objective).__name__)
    return CustomObjective(name, objective, metric=metric or "mean")


@contextmanager
def _language_model(model: ModelLike, options: dict[str, Any]) -> Iterator[Model]:
    """A model with its language-model head. If it has none, the error says what else to give."""
    head: Literal["lm"] | None = "lm" if isinstance(model, str | Path) else None
    with ExitStack() as stack:
        try:
            loaded = stack.enter_context(using_model(model, Loading(**options), head=head))
        except ModelError as error:
            if "language-model head" not in error.message:
                raise
            raise ModelError(f"{error.message}; and no task was given", **NO_TASK) from None
        yield loaded
