"""Slow twins: each measure as plain loops over one example's map, written from the papers and from
nothing else.

A map is a list of rows, ``map[i][j]`` the attention from token i to token j, real tokens only. NaN
is "not defined".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import log, nan

from headscope.corpus import ROOT, Mention, Word
from headscope.encode import SEPARATOR, START

Map = Sequence[Sequence[float]]
Answer = tuple[str, str, str]


def position(map: Map, *, causal: bool = False) -> dict[str, float]:
    """Mean attention to the previous, the current and the next token, over the tokens that have
    one; no next token in a causal model.
    """
    found = {}
    for name, step in (("previous", -1), ("current", 0), ("next", 1)):
        total, count = 0.0, 0
        for query in range(len(map)):
            key = query + step
            if 0 <= key < len(map):
                total += map[query][key]
                count += 1
        found[name] = total / count if count and not (causal and step == 1) else nan
    return found


def special(map: Map, kinds: Sequence[int], stops: Sequence[bool]) -> dict[tuple[str, str], float]:
    """Mean attention to [CLS], to all [SEP]s together, to "." and "," together, from all rows,
    from [SEP] rows and from all others.
    """
    found = {}
    for token in ("cls", "sep", "punctuation"):
        for row in ("all", "sep", "other"):
            total, count, columns = 0.0, 0, 0
            for key in range(len(map)):
                if _is(token, kinds[key], stops[key]):
                    columns += 1
            for query in range(len(map)):
                if row == "all" or (kinds[query] == SEPARATOR) == (row == "sep"):
                    count += 1
                    for key in range(len(map)):
                        if _is(token, kinds[key], stops[key]):
                            total += map[query][key]
            found[token, row] = total / count if count and columns else nan
    return found


def _is(token: str, kind: int, stop: bool) -> bool:
    return {"cls": kind == START, "sep": kind == SEPARATOR, "punctuation": bool(stop)}[token]


def entropy(map: Map, kinds: Sequence[int], *, causal: bool = False) -> dict[str, float]:
    """Mean over rows of -Σ α ln α; of the [CLS] row alone; and of uniform attention to what a
    token sees (ln L where it sees all).
    """
    rows, starts, uniform = [], [], []
    for query in range(len(map)):
        total = 0.0
        for weight in map[query]:
            if weight > 0.0:
                total -= weight * log(weight)
        rows.append(total)
        if kinds[query] == START:
            starts.append(total)
        uniform.append(log(query + 1) if causal else log(len(map)))
    return {
        "all": sum(rows) / len(rows),
        "cls": sum(starts) / len(starts) if starts else nan,
        "uniform": sum(uniform) / len(uniform),
    }


def peak(map: Map) -> dict[str, float]:
    """The first strongest key of every row: its place, its distance from the row's, its weight.

    Places go from 0 to 1; there are none with one key, and no distances with one row.
    """
    places, distances, weights = [], [], []
    for query, row in enumerate(map):
        best = 0
        for key, weight in enumerate(row):
            if weight > row[best]:
                best = key
        place = best / (len(row) - 1) if len(row) > 1 else nan
        places.append(place)
        distances.append(abs(place - query / (len(map) - 1)) if len(map) > 1 else nan)
        weights.append(row[best])
    return {
        "position": sum(places) / len(places),
        "distance": sum(distances) / len(distances),
        "weight": sum(weights) / len(weights),
    }


def repetition(map: Map, ids: Sequence[int], known: Sequence[bool]) -> dict[str, float]:
    """Attention to what followed each earlier occurrence of a token, and to the occurrences.

    Only known tokens count; what followed must stand before the token itself.
    """
    sums: dict[str, list[float]] = {"induction": [], "duplicate": []}
    for query in range(len(map)):
        before = [
            key for key in range(query) if known[key] and known[query] and ids[key] == ids[query]
        ]
        after = [key + 1 for key in before if key + 1 <= query - 1 and known[key + 1]]
        for name, keys in (("induction", after), ("duplicate", before)):
            if keys:
                sums[name].append(sum(map[query][key] for key in keys))
    return {name: sum(found) / len(found) if found else nan for name, found in sums.items()}


def sink(map: Map, place: int, length: int, *, causal: bool) -> float:
    """Mean attention to the token at a place (from 1) over the first rows that see it."""
    if len(map) < length:
        return nan
    first = place if causal else 1
    rows = [map[query - 1][place - 1] for query in range(first, length + 1)]
    return sum(rows) / len(rows)


def streaming(map: Map, first: int, recent: int, *, causal: bool) -> dict[str, float]:
    """Attention to first, recent and distant tokens, from the rows that have a distant one."""
    rows = []
    for query, weights in enumerate(map):
        found = {"first": 0.0, "recent": 0.0, "distant": 0.0}
        distant = False
        for key, weight in enumerate(weights):
            if causal and key > query:
                continue
            kind = "distant"
            if key < first:
                kind = "first"
            elif abs(query - key) < recent:
                kind = "recent"
            distant = distant or kind == "distant"
            found[kind] += weight
        if distant:
            rows.append(found)
    names = ("first", "recent", "distant")
    return {name: sum(row[name] for row in rows) / len(rows) if rows else nan for name in names}


def reach(map: Map) -> dict[str, float]:
    """Mean over rows of the mean distance, of the mean squared distance and of the variance."""
    once, twice, variances = [], [], []
    for query, weights in enumerate(map):
        mean = sum(weight * abs(query - key) for key, weight in enumerate(weights))
        once.append(mean)
        twice.append(sum(weight * (query - key) ** 2 for key, weight in enumerate(weights)))
        variances.append(
            sum(weight * (abs(query - key) - mean) ** 2 for key, weight in enumerate(weights))
        )
    size = len(map)
    return {
        "distance": sum(once) / size,
        "square": sum(twice) / size,
        "variance": sum(variances) / size,
    }


def confidence(map: Map, kinds: Sequence[int]) -> float:
    """Mean over rows of the largest weight, without the row and the column of [SEP]."""
    found = []
    for query, weights in enumerate(map):
        if kinds[query] != SEPARATOR:
            kept = [weight for key, weight in enumerate(weights) if kinds[key] != SEPARATOR]
            found.append(max(kept, default=0.0))
    return sum(found) / len(found) if found else nan


def word_map(
    map: Map, words: Sequence[int]
) -> tuple[list[int], list[list[float]], list[list[float]]]:
    """The words with a piece, in order; the attention from each to each (mean over its pieces
    of the sum over the other's); and to each token that is no word.
    """
    order: list[int] = []
    for word in words:
        if word >= 0 and word not in order:
            order.append(word)
    order.sort()
    others = [token for token in range(len(map)) if words[token] < 0]
    between, outside = [], []
    for source in order:
        pieces = [token for token in range(len(map)) if words[token] == source]
        row = []
        for target in order:
            keys = [key for key in range(len(map)) if words[key] == target]
            row.append(sum(map[query][key] for query in pieces for key in keys) / len(pieces))
        between.append(row)
        outside.append([sum(map[query][key] for query in pieces) / len(pieces) for key in others])
    return order, between, outside


def mean(values: Sequence[float]) -> tuple[float, int]:
    """The mean of the values that are defined, and how many are."""
    known = [value for value in values if value == value]
    return (sum(known) / len(known) if known else nan), len(known)


def dependency(
    map: Map,
    words: Sequence[int],
    tree: Sequence[Word],
    offsets: Mapping[str, int],
    *,
    held_out: Mapping[str, int] | None = None,
    fold: bool = False,
    special: bool = False,
) -> tuple[Counter[Answer], Counter[Answer]]:
    """Right answers and all answers, by direction, relation, and whether the fixed offset is right
    (the best of all sentences, and the best of the other half); keys are (direction, relation,
    words). Only words of the same sentence are candidates, and with ``special`` the first and the
    last token, which are special.
    """
    order, between, outside = word_map(map, words)

    def rests(word: int) -> bool:
        """Whether a special token has more attention than any candidate; of equals, the left."""
        row = order.index(word)
        best = _most(order, tree, word, lambda one, other: between[one][other])
        most = between[row][order.index(best)] if best >= 0 else -1.0
        return special and (outside[row][0] >= most or outside[row][-1] > most)

    right: Counter[Answer] = Counter()
    total: Counter[Answer] = Counter()
    for word in order:
        head = tree[word].head
        if head is None or (head != ROOT and head not in order):
            continue
        stand = word  # what counts for the word, whichever way the question is put
        if clitic(tree, word) and word + 1 in order:
            stand = word + 1
        answers = {
            "dependent to head": head != ROOT
            and not rests(stand)
            and _most(order, tree, stand, lambda one, other: between[one][other]) == head
        }
        answers["head to dependent"] = (
            head != ROOT
            and not rests(head)
            and _most(order, tree, head, lambda one, other: between[one][other]) == stand
        )
        answers["head to dependent by column"] = (
            head != ROOT
            and _most(order, tree, stand, lambda one, other: between[other][one]) == head
        )
        relations = ["all"]
        if head != ROOT:
            if tree[word].relation != "punct" and tree[word].upos != "PUNCT":
                relations.append("all but root and punctuation")
            if tree[word].relation:
                relations.append(tree[word].relation.split(":")[0] if fold else tree[word].relation)
        for relation in relations:
            kinds = ["every"]
            for kind, by in (("offset right", offsets), ("held-out offset right", held_out)):
                stands = word + clitic(tree, word) + by[relation] if by else None
                if head not in (ROOT, None) and stands == head:
                    kinds.append(kind)
            for direction, answer in answers.items():
                for kind in kinds:
                    total[direction, relation, kind] += 1
                    right[direction, relation, kind] += answer
    return right, total


def _most(
    order: Sequence[int], tree: Sequence[Word], word: int, weight: Callable[[int, int], float]
) -> int:
    """The other word of the sentence with the largest weight, the leftmost of equals; -2 if there
    is no other.
    """
    best, most = -2, -1.0
    for place, other in enumerate(order):
        if tree[other].sentence != tree[word].sentence:
            continue
        if other != word and weight(order.index(word), place) > most:
            best, most = other, weight(order.index(word), place)
    return best


def clitic(tree: Sequence[Word], word: int) -> int:
    """1 if the next word of a possessor's sentence is a clitic, which then stands for it (for a
    head in every direction and for the offset), else 0.
    """
    if tree[word].relation not in ("poss", "nmod:poss") or word + 1 == len(tree):
        return 0
    after = tree[word + 1]
    if after.sentence != tree[word].sentence:
        return 0
    return 1 if after.text in ("'s", "'S", "\u2019s", "s'", "'", "\u2019") else 0


def best_offsets(trees: Sequence[Sequence[Word]], *, fold: bool = False) -> dict[str, int]:
    """For each relation the offset, of -10 … 10, at which most heads stand; of equals the
    shorter, then the one to the right. 1 where there are no arcs.
    """
    found: dict[str, int] = {}
    labels = {
        word.relation.split(":")[0] if fold else word.relation
        for tree in trees
        for word in tree
        if word.head not in (None, ROOT) and word.relation
    }
    for label in ["all", "all but root and punctuation", *sorted(labels)]:
        best, most = 1, 0
        for offset in [sign * step for step in range(1, 11) for sign in (1, -1)]:
            count = 0
            for tree in trees:
                for place, word in enumerate(tree):
                    name = word.relation.split(":")[0] if fold else word.relation
                    core = word.relation != "punct" and word.upos != "PUNCT"
                    if (
                        word.head not in (None, ROOT)
                        and word.head == place + clitic(tree, place) + offset
                        and (label in ("all", name) or (label.startswith("all but") and core))
                    ):
                        count += 1
            if count > most:
                best, most = offset, count
        found[label] = best
    return found


def coreference(
    map: Map, words: Sequence[int], tree: Sequence[Word], mentions: Sequence[Mention]
) -> tuple[Counter[Answer], Counter[Answer]]:
    """Coreference without the rules: right and all answers by (candidates, kind, mentions)."""
    order, between, _ = word_map(map, words)
    right: Counter[Answer] = Counter()
    total: Counter[Answer] = Counter()
    kept = [mention for mention in mentions if mention.head in order]
    for mention in kept:
        earlier = [other for other in kept if other.head < mention.head]
        antecedents = [other.head for other in earlier if other.entity == mention.entity]
        if not antecedents:
            continue
        nearest = max(earlier, key=lambda other: (other.head, other.start, other.end))
        text = tree[mention.head].text.lower()
        alike = [other for other in earlier if tree[other.head].text.lower() == text]
        groups = ["every"]
        if nearest.entity == mention.entity:
            groups.append("nearest right")
        if (
            alike
            and max(alike, key=lambda other: (other.head, other.start, other.end)).entity
            == mention.entity
        ):
            groups.append("same head word right")
        row = between[order.index(mention.head)]
        for candidates in ("mentions", "words"):
            allowed = set(order) - {mention.head}
            if candidates == "mentions":
                allowed = {other.head for other in earlier}
            choice, most = -1, -1.0
            for place, word in enumerate(order):
                if word in allowed and row[place] > most:
                    choice, most = word, row[place]
            for kind in {"all", mention.kind} - {""}:
                for group in groups:
                    total[candidates, kind, group] += 1
                    right[candidates, kind, group] += choice in antecedents
    return right, total


def gradient(
    slopes: Map, kinds: Sequence[int], stops: Sequence[bool], *, causal: bool = False
) -> dict[str, float]:
    """The mean of |∂loss/∂α| over the weights on [SEP], on full stops and commas, and on
    others; a causal model has no weights on later tokens.
    """
    found = {}
    for token in ("sep", "punctuation", "other"):
        values = []
        for query in range(len(slopes)):
            for key in range(query + 1 if causal else len(slopes)):
                kind = (
                    "sep" if kinds[key] == SEPARATOR else "punctuation" if stops[key] else "other"
                )
                if kind == token:
                    values.append(abs(slopes[query][key]))
        found[token] = sum(values) / len(values) if values else nan
    return found


def profile(map: Map, part: Sequence[bool], *, causal: bool = False) -> dict[str, list[float]]:
    """The sum of attention and the number of pairs of tokens by offset, further than 32 together.

    ``part`` says which tokens take part, as queries and as keys.
    """
    found: dict[str, list[float]] = {}
    for query in range(len(map)):
        for key in range(query + 1 if causal else len(map)):
            if part[query] and part[key]:
                cell = found.setdefault(offset_name(key - query), [0.0, 0])
                cell[0] += map[query][key]
                cell[1] += 1
    return found


def offset_name(offset: int) -> str:
    """The bin of an offset."""
    return "earlier" if offset < -32 else "later" if offset > 32 else str(offset)


def arcs(
    map: Map,
    tree: Sequence[Word],
    word: Sequence[int],
    part: Sequence[bool],
    *,
    causal: bool = False,
) -> dict[tuple[str, str], list[float]]:
    """The sum of attention and the number of pairs along the arcs of every relation, both ways."""
    found: dict[tuple[str, str], list[float]] = {}
    for query in range(len(map)):
        for key in range(query + 1 if causal else len(map)):
            if not (part[query] and part[key] and word[query] >= 0 and word[key] >= 0):
                continue
            up, down = tree[word[query]], tree[word[key]]
            for way, relation in (
                ("dependent to head", up.relation if up.head == word[key] else None),
                ("head to dependent", down.relation if down.head == word[query] else None),
            ):
                if relation is not None:
                    cell = found.setdefault((relation, way), [0.0, 0])
                    cell[0] += map[query][key]
                    cell[1] += 1
    return found


def beyond_position(
    attention: Sequence[float],
    profile: Sequence[Sequence[float]],
    tokens: Sequence[Sequence[float]],
    arcs: Sequence[Sequence[float]],
) -> tuple[float, float, float]:
    """One head and one relation: the ratio of the attention along its arcs to what the head's
    offsets alone would give, the difference per pair, and the standard error of the difference.

    By document: ``attention`` along the arcs; by document and offset: the head's attention
    (``profile``), the pairs of ``tokens``, and the pairs of the relation (``arcs``).
    """

    def without(left_out: int | None) -> tuple[float, float, float]:
        kept = [document for document in range(len(attention)) if document != left_out]
        alone = 0.0
        for offset in range(len(tokens[0])):
            count = sum(tokens[document][offset] for document in kept)
            if count:
                mean = sum(profile[document][offset] for document in kept) / count
                alone += mean * sum(arcs[document][offset] for document in kept)
        pairs = sum(sum(arcs[document]) for document in kept)
        return sum(attention[document] for document in kept), alone, pairs

    whole, alone, pairs = without(None)
    difference, size = (whole - alone) / pairs, len(attention)
    square = 0.0
    for document in range(size):
        one, other, left = without(document)
        square += ((one - other) / left - difference) ** 2
    return whole / alone, difference, square**0.5
