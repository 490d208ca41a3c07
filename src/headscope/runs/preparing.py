"""What every run does first: check what can be checked, read the corpus, load the model.

Whatever can be known to be wrong is an error before torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal

from headscope.corpus import Corpus, CorpusLike
from headscope.corpus.reading import open_corpus
from headscope.errors import ModelError, UserError
from headscope.options import CorpusRun, ModelRun, Pass

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.models.loading import ModelLike


@contextmanager
def opened(
    model: ModelLike, options: ModelRun, *, head: Literal["lm", "own"] | None = None
) -> Iterator[Model]:
    """A model that was checked, closed at the end if it was made here; notes on it are said.

    Parameters
    ----------
    model
        Whatever stands for one.
    options
        The options of the run.
    head
        See :func:`headscope.load`.
    """
    reporter = options.reporter
    with ExitStack() as stack:
        with reporter.status("loading libraries and model"):
            from headscope.models.loading import using_model

            used = stack.enter_context(using_model(model, options, head=head))
        for note in used.notes if used is not model else ():
            reporter.say(f"note: {note}")
        yield used


def drawn(corpus: Corpus, options: Pass) -> Corpus:
    """The examples that a pass uses: the first ones, a random sample, or all."""
    return corpus.first(options.limit).sample(options.sample, seed=options.seed)


def read_for(corpus: CorpusLike, options: CorpusRun) -> Corpus:
    """The corpus of a run; what was read is said."""
    texts = open_corpus(corpus, options)
    if options.reporter.visible:  # to count its examples, the whole corpus is read
        options.reporter.say(drawn(texts, options).preview())
        for note in texts.notes:
            options.reporter.say(f"note: {note}")
    return texts


def check_decoder(model: Model, why: str, *, stack: str = "", **advice: str) -> None:
    """Refuse models that do not predict the next token.

    Parameters
    ----------
    model
        The model.
    why
        What needs that, for the end of the message.
    stack
        The stack that is looked at. Default: the main one.
    advice
        What to do instead; by default, to choose a model that does.
    """
    if model.encoder_decoder or not model.causal(stack or model.main_stack()):
        advice = advice or {"hint": "choose a causal language model, such as 'demo-llm'"}
        raise ModelError(f"{model.name} is not a decoder-only language model{why}", **advice)


def check_predicts(model: Model, why: str = ", so it predicts no next token") -> None:
    """Refuse models that do not predict the next token, or were loaded without the head for it."""
    check_decoder(model, why)
    if "lm" not in model.capabilities:
        raise ModelError(
            f"{model.name} was loaded without a language-model head, so it predicts no next token",
            hint="load it with headscope.load(name, head='lm')",
            command="choose a causal language model",
        )


def check_not_cross(stack: str, why: str) -> None:
    """Refuse cross attention, whose rows and columns are the tokens of different texts."""
    if stack == "cross":
        raise UserError(
            f"the rows and columns of cross attention are different texts, {why}",
            hint="give stack='encoder' or stack='decoder'",
            command="give --stack encoder or --stack decoder",
        )
