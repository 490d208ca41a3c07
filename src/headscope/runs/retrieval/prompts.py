"""Prompts: a needle in a long text, a question about it, and where the answer's tokens are.

The haystack is made of the sentences of a corpus, in documents. A prompt is read into a cache of
keys and values, and an answer is written token by token.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Corpus
from headscope.encode import Batch
from headscope.encode.template import TemplatePart, ask_chat, check_chat, find_template, with_bos
from headscope.errors import CorpusError, ModelError, UserError
from headscope.models import LayerView, Model, Shape
from headscope.models.replace import FittedReplacement, StackedReplacement
from headscope.runs.live.text import end_tokens
from headscope.runs.preparing import check_predicts
from headscope.runs.retrieval import Asking

if TYPE_CHECKING:
    from headscope.runs.retrieval import Needle

ANSWER = 50
"""The most tokens that a model may write."""
LEAST = 16
"""The fewest tokens of other text around a needle."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
LONG = 40
"""What looks like a sentence of more words is cut: text without full stops has no sentences."""
PLENTY = 20
"""Documents are read until there are so many times as many tokens as the longest text needs."""
BUILT_IN = "demo"


class Sentence(NamedTuple):
    """A sentence, about how many tokens it takes, and whether it begins a document."""

    text: str
    tokens: int
    first: bool


def split_sentences(text: str) -> list[str]:
    """Split a text after full stops, question marks and exclamation marks.

    >>> split_sentences("It rains. Why?  Nobody knows.")
    ['It rains.', 'Why?', 'Nobody knows.']
    """
    pieces = []
    for sentence in SENTENCE_END.split(" ".join(text.split())):
        words = sentence.split()
        pieces += [" ".join(words[at : at + LONG]) for at in range(0, len(words), LONG)]
    return pieces


def documents(corpus: Corpus) -> Iterator[list[str]]:
    """The texts of each document."""
    held: list[str] = []
    group = ""
    for example in corpus:
        if held and not (example.group and example.group == group):
            yield held
            held = []
        held += map(_plain if example.words else str, example.texts)
        group = example.group
    if held:
        yield held


def _plain(text: str) -> str:
    """Words that were joined by spaces, with punctuation at the word that it belongs to."""
    return re.sub(r"([(\[]) ", r"\1", re.sub(r" ([.,;:!?)\]]|n't|'\w+)(?=\s|$)", r"\1", text))


class Place(NamedTuple):
    """Where a needle is hidden: its number, the length of the text, and the depth in it."""

    needle: int
    length: int
    depth: float


Span = tuple[int, int]
"""The first of some tokens, and the one after their last."""


class Prompt(NamedTuple):
    """The tokens of a prompt, (token,), and which belong to answer, needle and question."""

    place: Place
    ids: NDArray[np.int64]
    span: Span
    needle: Span
    question: Span


