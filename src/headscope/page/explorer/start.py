"""Start the explorer from Python or from the command line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headscope.errors import ResultsError
from headscope.options import Loading
from headscope.page.packs.examples import example_packs
from headscope.page.serving import (
    address_of,
    check_server,
    make_server,
    new_token,
    open_browser,
    open_port,
)
from headscope.results import Atlas

if TYPE_CHECKING:
    from headscope.models import ModelLike
    from headscope.page.explorer.app import LiveAnswers

STARTING = 30.0
"""Seconds that a server may take to start."""


class Explorer:
    """An explorer that is being served, in a thread of its own.

    Parameters
    ----------
    live
        The model.
    atlas
        Results of the same model, for the other views.
    port
        0 uses any free port.

    Attributes
    ----------
    address : str
        Where the page is. It has a secret part and works on this machine only.
    notes : list of str
        Remarks that a user should read.

    Raises
    ------
    UserError
        If the port cannot be used, or the web server is not installed.
    ResultsError
        If the results are those of a model of another shape.
    """

    def __init__(self, live: LiveAnswers, atlas: Atlas | None = None, *, port: int = 0) -> None:
        check_server("the explorer")
        from headscope.page.explorer.app import make_explorer
        from headscope.page.explorer.data import ResultPacks
        from headscope.page.explorer.worker import Worker

        self.notes = check_results(live, atlas)
        self.leading_on: Path | None = None
        """The file that the browser was given."""
        opened = open_port(port)
        token = new_token()
        self.address = address_of(opened, token)
        self._worker = Worker()
        packs = ResultPacks(atlas, example_packs)
        threading.Thread(target=packs.get, args=("atlas",), daemon=True).start()  # soon asked for
        app = make_explorer(
            live,
            packs,
            self._worker,
            token=token,
            port=opened.getsockname()[1],
        )
        self._server = make_server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [opened]}, daemon=True
        )
        self._thread.start()
        began = time.monotonic()
        while not self._server.started and time.monotonic() - began < STARTING:
            time.sleep(0.01)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer at {self.address}"

    def wait(self) -> None:
        """Wait until Ctrl-C, or until the explorer is closed elsewhere."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server."""
        if self.leading_on is not None:
            self.leading_on.unlink(missing_ok=True)
        self._worker.close()
        self._server.should_exit = True
        self._thread.join(10)


def explore(
    model: ModelLike,
    results: str | Path | Atlas | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    wait: bool = True,
    stack: str = "",
    device: str = "cpu",
    say: Callable[[str], None] = print,
) -> Explorer:
    """Look at a model's heads live: type a text, switch heads off, see what changes.

    A page is served on this machine only, at an address with a secret part, until Ctrl-C.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, ``"demo-llm"``, a :class:`~headscope.models.Model`, or a
        network with its tokenizer, ``(network, tokenizer)``. A model that is loaded by name gets
        the head it was saved with; give ``headscope.load(name, head="own")`` for other options of
        loading. Predictions are shown for language models and classifiers. A model that is being
        explored must not be run elsewhere at the same time.
    results
        Results of the same model, or their file: the page then has all views of the report, too.
    port
        The port of the page; 0 uses any free one.
    browser
        Open the page in the default browser.
    wait
        Return only after Ctrl-C. False returns at once; close the explorer yourself.
    stack
        ``"encoder"`` or ``"decoder"``, for models with both. Default: the encoder.
    device
        Where to run a model that is loaded by name.
    say
        Called with the page's address, and with warnings.

    Returns
    -------
    Explorer
        The explorer, closed if ``wait`` is true.

    Raises
    ------
    UserError
        If the port cannot be used, or the web server is not installed.
    ResultsError
        If the results are those of a model of another shape.

    See Also
    --------
    headscope.attention : The maps of one text as labelled arrays.

    Examples
    --------
    >>> import headscope as hs
    >>> with hs.explore("demo", browser=False, wait=False, say=lambda text: None) as explorer:
    ...     explorer.address.startswith("http://127.0.0.1:")
    True
    """
    check_server("the explorer")
    from headscope.models import as_model
    from headscope.runs.live import Answers, LiveModel

    atlas = Atlas.open(results) if isinstance(results, str | Path) else results
    loaded = (
        as_model(model, Loading(device=device), head="own") if _named(model) else as_model(model)
    )
    try:
        explorer = Explorer(Answers(LiveModel(loaded, stack=stack)), atlas, port=port)
    except BaseException:
        if loaded is not model:
            loaded.close()
        raise
    for note in [*loaded.notes, *explorer.notes]:
        say(f"note: {note}")
    say(explorer.address)
    if browser:
        explorer.leading_on = open_browser(explorer.address)
    if wait:
        explorer.wait()
    return explorer


def check_results(live: LiveAnswers, atlas: Atlas | None) -> list[str]:
    """Check that results are those of a model; a warning if only their names differ.

    Raises
    ------
    ResultsError
        If the shapes differ.
    """
    if atlas is None:
        return []
    about, theirs = live.describe(), atlas.provenance.get("model", {})
    name = str(theirs.get("name", ""))
    if atlas.shape != (about["layers"], about["heads"]):
        raise ResultsError(
            f"the results are those of {name}, with {atlas.shape[0]} layers × {atlas.shape[1]} "
            f"heads; {about['name']} has {about['layers']} × {about['heads']}",
            hint="give results of the same model, or none",
        )
    if name and name != about["name"]:
        return [f"the results are those of {name}, and the model is {about['name']}"]
    return []


def _named(model: ModelLike) -> bool:
    return isinstance(model, str | Path)
