"""The options that the recipes of all papers share; those of each paper stand in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.corpus import Corpus
from headscope.errors import UserError
from headscope.models.names import check_loading
from headscope.options import AnyPath, FolderRun, Loading, Option, Options
from headscope.papers.catalogue import Paper, Part

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
else:  # checked where it is loaded
    ModelLike = Any

FOR_TRAINING = ("device", "revision", "allow_pickle", "trust_remote_code")
"""The options of loading that fine-tuning has, too."""
OF_ONE_MODEL = ("adapter", "revision")
"""The options of loading that belong to the recipe's model, and to no other."""


class RecipeOptions(FolderRun):
    """What all recipes share.

    Atlas files that are already in the folder are reused, and an interrupted run resumes. A part
    that cannot run says why, and the others run.

    Parameters
    ----------
    parts
        Run only this part. Default: all parts.
    output
        The folder for the page, the figures and the results. Default: the recipe's name and the
        model's, here.
    """

    paper: ClassVar[Paper]

    parts: Annotated[Sequence[str], Option(flag="--part", metavar="NAME")] = ()
    output: Annotated[AnyPath | None, Option(short="-o", metavar="FOLDER")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.chosen

    @cached_property
    def chosen(self) -> tuple[Part, ...]:
        """The parts to run."""
        return self.paper.choose(self.parts, given=self.given)

    @property
    def given(self) -> frozenset[str]:
        """The optional inputs that are there (see ``catalogue.INPUTS``)."""
        return frozenset()

    def at_most(self, most: int) -> int:
        """The limit, if it is below what the paper uses."""
        return min(self.limit or most, most)

    @property
    def for_other_models(self) -> dict[str, Any]:
        """How models are loaded that the recipe makes or is given beside its own."""
        return {
            name: value for name, value in self.subset(Loading).items() if name not in OF_ONE_MODEL
        }

    @property
    def for_training(self) -> dict[str, Any]:
        """How a model is loaded that is to be fine-tuned."""
        return {name: getattr(self, name) for name in FOR_TRAINING}


class PaperOptions(RecipeOptions):
    """Options of the recipe of a paper.

    Parameters
    ----------
    model
        A hub id, a model folder, a .gguf file or an embedded model; in Python also a loaded model
        or a network with its tokenizer.
    """

    model: Annotated[ModelLike, Option(completes="models")] = field(default="demo", kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        several = self.model if isinstance(self.model, tuple) else (self.model,)
        for model in several:
            check_loading(model, self)


class Sampled(Options):
    """Which examples are used.

    Parameters
    ----------
    sample
        Which examples are used of a corpus that has more than are wanted: random ones, drawn with
        the seed, or the first ones.
    """

    sample: Literal["random", "first"] = "random"

    def drawn(self, corpus: Corpus, most: int | None) -> Corpus:
        """At most so many examples of a corpus, drawn at random or the first ones."""
        seed: int = getattr(self, "seed", 0)
        return corpus.sample(most, seed=seed) if self.sample == "random" else corpus.first(most)


class Training(Options):
    """How models are fine-tuned.

    Parameters
    ----------
    data
        The files of GLUE tasks, such as FOLDER/RTE/train.tsv (.gz too), or hub to download them.
    epochs
        Passes over the training examples.
    learning_rate
        The highest learning rate, reached after warm-up.
    """

    panel: ClassVar[str] = "Fine-tuning"

    data: Annotated[AnyPath, Option(metavar="FOLDER")] = "hub"
    epochs: Annotated[int, Option(least=1, name="number of epochs")] = 3
    learning_rate: float = 5e-5

    def check_training(self, loading: Loading, *, trains: bool) -> None:
        """Check what cannot be checked of one option alone.

        Raises
        ------
        UserError
            If the learning rate is none, or a model that is to be trained is loaded in a way that
            training cannot start from.
        """
        if not 0 < self.learning_rate < 1:
            raise UserError(
                f"the learning rate must be between 0 and 1, got {self.learning_rate} instead"
            )
        unfit = [name for name in ("adapter", "quantization") if getattr(loading, name)]
        if unfit and trains:
            raise UserError(
                f"fine-tuning starts from whole weights: {unfit[0]}= cannot be combined with it",
                hint=f"leave {unfit[0]}= out, or the tasks",
            )