class Prompts:
    """Makes the prompts of a run, the same ones every time.

    Parameters
    ----------
    model
        The model that reads them.
    corpus
        The text around the needles.
    options
        Needles, lengths, depths and seed.

    Attributes
    ----------
    lengths : tuple of int
        The lengths, none beyond what the model takes with room for an answer.
    chat : bool
        Whether prompts are the user's turn of a chat.
    places : list of Place
        What is asked, in the order of the run.

    Raises
    ------
    UserError
        If a length leaves no room for text around a needle and its question.
    CorpusError
        If there is too little text.
    """

    def __init__(self, model: Model, corpus: Corpus, options: Asking) -> None:
        self.model, self.options, self.tokenizer = model, options, model.tokenizer
        has_template = bool(getattr(self.tokenizer, "chat_template", None))
        self.chat = has_template if options.chat is None else options.chat
        if self.chat:
            check_chat(self.tokenizer)
        most = None if model.longest is None else max(model.longest - ANSWER, 1)
        capped = [min(one, most or one) for one in options.lengths]
        self.lengths = tuple(sorted(set(capped)))
        self.notes = []
        if list(self.lengths) != sorted(set(options.lengths)):
            self.notes.append(
                f"contexts were shortened to {most} tokens: {model.label} takes {model.longest}, "
                f"and {ANSWER} are kept for the answer"
            )
        bare = [len(self._tokens(needle, [], [])[0]) for needle in options.hidden]
        self._check_room(max(bare))
        tokens = self._read(corpus, max(self.lengths) - min(bare))
        if tokens < max(self.lengths):
            self.notes.append(f"{corpus.name} has about {tokens:,} tokens and was repeated")

    def _read(self, corpus: Corpus, longest: int) -> int:
        """Read documents until there is plenty of text; how many tokens there are, about.

        A corpus must not be shorter than the longest text; only the built-in one is repeated.
        """
        self.name, total = corpus.name, 0
        self.documents: list[list[Sentence]] = []
        for texts in documents(corpus):
            pieces = [piece for text in texts for piece in split_sentences(text)]
            sentences = [
                Sentence(one, self.count(" " + one), not at) for at, one in enumerate(pieces)
            ]
            if sentences:
                self.documents.append(sentences)
                total += sum(sentence.tokens for sentence in sentences)
            if total >= PLENTY * longest:
                break
        if not self.documents or (total < longest and corpus.name != BUILT_IN):
            raise CorpusError(
                f"{corpus.name} has {total:,} tokens, and the longest context needs {longest:,} of "
                "text around the needle",
                hint="give more text"
                + ", or shorter contexts: lengths=[256]" * (max(self.lengths) > 256),
            )
        return total

    @cached_property
    def places(self) -> list[Place]:
        """One prompt per needle and length, depths in turn; or one for every depth."""
        depths = self.options.depths
        places = []
        for at, length in enumerate(self.lengths):
            for needle in range(len(self.options.hidden)):
                turn = (depths[(needle + at) % len(depths)],)
                every = depths if self.options.every_depth else turn
                places += [Place(needle, length, depth) for depth in every]
        return places

    def make(self, number: int, question: str = "") -> Prompt:
        """One prompt, by its number; or the same text with another question after it.

        Its text is drawn at random, and then cut, sentence by sentence, to the length.
        """
        place = self.places[number]
        needle = self.options.hidden[place.needle]
        bare = len(self._tokens(needle, [], [])[0])
        generator = np.random.default_rng([self.options.seed, number])
        chosen = self._fill(place.length - bare, generator)
        while chosen:
            before = _before(chosen, place.depth)
            parts = chosen[:before], chosen[before:]
            ids, *spans = self._tokens(needle, *parts)
            if len(ids) <= place.length:
                if question:
                    ids, *spans = self._tokens(replace(needle, question=question), *parts)
                return Prompt(place, ids, *spans)
            chosen = chosen[:-1]
        raise UserError(
            f"no sentence of {self.name} fits into a context of {place.length} tokens "
            f"beside a needle and its question, which take {bare}",
            hint=f"give longer contexts: lengths=[{2 * place.length}]",
        )

    def _fill(self, room: int, generator: np.random.Generator) -> list[Sentence]:
        """Sentences until the room is full. One that is too long for all of it is passed over."""
        chosen: list[Sentence] = []
        seen = sum(map(len, self.documents))
        for number, sentence in enumerate(self._sentences(generator)):
            if sentence.tokens <= room:
                chosen.append(sentence)
                room -= sentence.tokens
            elif chosen or number >= seen:
                break
        return chosen

    def _sentences(self, generator: np.random.Generator) -> Iterator[Sentence]:
        """Sentences without end: documents in random order, then all of them again, and so on."""
        while True:
            for place in generator.permutation(len(self.documents)):
                yield from self.documents[place]

    def _tokens(
        self, needle: Needle, before: list[Sentence], after: list[Sentence]
    ) -> tuple[NDArray[np.int64], Span, Span, Span]:
        """The tokens of a prompt, and the answer's, the needle's and the question's among them,
        found by characters.
        """
        start = joined(before)
        body = f"{start} {needle.text}" if start else needle.text
        place = len(body) - len(needle.text)
        rest = joined(after)
        gap = "\n\n" if after and after[0].first else " "
        body += f"{gap}{rest}" if rest else ""
        body += "\n\nQuestion: "
        asked = len(body)
        body += needle.question + ("" if self.chat else "\nAnswer:")
        if self.chat:
            body, moved = ask_chat(self.tokenizer, body)
            place, asked = place + moved, asked + moved
        coded = self.tokenizer(
            body, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        lead = self._lead(coded["input_ids"])
        spans = []
        texts = (needle.answer, needle.text, needle.question)
        for start_of, text in zip((place + needle.place, place, asked), texts, strict=True):
            inside = [
                len(lead) + at
                for at, (first, last) in enumerate(coded["offset_mapping"])
                if first < start_of + len(text) and last > start_of
            ]
            if not inside:
                raise ModelError(
                    f"the tokenizer of {self.model.name} makes no tokens of {text!r}",
                    hint="give needles in a language that the model knows: needles='FILE.jsonl'",
                )
            spans.append((inside[0], inside[-1] + 1))
        answer, passage, question = spans
        return np.array([*lead, *coded["input_ids"]], np.int64), answer, passage, question

    def _lead(self, ids: list[int]) -> list[int]:
        """The special tokens before some tokens; a chat template has written its own."""
        model = self.model
        template = (TemplatePart(None, 0, 0),) if self.chat else self._template
        parts = with_bos(template, model.bos, model.bos_token)
        lead = [part.token for part in takewhile(lambda one: one.token is not None, parts)]
        return [token for token in lead if token is not None and (not self.chat or token != ids[0])]

    @cached_property
    def _template(self) -> tuple[TemplatePart, ...]:
        return find_template(self.tokenizer).one

    def count(self, text: str) -> int:
        """How many tokens a text takes."""
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _check_room(self, bare: int) -> None:
        least = min(self.lengths)
        if least >= bare + LEAST:
            return
        longest = self.model.longest
        small = longest is not None and longest - ANSWER < bare + LEAST
        raise UserError(
            f"a needle and its question take up to {bare} tokens, and a context of {least} leaves "
            f"no room for {LEAST} tokens of other text"
            + (f"; {self.model.name} takes {longest}, with {ANSWER} for the answer" * small),
            hint="choose a model with a longer context"
            if small
            else f"give longer contexts: lengths=[{2 * bare}]",
        )


def joined(sentences: list[Sentence]) -> str:
    """Sentences as text, documents apart."""
    return "".join(("\n\n" if one.first else " ") + one.text for one in sentences).strip()


def _before(sentences: list[Sentence], depth: float) -> int:
    """How many sentences stand before the needle, so that it is nearest to a depth from 0 to 1."""
    ends = np.cumsum([0, *(sentence.tokens for sentence in sentences)])
    return int(np.abs(ends - depth * ends[-1]).argmin())


# --- answers ---

TOGETHER = 2**30
"""Answers are written several at once if their caches take at most so many bytes together."""


@dataclass
class Answer:
    """What a model wrote: the tokens, and the token that each head looked at most in each step.

    ``top_keys`` is (step, layer, head), as far as it was observed.
    """

    tokens: list[int] = field(default_factory=list)
    top_keys: list[NDArray[np.int64]] = field(default_factory=list)


class Rows:
    """Listens to some rows of attention of the first example.

    Layers with a sliding window cache only the last keys. The last key is always the last token
    that was read, so places are counted from there.
    """

    whole_maps = False

    def __init__(self, stack: str, shape: Shape, total: int = 0) -> None:
        self.stack, self.shape = stack, shape
        self.total = total
        """How many tokens there are, with the last one that is read."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in rows of each head, (head, row, key)."""
        if view.stack != self.stack:
            return
        rows = block[0].float()
        if not bool(torch.isfinite(rows).all()):
            raise ModelError(
                "the attention of the model is not finite on this text",
                hint="load the model in float32: dtype='float32'",
            )
        self.note(self.shape.place(view.layer), rows, self.total - rows.shape[-1])

    def note(self, layer: int, rows: Tensor, first_key: int) -> None:
        """Keep what is wanted of these rows, whose first key is the token of that number."""
        raise NotImplementedError

    def end(self, view: LayerView) -> None:
        """Nothing is needed of a whole layer."""


class TopKeys(Rows):
    """Which key has the largest weight in the last row of each head."""

    def __init__(self, stack: str, shape: Shape) -> None:
        super().__init__(stack, shape)
        self.places = np.zeros((shape.layers, shape.heads), np.int64)

    def note(self, layer: int, rows: Tensor, first_key: int) -> None:
        """Note the largest weight of each head."""
        self.places[layer] = rows[:, -1].argmax(-1).cpu().numpy() + first_key


class AttentionTo(Rows):
    """How much attention rows pay to some tokens together, summed over the rows, (layer, head)."""

    def __init__(self, stack: str, shape: Shape, total: int, span: Span) -> None:
        super().__init__(stack, shape, total)
        self.span, self.sums = span, np.zeros((shape.layers, shape.heads))

    def note(self, layer: int, rows: Tensor, first_key: int) -> None:
        """Add these rows."""
        first, last = (max(place - first_key, 0) for place in self.span)
        self.sums[layer] += rows[:, :, first:last].double().sum((1, 2)).cpu().numpy()


class Decoder:
    """Answers prompts greedily, with a cache.

    Parameters
    ----------
    model
        A causal language model with its head.
    why
        Why it must be one, for the end of a message.

    Raises
    ------
    ModelError
        If the model is an encoder or an encoder-decoder, has no language-model head, or keeps no
        cache.
    """

    def __init__(self, model: Model, why: str = Asking.why) -> None:
        check_predicts(model, why)
        accepted = inspect.signature(model.network.forward).parameters
        if "past_key_values" not in accepted:
            raise ModelError(
                f"{model.name} keeps no cache of keys and values, with which answers are written",
                hint="choose a model of another architecture",
            )
        self.model, self.stack = model, model.main_stack()
        self.shape = model.shape(self.stack)
        self.ends = end_tokens(model)
        self._last: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}

    def read(self, ids: NDArray[np.int64], replacement: StackedReplacement | None = None) -> Any:
        """Read all tokens but the last, which the first step reads; return the cache.

        No attention map is looked at, and none is held whole.
        """
        rows = 1 if replacement is None else len(replacement.parts)
        read = np.tile(ids[:-1], (rows, 1))
        return self._pass(read, len(ids) - 1, replacement=replacement).past_key_values

    def together(self, length: int) -> int:
        """How many answers to a prompt of so many tokens are written at once."""
        return max(TOGETHER // (self._bytes_per_token * length), 1)

    @cached_property
    def _bytes_per_token(self) -> int:
        layers = self._pass(np.zeros((1, 1), np.int64), 1).past_key_values.layers
        # The states of recurrent layers in hybrid models cannot be repeated.
        if not all(hasattr(layer, "batch_repeat_interleave") for layer in layers):
            return TOGETHER
        parts = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
        sizes = [part.numel() * part.element_size() for part in parts if isinstance(part, Tensor)]
        return max(sum(sizes), 1)

    def write_cut(self, ids: NDArray[np.int64], offs: Sequence[FittedReplacement]) -> list[Answer]:
        """Read and write an answer with each replacement from the first token on, all at once."""
        cut = StackedReplacement(tuple(offs))
        return self._steps(self.read(ids, cut), ids, len(offs), cut)

    def attention_to_needle(self, prompt: Prompt) -> NDArray[np.float64]:
        """The attention that tokens of the question pay to the needle, (layer, head): the sum over
        the needle, averaged over the question.
        """
        start, stop = prompt.question
        found = AttentionTo(self.stack, self.shape, stop, prompt.needle)
        cache = self.read(prompt.ids[: start + 1])
        self._pass(prompt.ids[None, start:stop], stop, cache=cache, listener=found)
        return found.sums / (stop - start)

    def write(self, cache: Any, ids: NDArray[np.int64]) -> Answer:
        """Write an answer with all heads on, and note where each head looks. Uses up the cache."""
        top_keys = TopKeys(self.stack, self.shape)
        [answer] = self._steps(cache, ids, 1, None, top_keys)
        return answer

    def write_each(
        self, cache: Any, ids: NDArray[np.int64], offs: Sequence[FittedReplacement]
    ) -> list[Answer]:
        """Write an answer with each replacement of heads, several at once. Keeps the cache."""
        found: list[Answer] = []
        most = self.together(len(ids))
        for start in range(0, len(offs), most):
            group = tuple(offs[start : start + most])
            copied = copy.deepcopy(cache)
            if len(group) > 1:
                copied.batch_repeat_interleave(len(group))
            found += self._steps(copied, ids, len(group), StackedReplacement(group))
        return found

    def text(self, answer: Answer) -> str:
        """What was written, as text."""
        return str(self.model.tokenizer.decode(answer.tokens, skip_special_tokens=True)).strip()

    def _steps(
        self,
        cache: Any,
        ids: NDArray[np.int64],
        rows: int,
        replacement: StackedReplacement | None,
        top_keys: TopKeys | None = None,
    ) -> list[Answer]:
        """Write until all rows have ended; those that have are not computed any more."""
        answers = [Answer() for _ in range(rows)]
        open_rows = np.arange(rows)
        current = np.full((rows, 1), ids[-1], np.int64)
        for step in range(ANSWER):
            total = len(ids) + step
            if top_keys is not None:
                top_keys.total = total
            output = self._pass(
                current, total, cache=cache, replacement=replacement, listener=top_keys
            )
            cache = output.past_key_values
            current = output.logits[:, -1:].argmax(-1).cpu().numpy()
            for row, token in zip(open_rows, current[:, 0], strict=True):
                answers[row].tokens.append(int(token))
                if top_keys is not None:
                    answers[row].top_keys.append(top_keys.places.copy())
            going = [at for at, token in enumerate(current[:, 0]) if not self._is_end(int(token))]
            if not going:
                break
            if len(going) < len(open_rows):
                cache.batch_select_indices(torch.tensor(going))
                open_rows, current = open_rows[going], current[going]
                if replacement is not None:
                    replacement = StackedReplacement(tuple(replacement.parts[at] for at in going))
        return answers

    def _pass(
        self,
        ids: NDArray[np.int64],
        total: int,
        *,
        cache: Any = None,
        replacement: StackedReplacement | None = None,
        listener: Rows | None = None,
    ) -> Any:
        """Read some tokens after those in the cache; ``total`` counts both."""
        mask = np.ones((len(ids), total), np.bool_)
        before = {} if cache is None else {"past_key_values": cache}
        with torch.inference_mode():
            return self.model.forward(
                Batch(0, (), ids, np.zeros_like(ids), mask),
                listeners=[] if listener is None else [listener],
                replacement=replacement,
                use_cache=True,
                **before,
                **self._last,
            )

    def _is_end(self, token: int) -> bool:
        return token in self.ends or "\n" in str(self.model.tokenizer.decode([token]))
