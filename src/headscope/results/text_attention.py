"""The attention of one text: labelled maps that print, tabulate and draw themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.heads import Head, HeadLike, HeadsLike, parse_heads

COLUMNS = ["head", "query", "from", "key", "to", "weight"]
"""The columns of a table of links."""
SHOWN = 12
"""Links that are printed, and heads that are drawn, unless others are asked for."""


@dataclass(frozen=True, repr=False, eq=False)
class TextAttention:
    """The attention maps of one text, or of a pair of texts.

    It prints its strongest links in a terminal and draws itself in a notebook.

    Parameters
    ----------
    maps
        Attention weights with the dimensions layer, head, query and key. Layers and heads are
        labelled from 1, queries and keys by position from 0; the coordinates ``query_token`` and
        ``key_token`` hold the tokens (or words), ``special`` says which tokens are special. Heads
        that were not asked for are NaN.
    model
        The model's name.
    shape
        The model's layers, and the heads of each.
    units
        "tokens", or "words" (Clark et al. 2019, Section 4.1).
    numbers
        The model's own numbers of its layers with attention, from 1. Default: without gaps.

    See Also
    --------
    headscope.attention : Makes one.

    Examples
    --------
    >>> text = TextAttention.build(
    ...     np.array([[[[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 1.0, 0.0]]]]),
    ...     tokens=["[CLS]", "dogs", "bark"], special=[True, False, False], model="toy",
    ... )
    >>> text
    Attention of toy over 3 tokens, 1 layer × 1 head
    [CLS] dogs bark
    head from   to weight
     1-1 bark dogs  1.000
    >>> float(text.head("1-1").sel(query=2, key=1))
    1.0
    >>> text.tokens, [str(head) for head in text.heads], text.find(["BARK"])
    (('[CLS]', 'dogs', 'bark'), ['1-1'], [2])
    >>> text.table(top=1, special=False)[["from", "to", "weight"]].values.tolist()
    [['bark', 'dogs', 1.0]]
    >>> text.lines("1-1", red=["bark"]).to_dict()["title"]["text"]
    ['Head 1-1']
    """

    maps: xr.DataArray
    model: str
    shape: tuple[int, int]
    units: str = "tokens"
    numbers: tuple[int, ...] = ()

    @classmethod
    def build(
        cls,
        weights: NDArray[np.floating[Any]],
        *,
        tokens: Sequence[str],
        special: Sequence[bool],
        model: str,
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        shape: tuple[int, int] | None = None,
        units: str = "tokens",
        numbers: Sequence[int] = (),
        classes: tuple[NDArray[Any], NDArray[Any]] | None = None,
    ) -> TextAttention:
        """Label an array of maps.

        Parameters
        ----------
        weights
            (layer, head, query, key).
        tokens, special
            The tokens, and which of them are special.
        model
            The model's name.
        layers, heads
            The labels of layers and heads, from 1. Default: all, in order.
        shape
            The model's layers, and the heads of each. Default: those that are labelled.
        units
            What the tokens are: "tokens" or "words".
        numbers
            The numbers of all layers of the model that have attention, from 1, where they have
            gaps.
        classes
            The pattern class of every map, and how sure that is, (layer, head) each.

        Returns
        -------
        TextAttention
            The labelled maps.
        """
        positions = np.arange(len(tokens))
        coordinates: dict[str, Any] = {
            "layer": np.arange(1, weights.shape[0] + 1) if layers is None else list(layers),
            "head": np.arange(1, weights.shape[1] + 1) if heads is None else list(heads),
            "query": positions,
            "key": positions,
            "query_token": ("query", np.array(tokens, dtype=object)),
            "key_token": ("key", np.array(tokens, dtype=object)),
            "special": ("key", np.array(special, dtype=bool)),
        }
        for name, values in zip(("pattern", "sureness"), classes or (), strict=False):
            coordinates[name] = ("layer", "head"), values
        dims = ("layer", "head", "query", "key")
        maps = xr.DataArray(weights, coordinates, dims, "attention")
        most = int(maps["layer"].max()), int(maps["head"].max())
        return cls(maps, model, shape or most, units, tuple(numbers))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, or the words."""
        return tuple(str(token) for token in self.maps["key_token"].values)

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads whose maps are here."""
        known = self.maps.isel(query=0, key=0).notnull().transpose("layer", "head").values
        return tuple(
            Head(int(layer) - 1, int(head) - 1)
            for row, layer in zip(known, self.maps["layer"].values, strict=True)
            for here, head in zip(row, self.maps["head"].values, strict=True)
            if here
        )

    def head(self, head: HeadLike) -> xr.DataArray:
        """The map of one head.

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0) or a :class:`~headscope.heads.Head`.

        Returns
        -------
        xarray.DataArray
            Weights with the dimensions query and key. Each row sums to 1, or to less in models
            with a learned sink (GPT-OSS).

        Raises
        ------
        UserError
            There is no map of this head.
        """
        (chosen,) = self._chosen(Head.parse(head))
        return self.maps.sel(layer=chosen.layer + 1, head=chosen.head + 1)

    def _chosen(self, heads: HeadsLike | None) -> tuple[Head, ...]:
        """Heads by name, or all; each must have a map."""
        known = self.heads
        if heads is None:
            return known
        layers = [number - 1 for number in self.numbers] or self.shape[0]
        chosen = parse_heads(heads, layers=layers, heads=self.shape[1])
        for head in chosen:
            if head not in known:
                raise UserError(
                    f"head {head} was not kept; the heads here are {', '.join(map(str, known))}",
                    hint=f'give heads="{head}" to attention(), or leave heads out to keep all',
                )
        return chosen

    def table(
        self, heads: HeadsLike | None = None, *, top: int = 20, special: bool = True
    ) -> pd.DataFrame:
        """List the strongest links of each head.

        Parameters
        ----------
        heads
            Which heads, such as ``"3-9"`` or ``"4-*"``. Default: all.
        top
            The number of links of each head.
        special
            Whether to list links from and to special tokens.

        Returns
        -------
        pandas.DataFrame
            The columns head, query, from, key, to and weight; the strongest links of a head first.
        """
        if top < 1:
            raise UserError(f"top must be 1 or more, got {top} instead")
        places = np.flatnonzero(~self.maps["special"].values | special)
        links: list[tuple[Head, int, int]] = []
        for head in self._chosen(heads):
            weights = self.head(head).values[np.ix_(places, places)]
            strongest = np.argsort(-weights, axis=None, kind="stable")[:top]
            cells = np.unravel_index(strongest, weights.shape)
            links += (
                (head, int(places[row]), int(places[key])) for row, key in zip(*cells, strict=True)
            )
        return self._links(links)

    def overview(self, count: int = SHOWN) -> pd.DataFrame:
        """List the strongest link of each head between two different words.

        Parameters
        ----------
        count
            How many heads to list.

        Returns
        -------
        pandas.DataFrame
            As :meth:`table`, one row per head, the strongest first.
        """
        barred = self.maps["special"].values | self.maps["special"].values[:, None]
        barred = barred | np.eye(len(barred), dtype=bool)
        links = []
        for head in self.heads if not barred.all() else ():
            weights = np.where(barred, -1.0, self.head(head).values)
            query, key = divmod(int(weights.argmax()), len(barred))
            links.append((head, query, key))
        table = self._links(links)
        return table.sort_values("weight", ascending=False, kind="stable").head(count)

    def _links(self, links: Iterable[tuple[Head, int, int]]) -> pd.DataFrame:
        """The table of some links: of each the head, the query and the key."""
        tokens = self.tokens
        rows = [
            (str(head), query, tokens[query], key, tokens[key], float(self.head(head)[query, key]))
            for head, query, key in links
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def patterns(self) -> pd.DataFrame:
        """The pattern class of every map, of attention that was asked for with patterns.

        Returns
        -------
        pandas.DataFrame
            The columns layer, head, pattern and sureness.
        """
        if "pattern" not in self.maps.coords:
            raise UserError("no pattern classes are known", hint="call attention(patterns=True)")
        table = self.maps.coords.to_dataset()[["pattern", "sureness"]].to_dataframe().reset_index()
        return table[["layer", "head", "pattern", "sureness"]]

    def find(self, words: Iterable[str | int]) -> list[int]:
        """The positions of tokens.

        Parameters
        ----------
        words
            Tokens, whatever their case, or positions, which are returned as they are.

        Returns
        -------
        list of int
            All positions at which they stand.

        Raises
        ------
        UserError
            A word does not occur.
        """
        if isinstance(words, str):
            raise UserError(
                f"the words must be a list, got the string {words!r} instead",
                hint=f"give [{words!r}]",
            )
        tokens = self.tokens
        positions: list[int] = []
        for word in words:
            if isinstance(word, int):
                positions.append(word)
                continue
            places = [place for place, token in enumerate(tokens) if token.lower() == word.lower()]
            if not places:
                raise unknown("word", word, dict.fromkeys(tokens))
            positions += places
        return positions

    def lines(
        self,
        heads: HeadsLike | None = None,
        *,
        red: Collection[str | int] = (),
        hide: Collection[str | int] = (),
        threshold: float = 0.02,
        columns: int = 3,
    ) -> Any:
        """Draw attention as lines between two columns of words (Clark et al. 2019, Figure 5).

        Parameters
        ----------
        heads
            One head or several, which are drawn beside each other. Default: the heads of
            :meth:`overview`.
        red
            Words, or positions, to draw in red with their attention.
        hide
            Words, or positions, to which attention is not drawn, such as ``["[SEP]"]``.
        threshold
            Lines of at most this weight are not drawn.
        columns
            Drawings per row, where there are several.

        Returns
        -------
        altair.Chart
            The drawing; :func:`headscope.figures.save_chart` writes it to a file.
        """
        from headscope.figures.lines import attention_lines, attention_panel

        charts = [
            attention_lines(
                self.tokens,
                self.head(head).values,
                title=f"Head {head}",
                red=self.find(red),
                hide=self.find(hide),
                threshold=threshold,
            )
            for head in self._drawn(heads)
        ]
        return charts[0] if len(charts) == 1 else attention_panel(charts, columns=columns)

    def _drawn(self, heads: HeadsLike | None) -> tuple[Head, ...]:
        """The heads to draw: those asked for, or those with the strongest links."""
        if heads is not None or len(self.heads) <= SHOWN:
            return self._chosen(heads)
        return tuple(Head.parse(str(name)) for name in self.overview()["head"])

    def __repr__(self) -> str:
        layers, heads = self.shape
        first = (
            f"Attention of {self.model} over {len(self.tokens)} {self.units}, "
            f"{layers} layer{'s' * (layers != 1)} × {heads} head{'s' * (heads != 1)}"
        )
        links = self.overview().drop(columns=["query", "key"])
        table = links.to_string(index=False, formatters={"weight": "{:.3f}".format})
        return "\n".join([first, " ".join(self.tokens), table if len(links) else ""]).rstrip()

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from headscope.page.notebook import TextViews

        return TextViews(self).bundle(html=self._repr_html_(), text=repr(self))

    def _display_(self) -> object:
        """What marimo shows."""
        from headscope.page.notebook import TextViews

        return TextViews(self).shown(html=self._repr_html_())

    def _repr_html_(self) -> str:
        from headscope.figures.lines import attention_html

        drawn = {str(head): self.head(head).values for head in self._drawn(None)[:SHOWN]}
        caption = (
            f"Attention of {self.model}: the darker a line, the more attention the token on the "
            "left pays to the one on the right."
        )
        if len(drawn) < len(self.heads):
            caption += f" {len(drawn)} of {len(self.heads)} heads, by their strongest link."
        return attention_html(self.tokens, drawn, caption=caption)
