"""Checkpoints of one training, surveyed one after the other: options and function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from headscope.corpus import CorpusLike
from headscope.models.checkpoints import check_configs, find_checkpoints
from headscope.options import Option, Workers, takes
from headscope.runs.preparing import read_for
from headscope.runs.survey import Measuring

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas


@dataclass(frozen=True, kw_only=True)
class TrackOptions(Measuring, Workers):
    """Options of :func:`track`.

    Parameters
    ----------
    revisions
        Branches, tags or commits of one hub model, in their order.
    """

    revisions: Annotated[Sequence[str], Option(separator=",", metavar="A,B,...")] = ()


@takes(TrackOptions)
def track(
    models: ModelLike | Sequence[ModelLike], corpus: CorpusLike, options: TrackOptions
) -> Atlas:
    """Survey the checkpoints of a training, to see when heads get their roles.

    The checkpoints are surveyed one after the other, so that one model is in memory at a time. A
    run that was stopped resumes: finished checkpoints are kept in the folder ``OUTPUT.parts`` until
    all are done. Examples are kept of the last checkpoint.

    Parameters
    ----------
    models
        The checkpoints, in their order: folders, hub ids, models, or pairs of a network and its
        tokenizer. Or one folder that holds a folder for each checkpoint, as a Trainer writes them
        (``checkpoint-500``, …). Or one hub id, with ``revisions``.
    corpus
        As in :func:`headscope.survey`.

    Returns
    -------
    Atlas
        The survey of the last checkpoint, and the values of all checkpoints beside it: see
        :attr:`headscope.Atlas.track`.

    Raises
    ------
    ModelError
        If a folder holds no model, a revision cannot be read, or checkpoints differ in shape.

    See Also
    --------
    headscope.stats.emergence : the first checkpoint from which on a head keeps a role.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> random = random_init(hs.load("demo"), seed=0)
    >>> atlas = hs.track([random, hs.load("demo")], texts, measures="position")
    >>> hs.stats.emergence(atlas, by="position:previous", threshold=0.5)["head"].tolist()
    ['1-3']
    """
    checkpoints = find_checkpoints(models, options.revisions)
    texts = read_for(corpus, options)
    check_configs(checkpoints, trust_remote_code=options.trust_remote_code)
    from headscope.runs.survey.several import track_run

    return track_run(checkpoints, texts, options).execute()
