"""Circuits: what the weights of heads say without any text. Options and function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from headscope.models.names import check_loading
from headscope.options import RARE, ModelRun, Saving, takes

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas


class CircuitOptions(ModelRun, Saving):
    """Options of :func:`circuits`.

    Parameters
    ----------
    seed
        Seed of the random heads that composition is compared with.
    stack
        encoder or decoder, for models with both. Default: the encoder.
    """

    prefix: ClassVar[str] = "circuits"

    seed: int = 0
    stack: Annotated[str, RARE] = ""


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
          of random heads of the same shape, which varies by ``baseline_deviation``.

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

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.circuits("demo")
    >>> atlas.measures
    ('copying', 'ov_norm', 'qk_norm', 'composition')
    >>> len(atlas.composition("3-9", kind="K", top=2))  # earlier heads and later ones
    4
    """
    check_loading(model, options)
    with options.reporter.status("loading libraries"):
        from headscope.runs.circuits.matrices import Circuits, with_unembedding
    with with_unembedding(model, options) as used:
        return Circuits(used, options).execute()
