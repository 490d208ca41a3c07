"""Every sieve is the set of pairs that its title says, on any tokens; and a user's
own come by decorator, by file and by entry point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope
from headscope.corpus import ROOT, Corpus, Example, Mention, Word, from_texts
from headscope.encode import OTHER, SEPARATOR, START, TEXT, Encoded
from headscope.errors import UserError
from headscope.measures import Context, Role, Sieve, known_sieves, load_sieves, sieve
from headscope.measures.sieves import (
    DIRECTIONS,
    PAPER,
    SIEVES,
    SYNTACTIC,
    dependency_sieve,
    dependency_sieves,
)
from headscope.models import Shape
from headscope.runs.survey import survey
from items import item_of
from planted import planted_bert
from refusals import refusal

SETTINGS = settings(deadline=None, max_examples=25)
WORDS = ("dog", "Dog", "it's", "old", "10", "?", "!", "？")
RELATIONS = ("nsubj", "nsubj:pass", "dobj", "obj", "amod", "advmod", "advmod:emph", "det", "")
UNKNOWN = 13
"""The token that stands for everything the tokenizer does not know."""
SIZES = (1, 1, 2, 3, 0)
"""How many pieces a word has; none if the tokenizer dropped it or it was cut off."""

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Made:
    """Tokens made without a tokenizer, and the words they were made from."""

    item: Encoded
    words: tuple[str, ...]


@st.composite
def items(draw: st.DrawFn) -> Made:
    """One text or two; with special tokens or without; words in several pieces, in none, or cut;
    with a tree and mentions, or plain.
    """
    segments = draw(st.integers(1, 2))
    annotated, start, end = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    texts = [draw(st.lists(st.sampled_from(WORDS), max_size=4)) for _ in range(segments)]
    flat = [word for text in texts for word in text]
    rows: list[tuple[int, int, int, int, int, str]] = [(1, START, -1, -1, -1, "")] if start else []
    unit = 0
    for segment, text in enumerate(texts):
        for word in text:
            size = draw(st.sampled_from(SIZES))
            cut = draw(st.integers(0, 5)) == 0
            for piece in range(size):
                shown = word if size == 1 else word[piece : piece + 1]
                lead = " " if piece == 0 and draw(st.booleans()) else ""
                owner = unit if annotated and not cut else -1
                ids = draw(st.integers(10, 13))
                rows.append((ids, TEXT, segment, owner, unit, lead + shown))
            unit += 1
        if end:
            rows.append((2, SEPARATOR, -1, -1, -1, ""))
        if draw(st.integers(0, 5)) == 0:
            rows.append((3, OTHER, -1, -1, -1, ""))
    if not rows:
        rows.append((10, TEXT, 0, -1, -1, "-"))
    heads = st.sampled_from([None, ROOT, *range(len(flat))])
    segment_of = [segment for segment, text in enumerate(texts) for _ in text]
    words = [
        Word(text, segment=segment, head=draw(heads), relation=draw(st.sampled_from(RELATIONS)))
        for text, segment in zip(flat, segment_of, strict=True)
    ]
    mentions = []
    for _ in range(draw(st.integers(0, 4)) if flat and annotated else 0):
        begin, head, last = sorted(draw(st.integers(0, len(flat) - 1)) for _ in range(3))
        mentions.append(Mention(begin, last, head, draw(st.sampled_from("ab"))))
    given_words = tuple(words) if annotated else ()
    example = Example("7", tuple(map(" ".join, texts)), given_words, tuple(mentions))
    ids, kind, segment_ids, word_ids, units, shown_texts = zip(*rows, strict=True)
    rows = {"kind": kind, "segment": segment_ids, "word": word_ids, "unit": units}
    item = item_of(example, ids, text=shown_texts, unknown=np.array(ids) == UNKNOWN, **rows)
    return Made(item, tuple(flat))


def near(item: Encoded, least: int, most: int) -> Pairs:
    return {
        (query, query + step)
        for query in range(len(item))
        for step in range(least, most + 1)
        if 0 <= query + step < len(item)
    }


def of_kind(item: Encoded, *kinds: int) -> Pairs:
    return {
        (query, key)
        for query in range(len(item))
        for key in range(len(item))
        if item.kind[key] in kinds
    }


def block(item: Encoded) -> Pairs:
    found = set()
    for query in range(len(item)):
        for key in range(len(item)):
            if (
                len(item.example.texts) == 2
                and item.kind[query] == TEXT == item.kind[key]
                and item.segment[query] == item.segment[key]
            ):
                found.add((query, key))
    return found


def same_word(item: Encoded) -> Pairs:
    return {
        (query, key)
        for query in range(len(item))
        for key in range(len(item))
        if query != key and item.unit[query] == item.unit[key] and item.unit[query] != -1
    }


def question(item: Encoded) -> Pairs:
    return {
        (query, key)
        for query in range(len(item))
        for key in range(len(item))
        if item.text[key] in {"?", " ?", "？", " ？"}
    }


def duplicate(item: Encoded) -> Pairs:
    text = [place for place in range(len(item)) if item.kind[place] == TEXT]
    return {
        (query, key)
        for query in text
        for key in text
        if query != key and item.ids[query] == item.ids[key] != UNKNOWN
    }


def induction(item: Encoded) -> Pairs:
    """The token after the latest earlier occurrence, if that is a token of the text and not the
    query itself.
    """
    found = set()
    for query in range(len(item)):
        earlier = [
            place
            for place in range(query)
            if item.kind[place] == TEXT == item.kind[query]
            and item.ids[place] == item.ids[query] != UNKNOWN
        ]
        after = earlier[-1] + 1 if earlier else query
        if after != query and item.kind[after] == TEXT and item.ids[after] != UNKNOWN:
            found.add((query, after))
    return found


def coreferent(item: Encoded) -> Pairs:
    found = set()
    for one in item.example.mentions:
        for other in item.example.mentions:
            if one.entity == other.entity and one.head != other.head:
                found |= {
                    (query, key)
                    for query in range(len(item))
                    for key in range(len(item))
                    if item.word[query] == one.head and item.word[key] == other.head
                }
    return found


def dependency(
    item: Encoded, labels: Sequence[str], direction: str = "to head", *, fold: bool = False
) -> Pairs:
    up = set()
    for index, word in enumerate(item.example.words):
        label = (
            word.relation[: word.relation.index(":")]
            if fold and ":" in word.relation
            else word.relation
        )
        if label in labels and word.head is not None and word.head != ROOT:
            up |= {
                (query, key)
                for query in range(len(item))
                for key in range(len(item))
                if item.word[query] == index and item.word[key] == word.head
            }
    down = {(key, query) for query, key in up}
    return {"to head": up, "from head": down, "both": up | down}[direction]


FOUR = ("nsubj", "dobj", "obj", "amod", "advmod")
TWINS: dict[str, Callable[[Encoded], Pairs]] = {
    "local": lambda item: near(item, -2, 2),
    "previous-local": lambda item: near(item, -2, -1),
    "next-local": lambda item: near(item, 1, 2),
    "delimiter": lambda item: of_kind(item, START, SEPARATOR),
    "cls": lambda item: of_kind(item, START),
    "sep": lambda item: of_kind(item, SEPARATOR),
    "block": block,
    "syntactic": lambda item: dependency(item, FOUR),
    "nsubj": lambda item: dependency(item, ["nsubj"]),
    "dobj": lambda item: dependency(item, ["dobj", "obj"]),
    "amod": lambda item: dependency(item, ["amod"]),
    "advmod": lambda item: dependency(item, ["advmod"]),
    "word pieces": same_word,
    "question mark": question,
    "first token": lambda item: {(query, 0) for query in range(len(item))},
    "duplicate": duplicate,
    "induction": induction,
    "coreferent": coreferent,
}
LEARNED = {"rare word"}


def pairs_of(one: Sieve, item: Encoded) -> Pairs:
    """What our sieve gives, as a set."""
    found = one.relation(item)
    if found is None:
        return set()
    pairs = {(int(query), int(key)) for query, key in np.argwhere(found.matrix())}
    expected = [sum(query == row for query, _ in pairs) for row in range(len(item))]
    assert found.sizes().tolist() == expected
    assert found.sizes(causal=True).tolist() == [
        sum(query == row and key <= query for query, key in pairs) for row in range(len(item))
    ]
    return pairs


def rare(made: Made, corpus: Sequence[Made]) -> Pairs:
    """The words with a letter or digit, and a piece, that the corpus has least often, upper and
    lower case alike.
    """
    counts = Counter(word.lower() for other in corpus for word in other.words)
    units = [
        unit
        for unit, word in enumerate(made.words)
        if word not in {"?", "!", "？"} and unit in made.item.unit.tolist()
    ]
    fewest = min((counts[made.words[unit].lower()] for unit in units), default=0)
    chosen = [unit for unit in units if counts[made.words[unit].lower()] == fewest]
    return {
        (query, key)
        for query in range(len(made.item))
        for key in range(len(made.item))
        if made.item.unit[key] in chosen
    }


@pytest.fixture(autouse=True)
def registry():
    """What a test registers is gone after it."""
    known_sieves()
    before = dict(SIEVES._entries)
    SIEVES._asked = False
    yield
    SIEVES._entries = before
    SIEVES._asked = False


def test_every_sieve_of_ours_has_a_twin():
    assert {name for name, one in known_sieves().items() if not one.own} == set(TWINS) | LEARNED


@given(made=items())
@settings(deadline=None, max_examples=80)
def test_a_sieve_is_the_set_of_pairs_that_its_twin_finds(made):
    for name, twin in TWINS.items():
        assert pairs_of(known_sieves()[name], made.item) == twin(made.item), name


@given(made=items(), direction=st.sampled_from(DIRECTIONS), fold=st.booleans())
@SETTINGS
def test_dependency_sieves_follow_direction_and_subtypes(made, direction, fold):
    ours = dependency_sieves(direction, fold)
    assert set(ours) == {"syntactic", *SYNTACTIC}
    expected = dependency(made.item, FOUR, direction, fold=fold)
    assert pairs_of(ours["syntactic"], made.item) == expected
    expected = dependency(made.item, ["nsubj"], direction, fold=fold)
    assert pairs_of(ours["nsubj"], made.item) == expected
    expected = dependency(made.item, ["det"], direction, fold=fold)
    assert pairs_of(dependency_sieve("det", ["det"], direction, fold), made.item) == expected


@given(corpus=st.lists(items(), min_size=1, max_size=4))
@SETTINGS
def test_the_rare_word_is_the_one_that_the_corpus_has_least_often(corpus):
    learned = known_sieves()["rare word"].ready([made.item.example for made in corpus])
    for made in corpus:
        assert pairs_of(learned, made.item) == rare(made, corpus)


def test_the_roles_of_the_paper_come_first_in_the_order_of_its_text():
    role = Role().bind(context(), [])
    assert tuple(role.dims["role"]) == tuple(
        name for name in PAPER if not known_sieves()[name].needs
    ) + tuple(name for name, one in known_sieves().items() if name not in PAPER and not one.needs)
    assert PAPER[0] == "local"


# A user's own


def context() -> Context:
    return Context(Shape(2, 5, 24))


def texts() -> Corpus:
    return from_texts(["a dog sat.", "the old cat sat."])


def asked(*names: str) -> Any:
    """The scores of some roles in a planted model."""
    return survey(planted_bert(), texts(), measures=[Role(roles=names)], max_length=24)["role"]


def test_a_decorated_function_is_a_role_with_its_title_and_is_not_changed():
    def even(tokens):
        return [place % 2 == 0 for place in range(len(tokens))]

    assert headscope.sieve("even", title="Even places")(even) is even
    found = asked("even", "cls")
    assert found["role"].values.tolist() == ["even", "cls"]
    assert '"even": "Even places"' in found.attrs["titles"]
    uniform = found["mean"].sel(layer=2, head=5)
    assert uniform.values == pytest.approx([1.0, 1.0], rel=1e-6)
    on_start = found["mean"].sel(
        layer=1, head=4, role="even"
    )  # all attention on the first token: 6 tokens, 3 even ones; 7 and 4
    assert float(on_start) == pytest.approx((6 / 3 + 7 / 4) / 2, rel=1e-6)


def test_a_user_sieve_joins_all_others_where_no_role_is_named():
    sieve("mine")(lambda tokens: [True] * len(tokens))
    names = Role().bind(context(), texts()).dims["role"]
    assert names[-1] == "mine"
    assert names[0] == "local"


def test_a_user_sieve_may_be_defined_again_as_in_a_notebook_but_ours_may_not():
    sieve("mine", title="one")(lambda tokens: None)
    sieve("mine", title="two")(lambda tokens: None)
    assert known_sieves()["mine"].title == "two"
    for name in ("local", "rare word", "nsubj", "syntactic"):
        error = refusal(UserError, sieve(name), lambda tokens: None)
        assert error.message == f"there is already a sieve called {name!r}"
        assert error.hint == "choose another name"


def test_a_sieve_must_be_a_function():
    message = r"the sieve 'mine' must be a function of an example's tokens, got 3 instead"
    with pytest.raises(UserError, match=message):
        sieve("mine")(3)  # type: ignore[arg-type]


def test_what_a_sieve_needs_is_asked_of_the_corpus():
    sieve("mine", needs="tree")(lambda tokens: None)
    assert Role().bind(context(), texts()).absent["mine"].startswith("the corpus has no tree: ")
    with pytest.raises(UserError, match="the role 'mine' needs tree, which this corpus lacks"):
        asked("mine")


def test_a_sieve_that_learns_is_given_the_corpus_first():
    def common(corpus):
        longest = max(len(example.texts[0]) for example in corpus)
        return lambda tokens: [len(tokens.example.texts[0]) == longest] * len(tokens)

    sieve("longest", learns=True)(common)
    found = asked("longest")
    assert (found["n"] == 1).all()  # one text of two
    assert found["id"].values[np.isfinite(found["value"].values).all((1, 2, 3))].tolist() == ["2"]


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (lambda size: np.ones((size, size + 1), bool), "bool of shape (6, 7)"),
        (lambda size: [True] * (size - 1), "bool of shape (5,)"),
        (lambda size: True, "bool of shape ()"),
        (lambda size: [1] * size, "int64 of shape (6,)"),
        (lambda size: np.ones((size, size)), "float64 of shape (6, 6)"),
        (lambda size: ["yes"] * size, "<U3 of shape (6,)"),
    ],
)
def test_a_sieve_of_the_wrong_shape_or_type_is_told_with_the_example(returned, told):
    sieve("mine")(lambda tokens: returned(len(tokens)))
    error = refusal(UserError, asked, "mine")
    assert error.message == (
        "the sieve 'mine' must give true and false for each of the example's 6 tokens, or for "
        f"each pair of them; it gave {told} for example 1"
    )
    message = "return a boolean array of shape (T, T) or (T,): see the docs, 'Write a sieve'"
    assert error.hint == message


@pytest.mark.parametrize("wrong", ["raises", "ragged", "learning"])
def test_a_sieve_that_fails_is_told_with_the_example_and_the_error(wrong):
    def failing(tokens):
        return [[True], [True, False]] if wrong == "ragged" else tokens.text[1000]

    sieve("mine", learns=wrong == "learning")(failing)
    error = refusal(UserError, asked, "mine")
    where = "the corpus" if wrong == "learning" else "example 1"
    kind = {"raises": "IndexError", "ragged": "ValueError", "learning": "AttributeError"}[wrong]
    assert error.message.startswith(f"the sieve 'mine' fails on {where}: {kind}: ")
    assert error.hint == "fix it, then run it again"


def test_an_example_without_any_pair_and_one_of_none_are_left_out():
    sieve("nothing")(lambda tokens: np.zeros((len(tokens), len(tokens)), bool))
    sieve("none")(lambda tokens: None)
    sieve("second")(lambda tokens: [True] * len(tokens) if tokens.example.id == "2" else None)
    found = asked("nothing", "none", "second")
    assert found["n"].isel(layer=0, head=0).values.tolist() == [0, 0, 1]
    assert found["mean"].isnull().all(("layer", "head")).values.tolist() == [True, True, False]


FILE = """
import numpy as np
import headscope as hs

