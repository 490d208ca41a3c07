"""Looking at a model without a survey: one text, one head, its weights, and whether it can be
trusted.

Here are options and functions; nothing of it needs torch before a model is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from headscope.corpus import CorpusLike
from headscope.errors import UserError, wrong_type
from headscope.heads import Head, HeadLike, HeadsLike, split_heads
from headscope.models.names import check_loading
from headscope.options import RARE, AnyPath, CorpusRun, ModelRun, Option, Saving, takes
from headscope.runs.preparing import check_not_cross, drawn, opened, read_for
from headscope.runs.relations import Relations, choose_relations
from headscope.stats.tables.examples import check_relation

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headscope.models.loading import ModelLike
    from headscope.results import Atlas, TextAttention
    from headscope.runs.eager import Check
    from headscope.runs.text_maps import TextHeads
else:  # names, or heads
    HeadsLike = Sequence[Any]


class StreamOptions(CorpusRun):
    """Options of :func:`stream`.

    Parameters
    ----------
    layers
        Only these layers, counted from 1. Default: all.
    outputs
        Also give the outputs of heads, before the output projection.
    """

    layers: Annotated[Sequence[int] | None, Option(least=1, name="number of a layer")] = None
    outputs: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_cross(self.stack, "and are not one text's maps")


@takes(StreamOptions)
def stream(model: ModelLike, corpus: CorpusLike, options: StreamOptions) -> Iterator[TextHeads]:
    """Go through the maps, and the outputs, of all heads on a corpus, one text at a time.

    For a statistic of your own that is not worth a :class:`~headscope.Measure`. One batch is in
    memory at a time; texts come in the order of the corpus.

    Parameters
    ----------
    model, corpus
        As in :func:`headscope.survey`.

    Yields
    ------
    TextHeads
        The ``example``, its ``attention`` (a :class:`~headscope.TextAttention`) and the ``outputs``
        of heads.

    See Also
    --------
    headscope.attention : one text.
    headscope.measures.measured : measures of maps from anywhere.

    Examples
    --------
    >>> import headscope as hs
    >>> for text in hs.stream("demo", ["The dog barked.", "It ran."], layers=[1], outputs=True):
    ...     print(text.attention.tokens, text.attention.maps.shape, text.outputs.shape)
    ('[CLS]', 'The', 'dog', 'barked', '.', '[SEP]') (1, 12, 6, 6) (1, 12, 6, 32)
    ('[CLS]', 'It', 'ran', '.', '[SEP]') (1, 12, 5, 5) (1, 12, 5, 32)
    """
    check_loading(model, options)
    texts = drawn(read_for(corpus, options), options)

    def each() -> Iterator[TextHeads]:
        with opened(model, options) as used:
            from headscope.runs.text_maps import each_text

            yield from each_text(used, texts, options)

    return each()


class LogitOptions(ModelRun):
    """Options of :func:`logit_parts`.

    Parameters
    ----------
    max_length
        Cut the text to this many tokens. Default: the whole text, and an error if the model cannot
        take it.
    """

    max_length: Annotated[int | None, Option(least=1, name="maximum length")] = None


class AttentionOptions(LogitOptions):
    """Options of :func:`attention`.

    Parameters
    ----------
    pair
        The second text of a pair.
    heads
        Keep only these heads, such as 3-9 or 4-* (from 1) or L2H8 (from 0). Default: all. The maps
        of a long text take (length × length × 4) bytes per head.
    words
        Give maps between words instead of tokens (Clark et al. 2019, Section 4.1): attention to a
        word is summed over its pieces, and attention from a word is averaged over them. Special
        tokens stay.
    patterns
        Classify every map: vertical, diagonal, both, block or heterogeneous (Kovaleva et al. 2019,
        Section 4.1). The maps get the coordinates pattern and sureness, the probability of that
        class.
    network
        Classify with a network of your own (headscope label --retrain). Default: the one that comes
        with Headscope.
    stack
        encoder or decoder, for models with both. Default: the encoder.
    """

    prefix: ClassVar[str] = "attention"

    pair: Annotated[str | None, Option(metavar="TEXT", hint="e.g. pair='It ran.'")] = field(
        default=None, kw_only=False
    )
    heads: Annotated[HeadsLike | None, Option(flag="--head", metavar="HEAD")] = None
    words: bool = False
    patterns: bool = False
    network: Annotated[AnyPath | None, Option(metavar="FILE")] = None
    stack: Annotated[str, RARE] = ""

    def __post_init__(self) -> None:
        if isinstance(self.heads, Head):  # a tuple itself
            object.__setattr__(self, "heads", (self.heads,))
        super().__post_init__()
        if self.heads:  # those with a star need the shape of the model
            split_heads(self.heads)
        if self.patterns and (self.heads or self.words):
            what = "heads" if self.heads else "words"
            raise UserError(
                f"patterns=True classifies the map of every head between tokens; {what}= cannot be "
                "combined with it",
                hint=f"leave {what}= out",
            )
        if self.network is not None and not self.patterns:
            raise UserError(
                "network= has no effect without patterns=True", hint="give patterns=True"
            )
        check_not_cross(self.stack, "and cannot be drawn as one text")


@takes(AttentionOptions)
def attention(
    model: ModelLike, text: str | tuple[str, str], options: AttentionOptions
) -> TextAttention:
    """Look at the attention of one text.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.models.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``.
    text
        The text, or a pair of texts.

    Returns
    -------
    TextAttention
        The maps, labelled with layers and heads from 1 and with the tokens. It prints its strongest
        links, and draws itself in a notebook.

    Raises
    ------
    UserError
        The text is empty, too long or not a string, or the model has no such head.

    See Also
    --------
    headscope.survey : Statistics of all heads over a whole corpus.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.attention("demo", "The dog barked.")
    >>> found.tokens
    ('[CLS]', 'The', 'dog', 'barked', '.', '[SEP]')
    >>> found.table("1-3", special=False, top=1)[["from", "to"]].values.tolist()
    [['barked', 'dog']]
    """
    texts = read_texts(text, options.pair)
    check_loading(model, options)
    with opened(model, options) as used:
        from headscope.runs.text_maps import text_attention

        return text_attention(used, texts, options)


@takes(LogitOptions)
def logit_parts(model: ModelLike, text: str, options: LogitOptions) -> xr.DataArray:
    """Take the logits of a text apart: what embeddings, heads and MLPs each write.

    For every token, the logit of the token that follows, less the mean over the vocabulary, is the
    sum of all parts. The last norm's divisor is that of the pass. So is that of a norm after
    attention, where a model has one. Soft-capping and scaling of logits come afterwards and are
    left out.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer. It must be a decoder-only language model with its head, whose layers add to the
        residual stream what they compute (pre-norm).
    text
        The text.

    Returns
    -------
    xarray.DataArray
        (token, part) in logits. Coordinates: ``text``, the token; ``next``, the one that follows;
        ``logit``, its logit less the mean over the vocabulary, as the model computed it; and the
        ``kind`` of each part. Parts are ``embeddings``, heads by name (``"3-9"``),
        ``attention bias 3``, ``MLP 3``, ``layer 3`` (a layer without attention, as a whole),
        ``norm bias`` and ``unembedding bias``.

    Raises
    ------
    ModelError
        If a head has no part of the logit in this model; the message says why.

    See Also
    --------
    headscope.measures.LogitAttribution : the parts of heads over a corpus, in a survey.

    Examples
    --------
    >>> import headscope as hs
    >>> parts = hs.logit_parts("demo-llm", "Paris is the capital of France")  # doctest: +SKIP
    >>> bool(np.allclose(parts.sum("part"), parts["logit"], atol=1e-3))  # doctest: +SKIP
    True
    """
    texts = read_texts(text, None)
    check_loading(model, options)
    with opened(model, options, head="lm") as used:
        from headscope.runs.text_maps import parts_of_logits

        return parts_of_logits(used, texts, options.max_length)


def read_texts(text: object, pair: object) -> tuple[str, ...]:
    """The text or the two texts, checked."""
    both = isinstance(text, tuple) and len(text) == 2 and pair is None
    texts = text if both else (text,) if pair is None else (text, pair)
    assert isinstance(texts, tuple)
    for part in texts:
        if not isinstance(part, str):
            raise wrong_type(
                "text",
                part,
                "a string or a pair of strings",
                hint='give attention(model, "The dog barked."); survey takes lists of texts',
            )
        if not part.strip():
            raise UserError(f"the text {part!r} is empty", hint="give at least one word")
    return texts


class ExampleOptions(CorpusRun):
    """Options of :func:`examples`.

    Parameters
    ----------
    relation
        Only this relation: texts in which the head's strongest link is one of it.
    top
        How many examples to show.
    limit
        Look at no more than the first so many examples; None for all.
    """

    relation: Annotated[str, Option(metavar="NAME", completes="relations")] = ""
    top: Annotated[int, Option(least=1, name="number of examples", metavar="N", short="-k")] = 10
    limit: Annotated[int | None, Option(least=1, metavar="N")] = 1000


@takes(ExampleOptions)
def examples(
    model: ModelLike, corpus: CorpusLike, head: HeadLike, options: ExampleOptions
) -> pd.DataFrame:
    """Look in a corpus for texts on which a head does what it does.

    A survey keeps examples of every head in its results; this is for results that hold none, and
    for a relation that is rare. Of long inputs, the first 128 tokens are shown.

    Parameters
    ----------
    model, corpus
        As in :func:`headscope.survey`.
    head
        ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.

    Returns
    -------
    pandas.DataFrame
        As :meth:`headscope.Atlas.examples`.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.examples("demo", ["The dog barks.", "A cat sleeps."], "1-3", top=1)
    Head 1-3: the examples on which it is strongest
      1  strength 0.80  1
         The dog barks .
         dog → The 1.00; barks → dog 0.50
    """
    Head.parse(head)
    check_loading(model, options)
    texts = read_for(corpus, options)
    texts = drawn(texts, options)
    check_relation(texts, options.relation)
    with opened(model, options) as used:
        from headscope.runs.examples import find_examples

        return find_examples(used, texts, head, options)


class CheckOptions(ModelRun):
    """Options of :func:`check`.

    Parameters
    ----------
    max_length
        Tokens of the long text. The default is 512, or more where a window or an index is longer,
        up to 4096, or what the model takes.
    seed
        Seed of the tokens.
    """

    max_length: Annotated[int | None, Option(name="maximum length")] = None
    seed: int = 0


@takes(CheckOptions)
def check(model: ModelLike, options: CheckOptions) -> Check:
    """Compare a model, as Headscope observes it, with transformers' own eager attention.

    The same weights are run twice on the same device: observed, and with the attention that
    transformers itself calls eager. Compared are the maps of every layer and what every layer gives
    to the next: on one text, on a batch of texts of several lengths against each text alone, and on
    a long text, beyond any window or index that the configuration names. The texts are random
    tokens.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``.

    Returns
    -------
    Check
        Its ``passed`` says whether all agrees; printing it shows the table.

    Raises
    ------
    UserError
        If the model cannot be loaded or observed, or does not take so many tokens. What goes wrong
        after that is part of the result.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.check("demo", max_length=64)
    >>> found.passed
    True
    >>> found.rows[0].digits
    'every bit'
    """
    check_loading(model, options)
    with opened(model, options) as used:
        from headscope.runs.eager import compare_with_eager

        return compare_with_eager(used, options)


class CircuitOptions(ModelRun, Saving):
    """Options of :func:`circuits`.

    Parameters
    ----------
    relations
        Relations of your own between words, in a file: relation, word and other word in each line,
        separated by tabs; or none. Default: the next number, day, month or letter, plurals,
        antonyms and capitals.
    within
        A pair of words counts if a head raises the second one as one of the N most.
    seed
        Seed of the random heads that composition is compared with.
    stack
        encoder or decoder, for models with both. Default: the encoder.
    """

    prefix: ClassVar[str] = "circuits"

    relations: Annotated[AnyPath | None, Option(metavar="FILE|none")] = None
    within: Annotated[int, Option(least=1, metavar="N", name="number of words")] = 10
    seed: int = 0
    stack: Annotated[str, RARE] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.word_pairs

    @property
    def word_pairs(self) -> Relations:
        """The pairs of words by relation."""
        return choose_relations(self.relations)


@takes(CircuitOptions)
def circuits(model: ModelLike, options: CircuitOptions) -> Atlas:
    """Read circuits off the weights of a model: no corpus is needed (Elhage et al. 2021).

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``. A model that is loaded by name gets its language-model
        head where its unembedding differs from its embeddings.

    Returns
    -------
    Atlas
        With the groups

        - ``copying``: the copying score of every head, from -1 to 1. It is positive if attention to
          a token raises the score of the same token. Absent where the model has no unembedding;
        - ``ov_norm`` and ``qk_norm``: the Frobenius norms of ``W_V W_O`` and ``W_Q W_Kᵀ``. In
          these and in all other numbers, the norm before attention is folded into the matrices that
          read the stream, and before a LayerNorm they are centred: units say which;
        - ``composition``: for every pair of heads, how much the later one (``layer``, ``head``)
          reads of what the earlier one (``from_layer``, ``from_head``) writes, by ``kind``: through
          its queries, keys or values. ``excess`` is the ratio of norms minus ``baseline``, the mean
          of random heads of the same shape, which varies by ``baseline_deviation``;
        - ``vocabulary``: for every ``relation`` between words, the share of its pairs whose second
          word is among the 10 (``within``) that the head raises most when it attends to the first;
          for ``copy`` the word itself, for ``suppress`` among those that it lowers most. By
          ``embedding``: the first word's ``plain`` embedding, or what the first ``mlp`` writes
          for it. Absent without an unembedding, or without enough single-token words.

        The provenance has ``notes`` on what the matrices leave out.

    Raises
    ------
    UserError
        The architecture stores its projections in an unknown way, or the stack is ``"cross"``.

    See Also
    --------
    headscope.Atlas.composition : The heads that one head composes with.

    References
    ----------
    Elhage et al. (2021), A mathematical framework for transformer circuits.

    Elhelo and Geva (2025), Inferring functionality of attention heads from their parameters.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.circuits("demo")
    >>> atlas.measures
    ('copying', 'ov_norm', 'qk_norm', 'composition', 'vocabulary')
    >>> len(atlas.composition("3-9", kind="K", top=2))  # earlier heads and later ones
    4
    """
    check_loading(model, options)
    with options.reporter.status("loading libraries"):
        from headscope.runs.circuits import Circuits, with_unembedding
    with with_unembedding(model, options) as used:
        return Circuits(used, options).execute()
