"""The command line: thin. A user's mistake gets two lines, never a traceback."""

from __future__ import annotations

import sys

INTERRUPTED = 130
MISTAKE = 2


def main() -> None:
    """Run the command line."""
    from headscope.cli.app import app
    from headscope.errors import Interrupted, UserError

    try:
        app()
    except UserError as error:
        print(f"error: {error.message}", file=sys.stderr)
        print(
            f"next:  {error.command or 'see headscope ' + sys.argv[1] + ' --help'}", file=sys.stderr
        )
        sys.exit(INTERRUPTED if isinstance(error, Interrupted) else MISTAKE)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(INTERRUPTED)
