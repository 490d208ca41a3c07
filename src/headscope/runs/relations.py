"""Pairs of words in a relation: what the weights of a head may map one word to.

The lists were written for this project. A word counts only where a model has a token for it.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from headscope.errors import CorpusError, shorten
from headscope.limits import read_text

Relations = dict[str, list[tuple[str, str]]]

COPY, SUPPRESS = "copy", "suppress"
"""Every word with itself; its own score then rises, or falls."""
NONE = "none"
ORDERS = {
    "numbers": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty",
    "numerals": " ".join(map(str, range(1, 31))),
    "days": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Monday",
    "months": "January February March April May June July August September October November "
    "December January",
    "letters": " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
}
"""What follows what."""
PAIRS = {
    "plurals": "cat cats, dog dogs, car cars, book books, tree trees, house houses, girl girls, "
    "boy boys, child children, man men, woman women, foot feet, mouse mice, year years, word "
    "words, hand hands, eye eyes, king kings, river rivers, student students, teacher teachers, "
    "city cities, country countries, story stories, family families, wife wives, life lives, leaf "
    "leaves",
    "antonyms": "hot cold, big small, good bad, up down, left right, high low, old new, open "
    "closed, fast slow, early late, long short, strong weak, rich poor, hard soft, black white, "
    "first last, true false, inside outside, before after, happy sad, wet dry, light dark, full "
    "empty, public private, male female, deep shallow, thick thin, alive dead",
    "capitals": "France Paris, Germany Berlin, Italy Rome, Spain Madrid, Japan Tokyo, China "
    "Beijing, Russia Moscow, Egypt Cairo, Greece Athens, Poland Warsaw, Austria Vienna, Ireland "
    "Dublin, Iran Tehran, Iraq Baghdad, Cuba Havana, Peru Lima, Syria Damascus, England London, "
    "Portugal Lisbon, Hungary Budapest, Sweden Stockholm, Ukraine Kyiv, Turkey Ankara, Kenya "
    "Nairobi, Chile Santiago, Norway Oslo, Denmark Copenhagen, Canada Ottawa",
}
WORDS = {
    "numbers": "map a number word to the next",
    "numerals": "map a numeral to the next",
    "days": "map a day to the next",
    "months": "map a month to the next",
    "letters": "map a letter to the next",
    "plurals": "map a noun to its plural",
    "antonyms": "map a word to its opposite",
    "capitals": "map a country to its capital",
    COPY: "raise the score of the word itself",
    SUPPRESS: "lower the score of the word itself",
}
"""What weights do that score at a relation."""
FORM = "write one pair per line, separated by tabs: opposites⇥hot⇥cold"


def choose_relations(chosen: str | Path | None) -> Relations:
    """The built-in relations, none, or those of a file.

    Parameters
    ----------
    chosen
        A file with relation, word and the other word in each line, separated by tabs; ``"none"``;
        or None for the built-in relations.

    Raises
    ------
    CorpusError
        If the file cannot be read, or a line is something else.

    Examples
    --------
    >>> relations = choose_relations(None)
    >>> relations["days"][-1], relations["capitals"][0]
    (('Sunday', 'Monday'), ('France', 'Paris'))
    """
    if str(chosen) == NONE:
        return {}
    if chosen is None:
        ordered = {name: list(pairwise(words.split())) for name, words in ORDERS.items()}
        listed = {name: [pair.split() for pair in text.split(", ")] for name, text in PAIRS.items()}
        return ordered | {name: [(one, two) for one, two in rows] for name, rows in listed.items()}
    try:
        lines = read_text(Path(chosen), error=CorpusError, hint=FORM).splitlines()
    except OSError as error:
        raise CorpusError(
            f"relations cannot be read from {chosen}: {error.strerror}", hint=FORM
        ) from None
    relations: Relations = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, *words = (cell.strip() for cell in line.split("\t"))
        if name in (COPY, SUPPRESS, "") or len(words) != 2 or not all(words):
            where = f"{chosen}, line {number}"
            raise CorpusError(f"{where}: not a relation and two words: {shorten(line)}", hint=FORM)
        relations.setdefault(name, []).append((words[0], words[1]))
    if not relations:
        raise CorpusError(f"{chosen} holds no relations", hint=FORM)
    return relations
