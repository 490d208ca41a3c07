"""``python -m headscope`` is the command ``headscope``."""

from headscope.cli import main

if __name__ == "__main__":
    main()
