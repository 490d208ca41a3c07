"""The command mcp: results served to an assistant, over the Model Context Protocol.

Tools are functions of the same words as commands. An assistant reads what it was given, by name;
it names no file and no model of its own, and it writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

from headscope.cli.app import FILES, ResultsFile, command
from headscope.cli.console import Console, plain_rows
from headscope.errors import UserError, unknown
from headscope.files import slug
from headscope.options import Option, Options

if TYPE_CHECKING:
    import pandas as pd
    from mcp.server.mcpserver import MCPServer

    from headscope.page.gallery import Paper
    from headscope.results import Atlas

MOST_TEXTS, MOST_CHARACTERS = 64, 50_000
"""What an assistant may survey at once."""
MOST_ROWS = 200
ABOUT = (
    "Headscope measures what every attention head of a transformer does. Heads are named "
    "LAYER-HEAD, both from 1 (3-9); L2H8 is the same head, both from 0. Numbers come with 95 % "
    "intervals; roles are those that passed a corrected test. Begin with list_models."
)
Row = dict[str, Any]
Given = ParamSpec("Given")


class McpOptions(Options):
    """Options of ``headscope mcp``.

    Parameters
    ----------
    paper
        A page made by 'headscope paper': its claims and verdicts.
    model
        Also let the assistant survey short texts with this model, which is then loaded. Default:
        it only reads.
    """

    paper: Annotated[Sequence[Path], Option(metavar="PAGE")] = ()
    model: Annotated[str, Option(metavar="MODEL", completes="models")] = ""


@command(FILES, "cli.agents:McpOptions", json=False)
def mcp(*results: ResultsFile, options: McpOptions, console: Console) -> None:
    """Let an assistant ask about results: an MCP server on standard input and output.

    The assistant's own settings name this command. It ends when the assistant does.

    Example: headscope mcp demo.nc other.nc --paper clark2019/clark2019.html
    """
    from headscope.models.names import check_model_name
    from headscope.page.gallery import read_paper
    from headscope.results import Atlas

    if find_spec("mcp") is None:
        raise UserError(
            "the protocol of assistants needs the library mcp, which is not installed",
            hint="pip install 'headscope[mcp]'",
        )
    if not results and not options.model:
        raise UserError(
            "there is nothing to ask about: no results, and no model",
            hint="give a results file (.nc), or --model demo",
        )
    if options.model:
        check_model_name(options.model)
    atlases = [Atlas.open(path) for path in results]
    desk = Desk(atlases, [read_paper(path) for path in options.paper], options.model)
    console.say("waiting for an assistant on standard input; Ctrl-C stops")
    server(desk).run()


class Desk:
    """What an assistant can ask: each method is a tool, and its docstring says what it is for.

    Parameters
    ----------
    atlases
        Results of surveys.
    papers
        Pages of papers.
    model
        The model that texts are surveyed with; empty for none.
    """

    def __init__(self, atlases: Sequence[Atlas], papers: Sequence[Paper], model: str = "") -> None:
        self.papers, self.model = papers, model
        self.atlases: dict[str, Atlas] = {}
        for atlas in atlases:
            name = slug(str(atlas.provenance.get("model", {}).get("name", "")))
            name = name if name not in self.atlases else f"{name}-{len(self.atlases) + 1}"
            self.atlases[name] = atlas

    def _atlas(self, results: str) -> Atlas:
        if not results and len(self.atlases) == 1:
            return next(iter(self.atlases.values()))
        if not self.atlases:
            raise UserError("nothing has been measured yet", hint="call survey_texts first")
        if results not in self.atlases:
            raise unknown("results", results, self.atlases)
        return self.atlases[results]

    async def list_models(self) -> list[Row]:
        """List the models that were measured: their names here, the corpus, and what the heads do
        in a few sentences.
        """
        return [_about(name, atlas) for name, atlas in self.atlases.items()]

    async def describe_head(self, head: str, top: int = 10, results: str = "") -> Row:
        """Say what one head does, with the evidence: its roles, relations and statistics.

        head: LAYER-HEAD from 1 (3-9), or L2H8 from 0. top: rows of each table. results: a name from
        list_models; it may be left out where there is only one.
        """
        passport = self._atlas(results).head(head)
        return {
            "title": passport.title,
            "description": passport.description.lead,
            "evidence": passport.description.evidence,
            "sentences": passport.sentences,
            "roles": _rows(passport.roles, top),
            "relations": _rows(passport.relations, top),
            "statistics": _rows(passport.statistics, top),
        }

    async def find_heads(
        self, where: str = "", by: str = "", top: int = 20, results: str = ""
    ) -> list[Row]:
        """Find heads: 'is:nsubj', 'entropy < 1.5 and layer 3-5', 'position:previous > 0.5'.

        by: sort by a statistic, such as position:previous. An unknown name is answered with those
        that are known.
        """
        return _rows(self._atlas(results).heads(where=where, by=by), top)

    async def show_examples(
        self, head: str, relation: str = "", top: int = 5, results: str = ""
    ) -> list[Row]:
        """Show texts on which a head does what it does, with its strongest links.

        relation: only this one, such as nsubj; then texts for and against it.
        """
        examples = self._atlas(results).examples(head, relation=relation, k=min(top, MOST_ROWS))
        return _rows(examples, top)

    async def list_claims(self) -> list[Row]:
        """List what papers on attention heads claim, and whether it holds in these models."""
        return [
            {"paper": paper.title, "file": paper.path.name, "claim": claim, "verdict": verdict}
            for paper in self.papers
            for claim, verdict in paper.claims
        ]

    async def survey_texts(self, texts: list[str]) -> Row:
        """Measure all heads on a few short texts of your own, and say what they do there.

        The results can then be asked about under the name that is returned.
        """
        import headscope as hs

        size = sum(map(len, texts))
        if len(texts) > MOST_TEXTS or size > MOST_CHARACTERS:
            raise UserError(
                f"an assistant may survey {MOST_TEXTS} texts of {MOST_CHARACTERS:,} characters in "
                f"all; got {len(texts)} of {size:,}",
                hint="for more, use 'headscope survey'",
            )
        name = f"survey-{len(self.atlases) + 1}"
        self.atlases[name] = hs.survey(self.model, texts, progress=False)
        return _about(name, self.atlases[name])


def server(desk: Desk) -> MCPServer[Any]:
    """The server of a desk; :meth:`run` serves it."""
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    from headscope import __version__

    served: MCPServer[Any] = MCPServer(
        "headscope", instructions=ABOUT, version=__version__, log_level="WARNING"
    )
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tools: list[Callable[..., Awaitable[Any]]] = [desk.list_models, desk.describe_head]
    tools += [desk.find_heads, desk.show_examples]
    tools += [desk.list_claims] if desk.papers else []
    tools += [desk.survey_texts] if desk.model else []
    for tool in tools:
        # Coroutines run one after the other: netCDF files are not to be read by several threads.
        served.add_tool(_explaining(tool), description=getdoc(tool), annotations=reading)
    return served


def _explaining(tool: Callable[Given, Awaitable[Any]]) -> Callable[Given, Awaitable[Any]]:
    """A tool whose errors tell the assistant what to do."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def explaining(*args: Given.args, **kwargs: Given.kwargs) -> Any:
        try:
            return await tool(*args, **kwargs)
        except UserError as error:
            advice = f"; {error.hint}" if error.hint else ""
            raise ToolError(f"{error.message}{advice}") from None

    return explaining


def _about(name: str, atlas: Atlas) -> Row:
    about = atlas.provenance
    layers, heads = atlas.shape
    return {
        "results": name,
        "model": str(about.get("model", {}).get("name", "?")),
        "heads": f"{layers} layers × {heads} heads",
        "corpus": str(about.get("corpus", {}).get("name", "")),
        "measures": list(atlas.measures),
        "summary": atlas.remarks(),
    }


def _rows(frame: pd.DataFrame, top: int) -> list[Row]:
    """The first rows of a table, with digits that a reader can use."""
    return plain_rows(frame.head(min(top, MOST_ROWS)).round(4).to_dict("records"))
