"""Real results to draw."""

import pytest

from headscope.results import Atlas
from page.samples import demo_file


@pytest.fixture(scope="session")
def demo_results(tmp_path_factory):
    """Six examples of the built-in corpus, surveyed with the embedded model; made once."""
    return Atlas.open(demo_file(tmp_path_factory.getbasetemp()))
