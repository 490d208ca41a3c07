"""The grammar's sentences are English, and what is annotated on them is right."""

from itertools import islice, pairwise

import pytest

import headscope as hs
from headscope.corpus import ROOT
from headscope.corpus.grammar import grammar_corpus, grammar_trees, lexicon, opinions, paraphrases
from headscope.corpus.treebank import BracketTree
from headscope.errors import CorpusError
from written import texts_of


@pytest.fixture(scope="module")
def pairs():
    return list(islice(grammar_trees(), 1500))


@pytest.fixture(scope="module")
def examples(pairs):
    return [example for example, _ in pairs]


def features(word) -> dict[str, str]:
    return dict(pair.split("=") for pair in word.feats.split("|") if pair)


def test_a_seed_gives_the_same_sentences_every_time(examples):
    again = [example for example, _ in islice(grammar_trees(0), 50)]
    other = [example for example, _ in islice(grammar_trees(1), 50)]
    assert again == examples[:50]
    assert not {one.texts for one in again} & {one.texts for one in other}


def test_no_sentence_comes_twice_and_lengths_vary(examples):
    assert len({example.texts[0].casefold() for example in examples}) == len(examples)
    lengths = [len(example.words) for example in examples]
    assert min(lengths) == 5
    assert max(lengths) == 28
    for low in range(5, 25, 4):  # no class of Length is rare
        assert sum(low <= length < low + 4 for length in lengths) > 0.04 * len(lengths)


def test_the_corpus_is_read_by_name_and_knows_its_size_and_seed():
    corpus = hs.read("grammar")
    assert corpus.first(20).size() == 20
    assert {"tree", "tags", "mentions", "frames"} <= corpus.annotations
    assert corpus.about["read"] == {"seed": 0, "size": 10_000}
    assert corpus.checksum == hs.read("grammar").checksum
    assert grammar_corpus(30, seed=1).checksum != grammar_corpus(30, seed=2).checksum
    assert grammar_corpus(30).size() == 30
    with pytest.raises(CorpusError, match="columns applies to tables, not to the built-in grammar"):
        hs.read("grammar", columns="text")


def test_every_sentence_has_one_root_that_every_word_leads_to(examples):
    for example in examples:
        assert sum(word.head == ROOT for word in example.words) == 1
        for place in range(len(example.words)):
            at, steps = place, 0
            while example.words[at].head != ROOT:
                at, steps = example.words[at].head, steps + 1
                assert steps < len(example.words)


def spans(tree: BracketTree, start: int = 0) -> list[tuple[int, int]]:
    """First and last word of each constituent, by a plain walk."""
    if tree.word:
        return [(start, start)]
    found, at = [], start
    for part in tree.parts:
        inner = spans(part, at)
        found += inner
        at = inner[-1][1] + 1
    return [*found, (start, at - 1)]


def test_constituents_and_dependencies_are_of_one_mind(pairs):
    """Exactly one word of a constituent has its head outside."""
    for example, tree in pairs:
        leaves = list(tree.leaves())
        assert [leaf.word for leaf in leaves] == [word.text for word in example.words]
        assert [leaf.label for leaf in leaves] == [word.xpos for word in example.words]
        for start, end in spans(tree):
            inside = range(start, end + 1)
            heads = [place for place in inside if example.words[place].head not in inside]
            assert len(heads) == 1, (example.texts, start, end)


def test_number_and_tense_agree_with_tags(examples):
    for example in examples:
        for word in example.words:
            marks = features(word)
            assert (word.xpos == "NNS") == (word.upos == "NOUN" and marks["Number"] == "Plur")
            expected = marks.get("VerbForm") == "Fin" and marks["Tense"] == "Past"
            assert (word.xpos == "VBD") == expected
        tenses = {features(word)["Tense"] for word in example.words if "Fin" in word.feats}
        assert len(tenses) == 1, example.texts  # one sentence, one time


def test_verbs_in_the_present_agree_with_their_subjects(examples):
    checked = 0
    for example in examples:
        for place, subject in enumerate(example.words):
            if not subject.relation.startswith("nsubj") or subject.upos == "PRON":
                continue
            verb = subject.head
            finite = [
                word
                for at, word in enumerate(example.words)
                if (at == verb or (word.head == verb and word.relation.startswith("aux")))
                and word.xpos in ("VBZ", "VBP")
            ]
            coordinated = any(
                word.head == place and word.relation == "conj" for word in example.words
            )
            plural = coordinated or "Number=Plur" in subject.feats
            for word in finite:
                checked += 1
                assert (word.xpos == "VBP") == plural, example.texts
    assert checked > 500


