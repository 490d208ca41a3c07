"""The live explorer: a local server with a model behind the page. Needs the extra ``explorer``.

Here are its options and the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from headscope.models.names import check_loading
from headscope.options import PORT, PYTHON, RARE, ModelRun, takes

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.page.explorer.start import Explorer
    from headscope.results import Atlas

    ResultsLike = str | Path | Atlas
else:
    ResultsLike = Any


class ExploreOptions(ModelRun):
    """Options of :func:`explore`.

    Parameters
    ----------
    results
        Results of the same model, or their file: the page then has all views of the report, too.
    port
        The port of the page; 0 uses any free one.
    browser
        Open the page in the default browser.
    wait
        Return only after Ctrl-C. False returns at once; close the explorer yourself.
    stack
        encoder or decoder, for models with both. Default: the encoder.
    say
        Called with the page's address, and with warnings.
    """

    prefix: ClassVar[str] = "explore"

    results: Annotated[ResultsLike | None, PYTHON] = field(default=None, kw_only=False)
    port: Annotated[int, PORT] = 0
    browser: bool = True
    wait: Annotated[bool, PYTHON] = True
    stack: Annotated[str, RARE] = ""
    say: Annotated[Callable[[str], None], PYTHON] = field(default=print, compare=False)


@takes(ExploreOptions)
def explore(model: ModelLike, options: ExploreOptions) -> Explorer:
    """Look at a model's heads live: type a text, switch heads off, see what changes.

    A page is served on this machine only, at an address with a secret part, until Ctrl-C.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, ``"demo-llm"``, a :class:`~headscope.models.Model`, or a
        network with its tokenizer, ``(network, tokenizer)``. A model that is loaded by name gets
        the head it was saved with. Predictions are shown for language models and classifiers. A
        model that is being explored must not be run elsewhere at the same time.

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
    from headscope.page.serving import check_server, open_browser, open_port

    check_server("the explorer")
    check_loading(model, options)
    open_port(options.port).close()  # before anything is loaded
    from headscope.page.explorer.start import Explorer
    from headscope.results import Atlas

    results = options.results
    atlas = Atlas.open(results) if isinstance(results, str | Path) else results
    with options.reporter.status("loading libraries and model"):
        from headscope.models import as_model
        from headscope.runs.live import LiveModel

        loaded = as_model(model, options, head="own")
    try:
        explorer = Explorer(LiveModel(loaded, stack=options.stack), atlas, port=options.port)
    except BaseException:
        if loaded is not model:
            loaded.close()
        raise
    for note in [*loaded.notes, *explorer.notes]:
        options.say(f"note: {note}")
    options.say(explorer.address)
    if options.browser:
        explorer.leading_on = open_browser(explorer.address)
    if options.wait:
        explorer.wait()
    return explorer
