"""``python tools/freeze``: what it does stands in running.py."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # this folder is a package, not a place of modules
from freeze.running import main  # noqa: E402

sys.exit(main())
