"""``python -m headscope`` is the command ``headscope``."""

import os
import sys

# Python puts the current folder first for -m; what lies there must not run as a part of us. Both
# modules above are Python's own in any case: it has imported them before.
try:
    here = os.getcwd()  # noqa: PTH109
except OSError:  # the folder was removed
    here = ""
if not sys.flags.safe_path and sys.path[:1] == [here]:
    del sys.path[0]

from headscope.cli import main

if __name__ == "__main__":
    main()
