"""Sentences written by hand, and what tasks were made from."""

from headscope.corpus import ROOT, Word
from headscope.tasks.sentences import Sentence, sentences_of
from headscope.tasks.task import SPLITS


def words(text):
    """Words from ``form/tag/head/relation``.

    Heads count from 1, 0 is the root; a tag ``UPOS+XPOS`` has both.
    """
    found = []
    for cell in text.split():
        form, tag, head, relation = cell.rsplit("/", 3)
        upos, _, xpos = tag.partition("+")
        found.append(Word(form, 0, 0, int(head) - 1 if int(head) else ROOT, relation, upos, xpos))
    return tuple(found)


def sentence(text):
    return Sentence("1", "", words(text))


CLAUSES = {
    "universal": (
        "It/PRON+PRP/2/nsubj rained/VERB+VBD/0/root ,/PUNCT+,/6/punct and/CCONJ+CC/6/cc "
        "we/PRON+PRP/6/nsubj left/VERB+VBD/2/conj early/ADV+RB/6/advmod ./PUNCT+./2/punct"
    ),
    "stanford": (
        "It/PRP/2/nsubj rained/VBD/0/root ,/,/2/punct and/CC/2/cc we/PRP/6/nsubj "
        "left/VBD/2/conj early/RB/6/advmod ././2/punct"
    ),
}


def examples(task):
    return [example for split in SPLITS for example in task.splits[split]]


def originals(task, demo):
    """Each example with the words of the sentence that it was made from."""
    by_id = {found.id: found for found in sentences_of(demo)}
    return [(example, by_id[example.id].words) for example in examples(task)]
