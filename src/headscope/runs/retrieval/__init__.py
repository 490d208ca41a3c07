"""Retrieval heads: which heads copy an answer out of a long text.

Here are the needles (invented facts that are hidden in a long text, each with a question about it),
the options and the function.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.corpus import read
from headscope.errors import CorpusError, UserError
from headscope.limits import read_text
from headscope.models.names import check_loading
from headscope.options import PYTHON, ModelRun, Option, Options, Resuming, takes

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas
else:
    CorpusLike = Any  # checked where it is read

__all__ = ["Needle", "RetrievalOptions", "retrieval"]

FILE = Path(__file__).with_name("needles.jsonl")
"""The built-in needles: written for this project, about people and places that do not exist."""
FORM = (
    'write one needle per line: {"text": "The code is red owl.", "question": "What is the code?", '
    '"answer": "red owl"}'
)


@dataclass(frozen=True, slots=True)
class Needle:
    """A fact to hide in a long text, and a question about it.

    Parameters
    ----------
    text
        The sentence that is hidden.
    question
        What is asked after the long text.
    answer
        The words of the sentence that answer the question, exactly as they stand in it.

    Raises
    ------
    UserError
        If a part is empty, or the answer is not part of the sentence exactly once.

    Examples
    --------
    >>> Needle("The code is red owl.", "What is the code?", "red owl").place
    12
    """

    text: str
    question: str
    answer: str

    def __post_init__(self) -> None:
        for name in ("text", "question", "answer"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise UserError(
                    f"the {name} of a needle must be a text that is not empty, got {value!r} "
                    "instead"
                )
        if self.text.count(self.answer) != 1:
            raise UserError(
                f"the answer {self.answer!r} must be part of the needle {self.text!r} exactly once",
                hint="copy the answer from the needle, letter by letter",
            )

    @property
    def place(self) -> int:
        """Where the answer begins in the sentence, in characters."""
        return self.text.index(self.answer)


if TYPE_CHECKING:
    NeedlesLike = int | str | Path | Sequence[Needle] | None
else:  # checked where they are chosen
    NeedlesLike = Any


def read_needles(path: str | Path) -> tuple[Needle, ...]:
    """Read needles from a file of JSON lines with ``text``, ``question`` and ``answer``.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    CorpusError
        If it cannot be read, or a line is not a needle.

    Examples
    --------
    >>> read_needles(FILE)[0].answer
    'a jar of pickled walnuts and honey'
    """
    try:
        lines = read_text(Path(path), error=CorpusError, hint=FORM).splitlines()
    except OSError as error:
        raise CorpusError(
            f"needles cannot be read from {path}: {error.strerror}", hint=FORM
        ) from None
    needles = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            needles.append(Needle(row["text"], row["question"], row["answer"]))
        except (ValueError, KeyError, TypeError) as error:
            what = error.message if isinstance(error, UserError) else FORM
            raise CorpusError(f"{path}, line {number}: not a needle", hint=what) from None
    if not needles:
        raise CorpusError(f"{path} holds no needles", hint=FORM)
    return tuple(needles)


def choose_needles(needles: NeedlesLike = None) -> tuple[Needle, ...]:
    """The needles that a user asked for.

    Parameters
    ----------
    needles
        How many of the built-in ones (None: all), the path of a JSON-lines file, or needles.

    Raises
    ------
    UserError
        If there are not so many, or none are given.

    Examples
    --------
    >>> len(choose_needles()), len(choose_needles(5))
    (24, 5)
    """
    if isinstance(needles, str) and needles.isdecimal():  # typed
        needles = int(needles)
    if isinstance(needles, str | Path):
        return read_needles(needles)
    if needles is None or isinstance(needles, int):
        known = read_needles(FILE)
        count = len(known) if needles is None else needles
        if not 1 <= count <= len(known):
            raise UserError(
                f"the number of needles must be from 1 to {len(known)}, got {count} instead",
                hint="give your own in a file: needles='FILE.jsonl'",
            )
        return known[:count]
    given = tuple(needles)
    if not given or not all(isinstance(one, Needle) for one in given):
        raise UserError(
            "needles must be a number, a file, or a list of headscope.Needle",
            hint="make one with headscope.Needle(text, question, answer)",
        )
    return given


class Asking(Options):
    """Which needles are hidden where, and how they are asked for.

    Parameters
    ----------
    text
        The text around the needles: whatever :func:`headscope.read` takes. Default: the built-in
        corpus, which is repeated where a context is longer.
    lengths
        Tokens of the prompts, at most; shortened to what the model takes. Default: 512 and 1024.
    depths
        Where in the text needles are hidden, from 0 (first) to 1 (last). Default: 0.1, 0.3, 0.5,
        0.7 and 0.9.
    every_depth
        Ask for each needle at every depth. The default takes the depths in turn, one per needle and
        length.
    needles
        How many of the 24 built-in needles; a JSON-lines file of your own (text, question, answer);
        or, in Python, a list of headscope.Needle. Default: all built-in ones.
    draws
        How many random choices of as many heads are tried beside each other choice.
    chat
        Make the prompt the user's turn of a chat. Default: if the tokenizer has a chat template.
    seed
        Seed of the text around each needle, and of the random heads.
    """

    prefix: ClassVar[str] = "retrieval"
    why: ClassVar[str] = (
        ": retrieval heads copy an answer while a model writes it, and an encoder writes nothing"
    )
    """Why the model must be a decoder, for the end of a message."""

    text: Annotated[CorpusLike, PYTHON] = field(default="demo", kw_only=False)
    lengths: Annotated[
        Sequence[int], Option(flag="--length", least=1, name="length in tokens", metavar="N")
    ] = (512, 1024)
    depths: Annotated[
        Sequence[float], Option(flag="--depth", least=0, most=1, name="depth", metavar="X")
    ] = (0.1, 0.3, 0.5, 0.7, 0.9)
    every_depth: bool = False
    needles: Annotated[NeedlesLike, Option(metavar="N|FILE")] = None
    draws: Annotated[int, Option(least=1, name="number of draws")] = 3
    chat: bool | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, values in (("length", self.lengths), ("depth", self.depths)):
            if not values:
                raise UserError(f"at least one {what} must be given")
        object.__setattr__(self, "needles", choose_needles(self.needles))

    @property
    def hidden(self) -> tuple[Needle, ...]:
        """The needles themselves."""
        return self.needles  # type: ignore[return-value]  # chosen by now


class RetrievalOptions(Asking, ModelRun, Resuming):
    """Options of :func:`retrieval`.

    Parameters
    ----------
    masking
        Also disable the top heads, and as many random ones of the same layers, and see how much
        of the answers is left.
    masked
        How many heads to disable at a time. Default: 5 and 10, or fewer in a small model.
    way
        How heads are disabled: zero (their output is 0) or uniform (they attend equally to every
        token).
    """

    prefix: ClassVar[str] = "retrieval"

    masking: bool = True
    masked: Annotated[
        Sequence[int] | None, Option(least=1, name="number of disabled heads", metavar="N")
    ] = None
    way: Annotated[Literal["zero", "uniform"], Option(rare=True, name="way to disable a head")] = (
        "zero"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        masked = self.masked if self.masking else ()
        masked = None if masked is None else tuple(sorted(set(masked)))
        object.__setattr__(self, "masked", masked)

    def about(self) -> dict[str, Any]:
        """What the numbers depend on, as provenance keeps it; the needles only by their number."""
        names = ("lengths", "depths", "every_depth", "chat", "masked", "draws", "way", "seed")
        return {name: getattr(self, name) for name in names} | {"needles": len(self.hidden)}


@takes(RetrievalOptions)
def retrieval(model: ModelLike, options: RetrievalOptions) -> Atlas:
    """Find the heads that copy an answer out of a long text (Wu et al. 2024).

    An invented fact, the needle, is hidden in a long text, and a question about it is asked. While
    the model writes its answer, a head scores for each token of the answer to which it attends most
    in the very step in which the model writes that token.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``. It must be a causal language model.

    Returns
    -------
    Atlas
        With the groups

        - ``retrieval``: the score of every head, from 0 to 1, on average over the prompts whose
          answer was recovered, with an interval over needles. ``score`` has the scores on single
          prompts, with their ``needle``, ``length``, ``depth``, ``recall`` and what was
          ``written``;
        - ``query_focus``: how much attention the question's tokens pay to the needle's, on average
          over the question, minus the same for the question "N/A"; over all prompts, recovered or
          not (Zhang et al. 2025);
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
    headscope.stats.retrieval_answers : Tables of heads, of answers and of the check.

    References
    ----------
    Wu et al. (2024), Retrieval Head Mechanistically Explains Long-Context Factuality.

    Zhang et al. (2025), Query-Focused Retrieval Heads Improve Long-Context Reasoning and
    Re-ranking.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.retrieval("demo-llm", lengths=[256], needles=4)  # doctest: +SKIP
    >>> atlas.heads(by="retrieval", top=1)["head"].tolist()  # doctest: +SKIP
    ['19-7']
    """
    check_loading(model, options)
    corpus = read(options.text)
    with options.reporter.status("loading libraries and model"):
        from headscope.runs.retrieval.asking import RetrievalRun, language_model
    with language_model(model, options) as used:
        return RetrievalRun(used, corpus, options).execute()
