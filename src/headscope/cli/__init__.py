"""The command line: thin. A user's mistake gets two lines, never a traceback."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from types import FrameType
from typing import Never

INTERRUPTED = 130
MISTAKE = 2
AGAIN = "type the same command again"
RARELY = 300_000
"""So many new objects make Python look for unused ones, instead of 700."""


def main() -> None:
    """Run the command line."""
    _stop_on_sigterm()
    try:
        _run()
    except KeyboardInterrupt as error:
        _end_at_once()
        if _loading(error):
            _fail(
                "stopped while libraries were loaded, before anything was started",
                AGAIN,
                INTERRUPTED,
            )
        _fail("stopped; whatever was written is whole", AGAIN, INTERRUPTED)
    finally:
        _end_at_once()


def _run() -> None:
    from headscope.cli.app import READING, called, run
    from headscope.errors import Interrupted, UserError

    words = sys.argv[1:]
    name = called(words)
    if name in READING:
        _collect_rarely()
    try:
        run(words)
    except UserError as error:
        if isinstance(error, Interrupted):
            _end_at_once()
        _fail(
            error.message,
            error.command or error.hint or f"see {' '.join(['headscope', *name.split()])} --help",
            INTERRUPTED if isinstance(error, Interrupted) else MISTAKE,
        )
    except MemoryError:
        _fail("there is not enough memory", "give fewer or shorter texts, or a smaller batch size")
    except BrokenPipeError:  # whoever reads the output has seen enough: "headscope heads x | head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # standard output, most likely: files have errors of their own
        _fail(_said(error), "check the disk, then type the same command again")
    except SystemExit:
        _flush()
        raise
    _flush()


def _loading(error: BaseException) -> bool:
    """Whether an interrupt came while a library was imported."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_name != "<module>":
        step = step.tb_next
    return step is not None


def _end_at_once() -> None:
    """Let Ctrl-C and SIGTERM end what is left of this process, which has nothing more to save.

    As exceptions, they would be raised in what Python and libraries do at the end, and be reported.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):  # not if it is ignored, as in the background
                signal.signal(number, signal.SIG_DFL)


def _collect_rarely() -> None:
    """Look for unused objects rarely: a command that reads results is over before that would free
    anything, and loses a tenth of its time. Not so for models, whose objects are large.
    """
    gc.set_threshold(RARELY)
    atexit.register(gc.freeze)  # nor does it pay to look for them one last time


def _fail(message: str, advice: str, code: int = MISTAKE) -> Never:
    """Print what was wrong and what to do next."""
    print(f"error: {message}", file=sys.stderr)
    print(f"next:  {advice}", file=sys.stderr)
    sys.exit(code)


def _said(error: OSError) -> str:
    where = error.filename or "the output"
    return f"{where} cannot be written or read: {error.strerror or error}"


def _flush() -> None:
    """Write what is left of the output; on a full disk that fails only now."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        # Python would try again at the end, and print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(_said(error), "check the disk, then type the same command again")


def _stop_on_sigterm() -> None:
    """Treat SIGTERM, with which schedulers stop jobs, as Ctrl-C: what was finished is kept."""
    if threading.current_thread() is not threading.main_thread():
        return

    def stop(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(number, frame)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
