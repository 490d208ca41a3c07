"""The explorer that is being served."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headscope.errors import ResultsError
from headscope.page.packs.examples import example_packs
from headscope.page.serving import address_of, check_server, make_server, new_token, open_port
from headscope.results import Atlas

if TYPE_CHECKING:
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
        from headscope.page.explorer.app import ResultPacks, make_explorer
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
        app = make_explorer(live, packs, self._worker, token=token, port=opened.getsockname()[1])
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
            hint="give results= of the same model, or leave it out",
        )
    if name and name != about["name"]:
        return [f"the results are those of {name}, and the model is {about['name']}"]
    return []
