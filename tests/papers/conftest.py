"""The recipe of Clark et al. 2019, run once on the embedded model."""

from __future__ import annotations

import pytest

from cli.conftest import run, small_nc, text, tiny_folder  # noqa: F401 (fixtures)
from headscope.papers import Clark2019

LIMIT = 3
EPOCHS = 1


@pytest.fixture(scope="session")
def clark(tmp_path_factory):
    """The folder of ``headscope paper clark2019 --limit 3 --epochs 1``."""
    folder = tmp_path_factory.mktemp("papers") / "clark"
    Clark2019("demo", output=folder, limit=LIMIT, epochs=EPOCHS).run()
    return folder
