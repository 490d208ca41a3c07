"""Find retrieval heads: the function that a user calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from headscope.corpus import CorpusLike, read
from headscope.errors import ModelError
from headscope.models import Model, ModelLike, as_model, using_model
from headscope.options import EVERY, Loading, Workers
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.runs.retrieval.decoding import not_a_decoder
from headscope.runs.retrieval.needles import NeedlesLike, choose_needles
from headscope.runs.retrieval.run import RetrievalRun
from headscope.runs.retrieval.settings import DEPTHS, LENGTHS, RetrievalSettings


def retrieval(
    model: ModelLike,
    text: CorpusLike = "demo",
    *,
    lengths: Sequence[int] = LENGTHS,
    depths: Sequence[float] = DEPTHS,
    every_depth: bool = False,
    needles: NeedlesLike = None,
    masking: bool = True,
    masked: Sequence[int] | None = None,
    draws: int = 3,
    way: Literal["zero", "uniform"] = "zero",
    chat: bool | None = None,
    seed: int = 0,
    device: str = "cpu",
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
    overwrite: bool = False,
    progress: ProgressLike = False,
) -> Atlas:
    """Find the heads that copy an answer out of a long text (Wu et al. 2024).

    An invented fact, the needle, is hidden in a long text, and a question about it is asked. While
    the model writes its answer, a head scores for each token of the answer to which it attends most
    in the very step in which the model writes that token.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``. It must be a causal language model.
    text
        The text around the needles: whatever :func:`headscope.read` takes. Default: the built-in
        corpus, which is repeated where a context is longer.
    lengths
        Tokens of the prompts, at most; shortened to what the model takes.
    depths
        Where in the text needles are hidden, from 0 (first) to 1 (last).
    every_depth
        Ask for each needle at every depth. The default takes the depths in turn, one per needle and
        length.
    needles
        How many of the 24 built-in needles, the path of a JSON-lines file, or a list of
        :class:`~headscope.Needle`. Default: all built-in ones.
    masking
        Also disable the top heads, and as many random ones of the same layers, and see how much
        of the answers is left.
    masked
        How many heads to disable at a time. Default: 5 and 10, or fewer in a small model.
    draws
        How many sets of random heads are drawn for each of these numbers.
    way
        How heads are disabled: ``"zero"`` (their output is 0) or ``"uniform"`` (they attend equally
        to every token).
    chat
        Whether the prompt is the user's turn of a chat. Default: if the tokenizer has a chat
        template.
    seed
        For the text around each needle, and for the random heads.
    device
        Where to run a model that is loaded by name.
    output
        Where to save the results. A run that was stopped resumes; if this file already holds the
        results, it is opened instead.
    checkpoint, every
        Where the state is kept meanwhile, and how often, in seconds. Default: beside the output.
    overwrite
        As in :func:`headscope.survey`.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Atlas
        With the groups

        - ``retrieval``: the score of every head, from 0 to 1, on average over the prompts whose
          answer was recovered, with an interval over needles. ``score`` has the scores on single
          prompts, with their ``needle``, ``length``, ``depth``, ``recall`` and what was
          ``written``;
        - ``retrieval_masking``: the recall of the recovered answers with heads ``disabled``: none,
          the top ones, random ones of the same layers; ``difference`` is that between the two.

        The scores are NaN if no answer was recovered. The provenance has the ``needles``, the
        heads that were disabled (``masking``) and ``notes``.

    Raises
    ------
    UserError
        If a context has no room for a needle and its question, or an option is not allowed.
    ModelError
        If the model is no decoder, or has no language-model head.
    CorpusError
        If there is too little text.

    See Also
    --------
    headscope.stats.retrieval : Tables of heads, of answers and of the check.

    References
    ----------
    Wu et al. (2024), Retrieval Head Mechanistically Explains Long-Context Factuality.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.retrieval("demo-llm", lengths=[256], needles=4)  # doctest: +SKIP
    >>> atlas.heads(by="retrieval", top=1)["head"].tolist()  # doctest: +SKIP
    ['19-7']
    """
    settings = RetrievalSettings(
        lengths=lengths,
        depths=depths,
        every_depth=every_depth,
        needles=choose_needles(needles),
        chat=chat,
        masked=masked if masking else (),
        draws=draws,
        way=way,
        seed=seed,
    )
    with loading(model, device=device) as found:
        keeping = Workers(
            output=output,
            checkpoint=checkpoint,
            every=every,
            overwrite=overwrite,
            progress=progress,
        )
        return RetrievalRun(found, read(text), settings, keeping).execute()


@contextmanager
def loading(model: ModelLike, **options: Any) -> Iterator[Model]:
    """A model with its language-model head, closed at the end if it was loaded here.

    Parameters
    ----------
    model
        See :func:`retrieval`.
    **options
        Options of :func:`headscope.load`, for a model that is loaded by name.

    Raises
    ------
    ModelError
        If it cannot be loaded. An encoder without a head is refused as an encoder.
    """
    try:
        found = as_model(model, Loading(**options), head="lm")
    except ModelError as error:
        raise _explained(error, model, options) from None
    try:
        yield found
    finally:
        if found is not model:
            found.close()


def _explained(error: ModelError, model: ModelLike, options: dict[str, Any]) -> ModelError:
    """Why a model was not loaded with a language-model head: perhaps it is an encoder."""
    try:
        with using_model(model, Loading(**options)) as bare:
            return not_a_decoder(bare) or error
    except ModelError:
        return error