def test_an_stands_before_vowels_alone(examples):
    odd = ("uni", "use", "one", "eu", "hour", "honest")
    for example in examples:
        words = example.texts[0].lower().split()
        for word, after in pairwise(words):
            if word in ("a", "an") and not after.startswith(odd):
                assert (word == "an") == (after[0] in "aeiou"), example.texts


def test_pronouns_mention_somebody_of_their_gender_and_number(examples):
    """Each is preceded by a mention of its entity; they for several, it for no person."""
    people, words = set(lexicon().nouns["person"]), 0
    names = {name: who for who, names in lexicon().names.items() for name in names}
    for example in examples:
        for mention in example.mentions:
            head = example.words[mention.head]
            if head.upos != "PRON":
                continue
            words += 1
            earlier = [
                example.words[one.head]
                for one in example.mentions
                if one.entity == mention.entity and example.words[one.head].upos != "PRON"
            ]
            assert earlier, example.texts
            noun, pronoun = earlier[0], head.lemma if head.xpos == "PRP" else head.text.lower()
            if noun.text in names:
                gender = "female" if pronoun in ("she", "her") else "male"
                assert names[noun.text] == gender or pronoun in ("they", "their")
            elif "Number=Plur" in noun.feats:
                assert pronoun in ("they", "them", "their")
            elif noun.lemma not in people:
                assert pronoun in ("it", "its", "they", "their"), example.texts
    assert words > 100


def test_frames_join_a_verb_with_its_arguments(examples):
    links = 0
    for example in examples:
        for link in example.links:
            links += 1
            assert example.words[link.target[0]].upos == "VERB"
            assert link.target[1] < link.filler[0] or link.filler[1] < link.target[0]
    assert links > len(examples)


def test_spacy_finds_nearly_the_same_trees(examples):
    """An outside judge: if these were not English sentences, its parser could not know."""
    from spacy.tokens import Doc

    from headscope.corpus.spacy import load_parser

    pipeline = load_parser()
    words = arcs = tags = 0
    for example in examples[:200]:
        doc = Doc(pipeline.vocab, words=[word.text for word in example.words])
        for _, part in pipeline.pipeline:
            doc = part(doc)
        for word, token in zip(example.words, doc, strict=True):
            head = ROOT if token.head.i == token.i else token.head.i
            relation = "root" if head == ROOT else token.dep_
            words += 1
            arcs += (head, relation) == (word.head, word.relation)
            tags += token.tag_ == word.xpos
    assert arcs > 0.9 * words
    assert tags > 0.95 * words


def test_an_opinion_is_the_polarity_of_its_words_unless_denied():
    said = lexicon().opinions
    for example in islice(opinions(), 600):
        lemmas = [word.lemma for word in example.words if word.upos in ("VERB", "ADJ")]
        heads = [word for word in example.words if word.head == ROOT or word.relation == "acomp"]
        positive = {
            polarity == "positive"
            for polarity, words in said.items()
            for word in heads
            if word.lemma in (*words["verb"], *words["said"])
        }
        assert len(positive) == 1, (example.texts, lemmas)
        denied = "not" in example.texts[0].split()
        assert example.label == ("positive" if positive.pop() != denied else "negative")


def test_a_paraphrase_says_that_the_same_did_the_same_to_the_same():
    for example in islice(paraphrases(), 600):
        said = []
        for segment in (0, 1):
            words = [(at, word) for at, word in enumerate(example.words) if word.segment == segment]
            root = next(at for at, word in words if word.head == ROOT)

            def under(at, *relations, words=words):
                return [
                    (place, word)
                    for place, word in words
                    if word.head == at and word.relation in relations
                ]

            passive = under(root, "auxpass")
            agent = under(root, "agent")
            doer = under(agent[0][0], "pobj") if passive else under(root, "nsubj")
            done_to = under(root, "nsubjpass") if passive else under(root, "dobj")
            denied = bool(under(root, "neg"))
            verb = example.words[root].lemma
            said.append((verb, doer[0][1].text, done_to[0][1].text, denied))
        assert example.label == ("paraphrase" if said[0] == said[1] else "contradiction")


@pytest.mark.parametrize("write", [opinions, paraphrases])
def test_labels_come_in_turn_and_nothing_comes_twice(write):
    found = list(islice(write(), 600))
    labels = [example.label for example in found]
    assert labels.count(labels[0]) == 300
    assert len({example.texts for example in found}) == 600
    assert texts_of(islice(write(), 600)) == texts_of(found)
