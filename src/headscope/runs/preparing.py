"""What every run does first: check what can be checked, read the corpus, load the model.

Whatever can be known to be wrong is an error before torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal

from headscope.corpus import Corpus, CorpusLike
from headscope.corpus.reading import open_corpus
from headscope.models.names import check_loading
from headscope.options import CorpusRun, ModelRun

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.models.loading import ModelLike


@contextmanager
def loaded(
    model: ModelLike, options: ModelRun, *, head: Literal["lm", "own"] | None = None, seed: int = 0
) -> Iterator[Model]:
    """A model, closed at the end if it was made here; what there is to note about it is said.

    Parameters
    ----------
    model
        Whatever stands for one.
    options
        The options of the run.
    head, seed
        See :func:`headscope.load`.
    """
    check_loading(model, options)
    reporter = options.reporter
    with ExitStack() as stack:
        with reporter.status("loading libraries and model"):
            from headscope.models.loading import using_model

            made = stack.enter_context(using_model(model, options, head=head, seed=seed))
        for note in made.notes if made is not model else ():
            reporter.say(f"note: {note}")
        yield made


def read_for(corpus: CorpusLike, options: CorpusRun) -> Corpus:
    """The corpus of a run; what was read is said."""
    texts = open_corpus(corpus, options)
    if options.reporter.visible:  # to count its examples, the whole corpus is read
        options.reporter.say(texts.first(options.limit).preview())
        for note in texts.notes:
            options.reporter.say(f"note: {note}")
    return texts


@contextmanager
def prepared(
    model: ModelLike,
    corpus: CorpusLike,
    options: CorpusRun,
    *,
    head: Literal["lm", "own"] | None = None,
) -> Iterator[tuple[Model, Corpus]]:
    """The model and the corpus of a run."""
    check_loading(model, options)
    texts = read_for(corpus, options)
    with loaded(model, options, head=head) as made:
        yield made, texts
