"""Tasks in languages other than English: features decide, and what is missing is said.

The Spanish treebank is made by hand from a small lexicon; what each sentence's label should be is
known when it is written. German and Japanese are real treebanks.
"""

from __future__ import annotations

import gzip
from collections import Counter
from itertools import product
from random import Random

import conllu
import pytest

from headscope.corpus import ROOT, Word, read
from headscope.tasks.make import report_tasks
from headscope.tasks.sentences import OBJECT, SUBJECT, Sentence, Treebank, sentences_of, usable
from headscope.tasks.ten import number, obj_number, past_present, subj_number, tense, word_content
from tasks.handmade import examples
from written import written

FIN = "Mood=Ind|Person=3|Tense={}|VerbForm=Fin"
NOUNS = [
    ("perro", "perros", "Masc"), ("gata", "gatas", "Fem"), ("niño", "niños", "Masc"),
    ("vecina", "vecinas", "Fem"), ("pintor", "pintores", "Masc"), ("maestra", "maestras", "Fem"),
    ("médico", "médicos", "Masc"), ("reina", "reinas", "Fem"), ("ladrón", "ladrones", "Masc"),
    ("abuela", "abuelas", "Fem"), ("pastor", "pastores", "Masc"), ("monja", "monjas", "Fem"),
]  # fmt: skip
THINGS = [
    ("libro", "libros", "Masc"), ("mesa", "mesas", "Fem"), ("queso", "quesos", "Masc"),
    ("flor", "flores", "Fem"), ("barco", "barcos", "Masc"), ("carta", "cartas", "Fem"),
    ("vino", "vinos", "Masc"), ("llave", "llaves", "Fem"), ("tren", "trenes", "Masc"),
    ("casa", "casas", "Fem"), ("pan", "panes", "Masc"), ("silla", "sillas", "Fem"),
]  # fmt: skip
VERBS = ["mira", "busca", "pinta", "compra", "limpia", "roba", "guarda", "cuida"]
ARTICLES = {("Masc", 0): "el", ("Masc", 1): "los", ("Fem", 0): "la", ("Fem", 1): "las"}
NUMBERS = ("Sing", "Plur")


def noun_phrase(entry: tuple[str, str, str], many: int, relation: str, first: int, head: int):
    """An article and a noun whose first word has the number ``first``."""
    form, gender = entry[many], entry[2]
    feats = f"Gender={gender}|Number={NUMBERS[many]}"
    yield ARTICLES[gender, many], "DET", f"{feats}|PronType=Art", first + 1, "det"
    yield form, "NOUN", feats, head, relation


def clause(stem: str, way: str, many: int):
    """Verb forms as (form, universal tag, features, is an auxiliary), and the label."""
    end = "n" if many else ""
    root = stem[:-1]
    if way == "present":
        return [(stem + end, "VERB", FIN.format("Pres"), False)], "PRES"
    if way == "imperfect":
        return [(f"{root}aba{end}", "VERB", FIN.format("Imp"), False)], "PAST"
    if way == "perfect":  # the finite auxiliary decides, not the past participle
        auxiliary = (f"ha{end}", "AUX", FIN.format("Pres"), True)
        participle = "Gender=Masc|Number=Sing|Tense=Past|VerbForm=Part"
        return [auxiliary, (f"{root}ado", "VERB", participle, False)], "PRES"
    if way == "pluperfect":
        auxiliary = (f"había{end}", "AUX", FIN.format("Imp"), True)
        participle = "Gender=Masc|Number=Sing|Tense=Past|VerbForm=Part"
        return [auxiliary, (f"{root}ado", "VERB", participle, False)], "PAST"
    if way == "future":
        return [(f"{root}ará{end}", "VERB", FIN.format("Fut"), False)], None
    return [(f"{root}e{end}", "VERB", "Mood=Sub|Tense=Pres|VerbForm=Fin", False)], None


WAYS = ("present", "imperfect", "perfect", "pluperfect", "future", "subjunctive")


def spanish() -> tuple[str, dict[str, tuple[str | None, str, str]]]:
    """A treebank, and by text: tense, number of the subject, number of the object."""
    blocks, labels = [], {}
    cases = product(range(len(NOUNS)), range(2), range(2), range(len(VERBS)))
    for place, (who, many, several, verb) in enumerate(cases):
        way = WAYS[(who + verb + many) % len(WAYS)]
        verbs, label = clause(VERBS[verb], way, many)
        thing = THINGS[(who + 5 * verb + 3 * many) % len(THINGS)]
        root = 2 + len(verbs)
        rows = [*noun_phrase(NOUNS[who], many, "nsubj", 1, root)]
        for form, upos, feats, auxiliary in verbs:
            rows.append(
                (form, upos, feats, root if auxiliary else 0, "aux" if auxiliary else "root")
            )
        rows += noun_phrase(thing, several, "obj", root + 1, root)
        rows.append(("ya", "ADV", "", root, "advmod"))
        rows.append((".", "PUNCT", "", root, "punct"))
        lines = [f"# sent_id = {place}"]
        for place_in, (form, upos, feats, head, relation) in enumerate(rows, 1):
            cells = [place_in, form, form, upos, "_", feats or "_", head, relation, "_", "_"]
            lines.append("\t".join(map(str, cells)))
        blocks.append("\n".join(lines))
        text = " ".join(row[0] for row in rows)
        labels[text] = (label, ("NN", "NNS")[many], ("NN", "NNS")[several])
    return "\n\n".join(blocks) + "\n\n", labels


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("es") / "es.conllu", spanish()[0])
    return usable(sentences_of(read(path)))[0]


