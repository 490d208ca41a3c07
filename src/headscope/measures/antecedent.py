"""Baselines for finding a mention's antecedent (Clark et al. 2019, §4.3): the nearest mention, the
same head word, four sieves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headscope.corpus import Mention, Word

# number, gender, person of English pronouns; "" is unknown or either.
_PRONOUNS = {
    **dict.fromkeys(["i", "me", "my", "mine", "myself"], ("one", "", "1")),
    **dict.fromkeys(["we", "us", "our", "ours", "ourselves"], ("many", "", "1")),
    **dict.fromkeys(["you", "your", "yours", "yourself", "yourselves"], ("", "", "2")),
    **dict.fromkeys(["he", "him", "his", "himself"], ("one", "male", "3")),
    **dict.fromkeys(["she", "her", "hers", "herself"], ("one", "female", "3")),
    **dict.fromkeys(["it", "its", "itself", "this", "that"], ("one", "thing", "3")),
    **dict.fromkeys(
        ["they", "them", "their", "theirs", "themselves", "these", "those"], ("many", "", "3")
    ),
}
_GENDER = {
    **dict.fromkeys(
        [
            "mr.",
            "mr",
            "sir",
            "man",
            "boy",
            "father",
            "son",
            "brother",
            "husband",
            "king",
            "uncle",
            "grandfather",
            "gentleman",
        ],
        "male",
    ),
    **dict.fromkeys(
        [
            "mrs.",
            "mrs",
            "ms.",
            "ms",
            "miss",
            "woman",
            "girl",
            "mother",
            "daughter",
            "sister",
            "wife",
            "queen",
            "aunt",
            "grandmother",
            "lady",
        ],
        "female",
    ),
}


def agreement(words: Sequence[Word], mention: Mention) -> tuple[str, str, str]:
    """Number, gender and person of a mention; "" where it cannot be told.

    >>> agreement([Word("The"), Word("dogs", xpos="NNS")], Mention(0, 1, 1, "1"))
    ('many', '', '3')
    """
    head = words[mention.head]
    if head.text.lower() in _PRONOUNS:
        return _PRONOUNS[head.text.lower()]
    plural = head.xpos in {"NNS", "NNPS"} or any(
        word.text.lower() == "and" for word in words[mention.start : mention.end + 1]
    )
    gender = next(
        (
            _GENDER[word.text.lower()]
            for word in words[mention.start : mention.end + 1]
            if word.text.lower() in _GENDER
        ),
        "",
    )
    return "many" if plural else "one" if head.xpos or head.upos else "", gender, "3"


def agree(one: tuple[str, str, str], two: tuple[str, str, str]) -> bool:
    """Nothing that is known of both differs."""
    return all(not left or not right or left == right for left, right in zip(one, two, strict=True))


def nearest(words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]) -> Mention | None:
    """The last mention before this one; ``earlier`` is in order of head words."""
    return earlier[-1] if earlier else None


def same_head(
    words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]
) -> Mention | None:
    """The nearest mention with the same head word."""
    return _last(
        earlier, lambda other: words[other.head].text.lower() == words[mention.head].text.lower()
    )


def sieves(words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]) -> Mention | None:
    """The nearest mention within the first sieve that has any: same string, same head word,
    agreement, any.
    """

    def text(one: Mention) -> str:
        return " ".join(word.text.lower() for word in words[one.start : one.end + 1])

    mine, features = text(mention), agreement(words, mention)
    return (
        _last(earlier, lambda other: text(other) == mine)
        or same_head(words, mention, earlier)
        or _last(earlier, lambda other: agree(features, agreement(words, other)))
        or nearest(words, mention, earlier)
    )


def _last(earlier: Sequence[Mention], fits: Callable[[Mention], bool]) -> Mention | None:
    return next((other for other in reversed(earlier) if fits(other)), None)


BASELINES = {"nearest": nearest, "same head word": same_head, "rules": sieves}
