"""The built-in corpus, the tasks made from it, and its trees as conllu reads them."""

import conllu
import pytest

from headscope.corpus import read
from headscope.corpus.builtin import builtin_files
from headscope.tasks.make import make_tasks


@pytest.fixture(scope="session")
def demo():
    return list(read("demo"))


@pytest.fixture(scope="session")
def made(demo):
    return {task.title: task for task in make_tasks(demo)}


@pytest.fixture(scope="session")
def parsed():
    """The sentences of the built-in corpus as the conllu library reads them, by their text."""
    files = [file for file in builtin_files() if file.suffix == ".conllu"]
    trees = [tree for file in files for tree in conllu.parse(file.read_text(encoding="utf-8"))]
    return {" ".join(token["form"] for token in tree): tree for tree in trees}
