"""Pruning: the least useful heads removed for good, and a folder that plain transformers loads.

Here are the options, the function, the rankings that a results file gives, and the record that is
kept beside the weights; nothing of it needs torch before the examples are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, cut, unknown
from headscope.files import check_folder, check_writable, sealed, show_size, unsealed, write_text
from headscope.models.names import check_loading
from headscope.numbers import percent
from headscope.options import AnyPath, ModelRun, Option, Options, Pass, Saving, takes
from headscope.results import Atlas
from headscope.runs.ablate import Judging
from headscope.stats.heads.query import values_by

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.models.shape import Shape

RANKINGS = ("importance", "ablation", "output_norm")
"""How heads can be ranked without a results file."""
RECORD = "headscope-prune.json"
"""The name of the record, beside the weights."""


class Removing(Options):
    """Which heads are removed.

    Parameters
    ----------
    share
        The share of all heads to remove, between 0 and 1. Where weights are cut out, only some
        shares can be reached; the next smaller one is taken.
    by
        What ranks heads; those with the lowest values go first. importance (gradient importance),
        ablation (what disabling a head costs), output_norm, or a results file, with a value:
        FILE.nc:position:previous. A minus before the value removes the highest first. Default of
        a file: its gradient importance, or else what disabling each head cost.
    tolerance
        Stop before the loss rises, or the score falls, by more than this.
    cut
        Cut weights out: as many groups of heads that share keys and values from every layer.
        Default: where the architecture and the share allow it; elsewhere heads' output weights are
        set to zero.
    steps
        In how many steps heads are removed.
    draws
        How many random choices of heads of the same layers are removed for comparison.
    """

    prefix: ClassVar[str] = "prune"
    panel: ClassVar[str] = "What is removed"

    share: float = 0.2
    by: Annotated[AnyPath, Option(metavar="RANKING|FILE:VALUE")] = "importance"
    tolerance: Annotated[float | None, Option(least=0, metavar="X")] = None
    cut: bool | None = None
    steps: Annotated[int, Option(least=1, name="number of steps")] = 5
    draws: Annotated[int, Option(least=1, rare=True, name="number of draws")] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share < 1:
            raise UserError(
                f"the share of heads to remove must be between 0 and 1, got {self.share:g} instead",
                hint="give e.g. share=0.2 for a fifth",
            )
        file, column = file_and_value(str(self.by))
        if not file and column not in RANKINGS:
            raise unknown("ranking of heads", column, [*RANKINGS, "FILE.nc:VALUE"])


class PruneOptions(Removing, Judging, ModelRun, Pass, Saving):
    """Options of :func:`prune`.

    Parameters
    ----------
    output
        The folder that gets the model. If it already holds this very run, its record is read
        instead.
    overwrite
        Write into a folder that is not empty; replace another pruned model.
    seed
        The seed of random choices, the bootstrap, the masked pieces, and of weights that a
        checkpoint lacks.
    """

    into_folder: ClassVar[bool] = True

    output: Annotated[AnyPath, Option(short="-o", metavar="FOLDER")] = Path("pruned")
    overwrite: bool = False
    seed: int = 0


@takes(PruneOptions)
def prune(model: ModelLike, options: PruneOptions) -> Pruned:
    """Remove the least useful heads of a model, and save what is left as an ordinary checkpoint.

    Heads are removed step by step. After each step the model is judged as by
    :func:`headscope.ablate`, beside random choices of as many heads of the same layers. Unless a
    results file ranks heads, a random half of the documents ranks them and the others judge.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`headscope.Model`, or a network with its
        tokenizer. What is already loaded stays unchanged.

    Returns
    -------
    Pruned
        The folder, the removed heads, and the loss or score after each step.

    Raises
    ------
    UserError
        If the options do not fit together or do not fit the model, if the folder is not empty, or
        if the first step already costs more than the tolerance.
    ModelError
        If heads cannot be removed from this architecture.
    Interrupted
        If the run was stopped; what was done is kept.

    See Also
    --------
    headscope.ablate : the score with each head disabled.

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> with TemporaryDirectory() as folder:
    ...     pruned = prune(
    ...         "demo", share=0.25, corpus=["The dog barks.", "A cat sleeps."], objective=length,
    ...         output=f"{folder}/pruned",
    ...     )
    >>> len(pruned.heads), pruned.cut
    (18, False)
    """
    check_loading(model, options)
    check_writable(Path(f"{options.output}.partial"))  # the folder is made at the end
    check_folder(Path(options.output))
    ranking = read_ranking(str(options.by))
    task, corpus = options.read(model)
    with options.reporter.status("loading libraries"):
        from headscope.runs.ablate.removing import PruneRun
        from headscope.runs.ablate.run import judged
    with judged(model, task, options) as (used, objective):
        for note in used.notes:
            options.reporter.say(f"warning: {note}")
        return PruneRun(used, corpus, objective, ranking, options).execute()


# --- rankings ---


def read_ranking(by: str) -> xr.DataArray | None:
    """How useful heads are, (layer, head), by a results file; None if that is to be computed."""
    file, value = file_and_value(by)
    if not file:
        return None
    atlas = Atlas.open(file)
    value = value or next((name for name in ("importance", "head_off") if name in atlas), "")
    if not value:
        raise ResultsError(
            f"{file} has neither gradient importance nor heads that were disabled, so it does not "
            "rank heads",
            hint=f"name a value: by='{file}:output_norm'",
            command=f"name a value: --by {file}:output_norm",
        )
    sign = -1.0 if value.startswith("-") else 1.0
    if value.removeprefix("-") == "head_off":  # of no use is a head without which scores are better
        data = atlas["head_off"]
        sign *= -1.0 if data.attrs["better"] == "higher" else 1.0
        values = data["difference"].transpose("layer", "head").values
    else:
        values = values_by(atlas, value.removeprefix("-"))
    if not np.isfinite(values).all():
        raise ResultsError(
            f"{value} is not defined for every head in {file}", hint="rank by another value"
        )
    labels = {"layer": list(atlas.layers), "head": list(range(1, values.shape[1] + 1))}
    used = [needle["text"] for needle in atlas.provenance.get("needles", ())]
    name, about = f"{value} in {Path(file).name}", {"value": value, "needles": used}
    return xr.DataArray(sign * values, labels, ("layer", "head"), name, about)


def check_ranking(ranking: xr.DataArray, model: str, shape: Shape) -> None:
    """Refuse a ranking of a model of another shape."""
    grid = (shape.layers, shape.heads)
    if ranking.shape != grid or tuple(ranking["layer"].values) != shape.labels:
        raise UserError(
            f"{ranking.name} is of {ranking.shape[0]} layers with {ranking.shape[1]} heads each, "
            f"and {model} has {grid[0]} with {grid[1]}",
            hint="rank by results of the same model",
        )


def file_and_value(by: str) -> tuple[str, str]:
    """The results file that ranks heads, and the value in it; no file if it is to be computed.

    >>> file_and_value("a.nc:position:previous"), file_and_value("importance")
    (('a.nc', 'position:previous'), ('', 'importance'))
    """
    file, ending, value = by.partition(".nc")
    return (file + ending, value.removeprefix(":")) if ending else ("", by)


# --- the record of a pruned model ---


@dataclass(frozen=True)
class Pruned:
    """A pruned model: where it is, which heads are gone, and what that cost.

    Attributes
    ----------
    folder
        The checkpoint, which transformers and every function that takes a model read.
    auto
        The class of transformers that loads it, such as AutoModelForCausalLM.
    model
        The name of the model that was pruned.
    by
        What ranked the heads.
    heads
        The removed heads, from 1.
    of
        How many heads the model had.
    cut
        Whether weights were cut out; otherwise they were set to zero, and the file is not smaller.
    shares
        The shares of heads that can be cut out of this architecture.
    stopped
        Whether the tolerance ended the removal before the share was reached.
    metric
        What the model was judged by.
    curve
        One entry per step, the first with all heads: ``removed`` heads, the score with its interval
        (``mean``, ``low``, ``high``), its ``difference`` with interval, and ``random``, the mean
        score of random choices, with the lowest and the highest.
    documents
        How many documents (examples that belong to none count one by one) were scored.
    parameters
        The number of parameters, ``before`` and ``after``.
    sizes
        The bytes of the weights on disk, ``before`` in the same precision, and ``after``.
    speed
        How many times as fast a forward pass is; None where weights were set to zero.
    error
        The largest difference between the outputs of what was loaded from the folder and those of
        the model with the same heads masked, relative to the largest output.
    about
        The provenance.
    again
        Whether the folder was already finished, and nothing was computed.
    """

    folder: Path
    auto: str
    model: str
    by: str
    heads: list[str]
    of: int
    cut: bool
    shares: list[float]
    stopped: bool
    metric: str
    curve: list[dict[str, float]]
    documents: int
    parameters: dict[str, int]
    sizes: dict[str, int]
    speed: float | None
    error: float
    about: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    again: bool = field(default=False, compare=False)

    @property
    def share(self) -> float:
        """The share of heads that is gone."""
        return len(self.heads) / self.of

    @property
    def last(self) -> dict[str, float]:
        """The step whose model was saved."""
        return next(step for step in self.curve if step["removed"] == len(self.heads))

    @property
    def table(self) -> pd.DataFrame:
        """The curve, one row per step."""
        table = pd.DataFrame(self.curve)
        saved = np.where(table["removed"] == len(self.heads), "saved", "")
        return table.assign(share=table["removed"] / self.of, metric=self.metric, model=saved)

    @property
    def sentence(self) -> str:
        """What was done and what it cost, in words."""
        start, last = self.curve[0], self.last
        verb = "the same folder again: " if self.again else ""
        said = (
            f"{verb}{len(self.heads)} of {self.of} heads removed ({percent(self.share)} %), "
            f"by {self.by}: "
            f"{self.metric} {start['mean']:.4f} → {last['mean']:.4f} "
            f"[{last['low']:.4f}, {last['high']:.4f}]; random heads of the same layers: "
            f"{last['random']:.4f} ({last['random_low']:.4f} to {last['random_high']:.4f})"
        )
        if self.stopped:
            said += "; the next step would cost more than the tolerance"
        if not self.cut:
            return f"{said}. Output weights of the heads are zero; the file is not smaller"
        before, after = self.parameters["before"], self.parameters["after"]
        return (
            f"{said}. {before:,} → {after:,} parameters (-{percent(1 - after / before)} %), "
            f"{show_size(self.sizes['before'])} → "
            f"{show_size(self.sizes['after'])}; a forward pass is {self.speed:.2f} times as fast"
        )

    def write(self) -> None:
        """Write the record to the folder, last of all: a folder with a record is finished."""
        about = asdict(self)
        del about["folder"], about["again"]
        text = json.dumps(sealed(about), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(self.folder / RECORD, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> Pruned:
        """Read the record of a folder.

        Raises
        ------
        ResultsError
            If it cannot be read.
        """
        try:
            about: Mapping[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            return cls(folder=folder, **unsealed(about))
        except (OSError, ValueError, TypeError) as error:
            raise ResultsError(
                f"{folder / RECORD} cannot be read: {cut(str(error), 300)}",
                hint="delete the folder and prune again",
            ) from None