@pytest.mark.parametrize(("make", "place"), [(past_present, 0), (subj_number, 1), (obj_number, 2)])
def test_a_third_language_has_the_labels_that_its_sentences_were_written_with(
    sentences, make, place
):
    drafts = make(Treebank(sentences), Random(0))
    assert not drafts.lacking
    expected = {text: found[place] for text, found in spanish()[1].items() if found[place]}
    assert {draft.text: draft.label for draft in drafts.items} == expected
    assert len(expected) + drafts.skipped.total() == len(sentences) == len(spanish()[1])


def test_the_word_that_a_tense_is_about_is_the_finite_one(sentences):
    targets = {draft.target for draft in past_present(Treebank(sentences), Random(0)).items}
    assert {"ha", "han", "había", "habían", "mira", "miran", "miraba", "miraban"} <= targets
    assert not any(word.endswith(("ado", "ará", "arán", "e", "en")) for word in targets)


def test_words_of_word_content_are_never_function_words(sentences):
    nouns = {form for entry in [*NOUNS, *THINGS] for form in entry[:2]}
    verbs = {
        clause(stem, way, many)[0][-1][0] for stem, way, many in product(VERBS, WAYS, range(2))
    }
    chosen = {draft.label for draft in word_content(Treebank(sentences), Random(0)).items}
    assert chosen
    assert chosen <= nouns | verbs


@pytest.mark.parametrize(
    ("feats", "expected"),
    [
        ("Mood=Ind|Tense=Pres|VerbForm=Fin", ("PRES", "w")),
        ("Mood=Ind|Tense=Pqp|VerbForm=Fin", ("PAST", "w")),
        ("Tense=Past", ("PAST", "w")),
        ("Mood=Ind|Tense=Fut|VerbForm=Fin", "whose main verb is neither past nor present"),
        ("Tense=Past|VerbForm=Part", "whose main verb is neither past nor present"),
        ("Mood=Sub|Tense=Past|VerbForm=Fin", "whose main verb is not in the indicative"),
        ("Mood=Imp|VerbForm=Fin", "whose main verb is not in the indicative"),
        ("", "whose main verb is neither past nor present"),
    ],
)
def test_the_tense_of_a_root_is_that_of_its_features(feats, expected):
    root = Word("w", head=ROOT, relation="root", upos="VERB", feats=feats)
    assert tense(Sentence("1", "", (root,))) == expected


def test_a_finite_auxiliary_without_tense_such_as_a_modal_leaves_the_clause_without_one():
    would = Word("would", head=1, relation="aux", upos="AUX", feats="VerbForm=Fin")
    go = Word("go", head=ROOT, relation="root", upos="VERB", feats="Tense=Pres|VerbForm=Fin")
    assert tense(Sentence("1", "", (would, go))) == "whose main verb is neither past nor present"


def test_names_pronouns_and_other_numbers_have_no_number():
    root = Word("w", head=ROOT, upos="VERB")
    for upos, feats, expected in (
        ("NOUN", "Number=Plur", ("NNS", "x")),
        ("NOUN", "Number=Dual", None),
        ("NOUN", "Case=Nom", None),
        ("PROPN", "Number=Sing", None),
        ("PRON", "Number=Sing", None),
    ):
        for relations, relation, what in (
            (SUBJECT, "nsubj", "subject"),
            (OBJECT, "obj", "direct object"),
        ):
            word = Word("X", head=1, relation=relation, upos=upos, feats=feats)
            found = number(relations, what)(Sentence("1", "", (word, root)))
            reason = f"whose main clause has no {what} that is a singular or plural noun"
            assert found == (expected or reason)


@pytest.fixture(scope="module")
def german(shared):
    return shared / "data" / "treebank" / "de_gsd-ud-dev.conllu.gz"


@pytest.mark.shared
def test_german_number_and_tense_are_those_of_the_conllu_librarys_features(german):
    with gzip.open(german, "rt", encoding="utf-8") as file:
        text = file.read()
    trees = {
        " ".join(token["form"] for token in tree if isinstance(token["id"], int)): tree
        for tree in conllu.parse(text)
    }
    reports = {report.title: report for report in report_tasks(read(german))}
    for title, relation in (("SubjNum", "nsubj"), ("ObjNum", "obj")):
        task = reports[title].task
        assert task is not None
        assert Counter(len(task.counts(split)) for split in task.splits) == {2: 3}
        for example in examples(task):
            root = trees[example.texts[0]].to_tree()
            (node,) = [
                child for child in root.children if child.token["deprel"].split(":")[0] == relation
            ]
            expected = {"Sing": "NN", "Plur": "NNS"}[node.token["feats"]["Number"]]
            assert (example.label, node.token["upos"]) == (expected, "NOUN")
    task = reports["Tense"].task
    assert task is not None
    for example in examples(task):
        root = trees[example.texts[0]].to_tree()
        finite = [
            node.token["feats"]["Tense"]
            for node in [
                *(c for c in root.children if c.token["deprel"].split(":")[0] in {"aux", "cop"}),
                root,
            ]
            if (node.token["feats"] or {}).get("VerbForm") == "Fin"
        ]
        assert example.label == {"Past": "PAST", "Pres": "PRES"}[finite[0]]


@pytest.mark.shared
def test_japanese_refuses_what_its_annotation_cannot_give_and_says_what_is_missing(shared):
    path = shared / "data" / "treebank" / "ja_gsd-ud-dev.conllu.gz"
    reasons = {report.title: report.reason for report in report_tasks(read(path))}
    assert reasons["Tense"] == "its verbs have neither the feature Tense= nor Penn tags"
    for title in ("SubjNum", "ObjNum"):
        assert reasons[title] == "its nouns have neither the feature Number= nor Penn tags"
    assert reasons["Length"] == reasons["BigramShift"] == ""
