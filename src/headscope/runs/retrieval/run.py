"""Retrieval scores of all heads, and the check that answers are lost without the top ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headscope.corpus import Corpus, CorpusLike, read
from headscope.models import Model, ModelLike, Replacement, using_model
from headscope.models.weights import base_digests
from headscope.progress import ProgressLike, Update
from headscope.results import Atlas
from headscope.results.circuits import RETRIEVAL
from headscope.runs.retrieval.datasets import masking_dataset, score_dataset
from headscope.runs.retrieval.decoding import Decoder
from headscope.runs.retrieval.masking import choose_heads, half_of, head_counts, variants_of
from headscope.runs.retrieval.needles import NeedlesLike, choose_needles
from headscope.runs.retrieval.prompts import ANSWER, Prompts
from headscope.runs.retrieval.scores import RECOVERED, retrieval_scores, unigram_recall
from headscope.runs.retrieval.settings import DEPTHS, LENGTHS, RetrievalSettings
from headscope.runs.run import EVERY, Arrays, Block, Run, describe

MASKING = "retrieval_masking"
"""The group with answers while heads are disabled."""


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
        Also disable the top heads, and as many random ones, and see how much of the answers is
        left.
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
          the top ones, random ones; ``difference`` is that between the two.

        The scores are NaN if no answer was recovered; the provenance has ``notes``.

    Raises
    ------
    UserError
        If a context has no room for a needle and its question, or an option has no sense.
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
    with using_model(model, head="lm", device=device) as found:
        run = RetrievalRun(
            found, read(text), settings, output=output, checkpoint=checkpoint, every=every
        )
        return run.execute(progress)


class RetrievalRun(Run):
    """A resumable run of retrieval. Its blocks are prompts: once to score heads, once to check.

    Parameters
    ----------
    model
        A causal language model with its head.
    corpus
        The text around the needles.
    settings
        Needles, lengths, depths, and what the check disables.
    output, checkpoint, every
        See :class:`headscope.runs.run.Run`.
    """

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        settings: RetrievalSettings,
        *,
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
    ) -> None:
        super().__init__("retrieval", output=output, checkpoint=checkpoint, every=every)
        self.model, self.corpus, self.settings = model, corpus, settings
        self.decoder = Decoder(model)
        self.shape = self.decoder.shape
        heads = self.shape.layers * self.shape.heads
        self.counts = head_counts(settings.masked, heads)
        self.variants = variants_of(self.counts, settings.draws)
        self.prompts = Prompts(model, corpus, settings)
        places = self.prompts.places
        self.needles = np.array([place.needle for place in places], np.int64)
        self.scores = np.zeros((len(places), self.shape.layers, self.shape.heads), np.float32)
        self.recall = np.full(len(places), np.nan)
        self.tokens = np.zeros(len(places), np.int64)
        self.masked = np.full((len(places), len(self.variants)), np.nan)
        self.written = [""] * len(places)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, text and settings."""
        corpus = self.corpus
        return {
            "kind": RETRIEVAL,
            "model": describe(self.model, self.decoder.stack)
            | {"same_weights": base_digests(self.model)},
            "corpus": {"name": corpus.name, "format": corpus.format, "sha256": corpus.checksum},
            "settings": self.settings.about()
            | {"lengths": list(self.prompts.lengths), "chat": self.prompts.chat, "answer": ANSWER},
        }

    def blocks(self) -> Iterator[Block]:
        """Every prompt, then every prompt again with heads disabled."""
        count = len(self.prompts.places)
        for number in range(count * (2 if self.counts else 1)):
            yield Block(number, (number % count, number >= count))

    def progress(self) -> tuple[int, int]:
        """Prompts that were answered, with all heads and with some disabled."""
        return self.next_block, len(self.prompts.places) * (2 if self.counts else 1)

    def do(self, block: Block, update: Update) -> None:
        """Answer one prompt."""
        number, disabled = block.work
        if disabled:
            self._mask(number)
            return
        prompt = self.prompts.make(number)
        answer = self.decoder.write(self.decoder.read(prompt.ids), prompt.ids)
        text = self.decoder.text(answer)
        scores = retrieval_scores(
            np.stack(answer.top_keys), np.array(answer.tokens), prompt.ids, prompt.span
        )
        self.whole = False
        needle = self.settings.needles[prompt.place.needle]
        self.scores[number], self.tokens[number] = scores, len(prompt.ids)
        self.recall[number] = unigram_recall(needle.answer, text)
        self.written[number] = text

    def _mask(self, number: int) -> None:
        """Answer one prompt again with each set of heads disabled, if it was recovered."""
        heads = self.disabled[half_of(int(self.needles[number]))]
        if heads is None or not self.recovered[number]:
            return
        stack, way = self.decoder.stack, self.settings.way
        offs = [Replacement(one, way=way, stack=stack).fit(self.model) for one in heads]
        prompt = self.prompts.make(number)
        answers = self.decoder.write_each(self.decoder.read(prompt.ids), prompt.ids, offs)
        needle = self.settings.needles[prompt.place.needle]
        texts = map(self.decoder.text, answers)
        self.masked[number] = [unigram_recall(needle.answer, text) for text in texts]

    @property
    def recovered(self) -> Any:
        """Whether each answer was recovered, (prompt,)."""
        return self.recall > RECOVERED

    @cached_property
    def disabled(self) -> list[Any]:
        """What is disabled for each half of the needles; used when all prompts are scored."""
        return [
            choose_heads(
                self.scores,
                self.needles,
                self.recovered,
                half,
                shape=self.shape,
                counts=self.counts,
                draws=self.settings.draws,
                seed=self.settings.seed,
            )
            for half in range(2)
        ]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Scores and answers so far."""
        names = ("scores", "recall", "tokens", "masked")
        return {"written": self.written}, {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up scores and answers."""
        self.written = list(state["written"])
        for name, array in arrays.items():
            setattr(self, name, array.copy())

    def result(self) -> Atlas:
        """Scores over recovered answers, and the check."""
        groups = {
            RETRIEVAL: score_dataset(
                self.scores,
                self.recall,
                self.tokens,
                self.written,
                self.prompts.places,
                self.shape,
            )
        }
        used = ~np.isnan(self.masked[:, 0])
        if self.counts and used.any():
            groups[MASKING] = masking_dataset(self.masked, used, self.needles, self.variants)
        return Atlas.build(groups, self.provenance() | {"notes": self._notes(used)})

    def _notes(self, used: Any) -> list[str]:
        notes = [
            note  # a chat template begins a text as it should
            for note in self.model.notes
            if not (self.prompts.chat and "beginning-of-sequence" in note)
        ]
        notes += self.prompts.notes
        recovered = int(self.recovered.sum())
        if not recovered:
            notes.append("no answer was recovered, so that no head has a score")
        if self.settings.masked == () or not recovered:
            return notes
        if not self.counts:
            notes.append("no heads were disabled: the model has too few heads to draw others")
        elif int(used.sum()) < recovered:
            notes.append(
                f"heads were disabled for {int(used.sum())} of {recovered} recovered answers: "
                "those of one half of the needles choose the heads for the other half"
            )
        return notes
