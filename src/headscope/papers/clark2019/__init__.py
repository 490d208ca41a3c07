"""Clark et al. 2019, "What Does BERT Look At?": options of the recipe."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from headscope.corpus import Corpus, read, read_documents
from headscope.corpus.vectors import check_vectors
from headscope.options import AnyPath, Option
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.options import PaperOptions, Sampled

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
else:  # checked where it is read
    CorpusLike = Any


class Clark2019Options(PaperOptions, Sampled):
    """Options of :class:`headscope.papers.Clark2019`.

    Parameters
    ----------
    text
        Segments of two paragraphs (Sections 3 and 6): text, TSV or JSON lines. At most 1000 are
        used, 200 for the distances.
    treebank
        Sentences with trees (Sections 4.2 and 5): CoNLL-U or CoNLL-X.
    coref
        Documents with coreference (Section 4.3): JSON lines, CoNLL-U with Entity=, CoNLL-2012
        columns, or a folder.
    train
        A treebank to train the probes on, and to choose heads and offsets on. Default: probes are
        trained on four fifths of the treebank; heads and offsets are chosen on each half of its
        documents and scored on the other half.
    vectors
        Word vectors for the probes: GloVe text, .npy with a vocabulary beside it, or glove for the
        wheel. Without them only the probes that need none are trained.
    epochs
        The most passes over the training sentences for a probe.
    special
        Score the treebank a second time with special tokens as candidates (footnote 3), for the
        claim that this changes little.
    """

    paper: ClassVar[Paper] = PAPERS["clark2019"]
    panel: ClassVar[str] = "Data"

    text: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    treebank: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    coref: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    train: Annotated[CorpusLike | None, Option(metavar="FILE")] = None
    vectors: Annotated[AnyPath | None, Option(metavar="FILE")] = None
    epochs: Annotated[int, Option(least=1, name="number of epochs")] = 20
    special: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vectors is not None and any(part.name == "probes" for part in self.chosen):
            check_vectors(self.vectors)
        _ = self.segments, self.sentences, self.documents, self.training

    @cached_property
    def segments(self) -> Corpus:
        """The text, read."""
        return read(self.text)

    @cached_property
    def sentences(self) -> Corpus:
        """The treebank, read."""
        return read(self.treebank)

    @cached_property
    def documents(self) -> Corpus:
        """The documents with coreference, read."""
        return self.drawn(read_documents(self.coref), self.limit)

    @cached_property
    def training(self) -> Corpus | None:
        """The other treebank, read, if there is one."""
        return None if self.train is None else self.drawn(read(self.train), self.limit)