def _capital(piece):
    return piece[:1].isupper()

@hs.sieve("capitals", title="Words with a capital letter")
def capitals(tokens):
    return [_capital(piece) for piece in tokens.text]

@hs.sieve("itself")
def itself(tokens):
    return np.eye(len(tokens), dtype=bool)
"""


def test_a_file_brings_its_sieves_as_rows_and_as_matrices(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    assert load_sieves(file) == ["capitals", "itself"]
    assert load_sieves(str(file)) == ["capitals", "itself"]  # once more: they take their own place
    (item,) = (
        planted_bert()
        .encoder(max_length=24, long="truncate", stack="encoder")
        .encode(from_texts(["a Dog sat"]))
    )
    expected = {(query, 2) for query in range(5)}
    assert pairs_of(known_sieves()["capitals"], item) == expected  # [CLS] a Dog sat [SEP]
    assert pairs_of(known_sieves()["itself"], item) == {(place, place) for place in range(5)}
    own = asked("itself")["mean"]
    found = float(own.sel(layer=1, head=3, role="itself"))  # the head on the current token
    assert found == pytest.approx((6 + 7) / 2, rel=1e-6)  # of 6 tokens and of 7


@pytest.mark.parametrize(
    "change",
    [("isupper", "islower"), ("np.eye(", "~np.eye(")],
    ids=["what a sieve calls", "a sieve"],
)
def test_changed_code_makes_another_run(tmp_path, change):
    file = tmp_path / "mine.py"
    identities = []
    for text in (FILE, FILE, FILE.replace(*change)):
        file.write_text(text)
        load_sieves(file)
        role = Role(roles=("capitals", "itself", "cls"))
        identities.append(role.bind(Context(Shape(1, 1, 1)), texts()).identity())
    assert identities[0] == identities[1] != identities[2]
    assert identities[0].endswith(", cls")  # ours go with the version


def test_code_without_a_file_is_known_by_what_was_compiled():
    def digest(text):
        space: dict[str, Any] = {"hs": headscope, "__name__": "typed"}
        exec(text, space)
        return known_sieves()["typed"].digest

    typed = (
        "@hs.sieve('typed')\ndef typed(tokens):\n    return [len(piece) > 2 for piece in "
        "tokens.text if piece in {'a', 'b'}]\n"
    )
    first = digest(typed)
    assert digest("\n\n" + typed) == first
    changes = (("> 2", "> 3"), ("'b'", "'c'"), (".text", ".types"))
    assert len({first, *(digest(typed.replace(*change)) for change in changes)}) == 4


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        (
            "mine.txt",
            "",
            "a file of sieves must be a Python file (.py); {path!r} is not one",
            "check the path",
        ),
        (
            "absent.py",
            None,
            "a file of sieves must be a Python file (.py); {path!r} does not exist",
            "check the path",
        ),
        (
            "mine.py",
            "1 / 0",
            "the file of sieves {path} cannot be run: ZeroDivisionError: division by zero",
            "run it with python to see where it fails",
        ),
        (
            "mine.py",
            "def (",
            "the file of sieves {path} cannot be run: SyntaxError: ",
            "run it with python to see where it fails",
        ),
        (
            "mine.py",
            "x = 1",
            "{path} defines no sieve",
            "decorate a function with @headscope.sieve('name')",
        ),
        (
            "mine.py",
            "import headscope as hs\n@hs.sieve('local')\ndef local(tokens): ...",
            "there is already a sieve called 'local'",
            "choose another name",
        ),
    ],
)
def test_a_file_that_brings_no_sieve_is_refused_with_the_reason(
    tmp_path, name, text, message, hint
):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    error = refusal(UserError, load_sieves, path)
    assert error.message.startswith(
        message.replace("{path!r}", repr(str(path))).replace("{path}", str(path))
    )
    assert error.hint == hint


class Point:
    """An entry point as an installed package leaves it."""

    name, value = "theirs", "their_package:sieves"

    def __init__(self, load: Callable[[], None]) -> None:
        self.load = load


def test_an_entry_point_brings_sieves_once_and_after_ours(monkeypatch):
    loaded: list[int] = []

    def load():
        loaded.append(1)
        sieve("theirs")(lambda tokens: [True] * len(tokens))

    monkeypatch.setattr(
        "headscope.registry.entry_points",
        lambda *, group: [Point(load)] if group == "headscope.sieves" else [],
    )
    assert list(known_sieves())[-1] == "theirs"
    assert "theirs" in known_sieves()
    assert loaded == [1]
