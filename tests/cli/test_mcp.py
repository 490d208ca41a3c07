"""headscope mcp, asked by the client of the official package, over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from cli.conftest import Run
from headscope.cli.agents import Desk, server

Question = tuple[str, dict[str, Any]]


def ask(program: Any, questions: list[Question]) -> tuple[list[str], list[Any]]:
    """The names of the tools, and what each question is answered: data, or the text of an error."""
    from mcp import Client

    async def talk() -> tuple[list[str], list[Any]]:
        async with Client(program, read_timeout_seconds=60) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            answers = [await client.call_tool(name, given) for name, given in questions]
            return [tool.name for tool in tools], [_data(answer) for answer in answers]

    with ThreadPoolExecutor(1) as thread:  # in this one, a browser's events may be waited for
        return thread.submit(asyncio.run, talk()).result()


def _data(answer: Any) -> Any:
    if answer.is_error:
        return answer.content[0].text
    data = answer.structured_content
    return data["result"] if set(data) == {"result"} else data


def served(*words: str) -> Any:
    """The command in a process of its own."""
    from mcp import StdioServerParameters

    return StdioServerParameters(command=sys.executable, args=["-m", "headscope", "mcp", *words])


@pytest.mark.slow
def test_an_assistant_over_standard_input_is_answered_what_python_says(demo_nc: Path) -> None:
    atlas = hs.open(demo_nc)
    passport = atlas.head("1-3")
    tools, answers = ask(
        served(str(demo_nc), "-q"),
        [
            ("list_models", {}),
            ("describe_head", {"head": "L0H2", "top": 1}),
            ("find_heads", {"where": "position:previous > 0.5"}),
            ("show_examples", {"head": "1-3", "top": 2}),
        ],
    )
    assert tools == ["list_models", "describe_head", "find_heads", "show_examples"]
    (model,), head, found, examples = answers
    assert (model["results"], model["summary"]) == ("demo", atlas.remarks())
    assert (head["title"], head["description"]) == (passport.title, passport.description.lead)
    assert len(head["statistics"]) == 1
    assert [row["head"] for row in found] == [
        str(one) for one in atlas.find("position:previous > 0.5")
    ]
    assert [row["text"] for row in examples] == atlas.examples("1-3", k=2)["text"].tolist()


def test_a_mistake_is_answered_with_advice_and_ends_nothing(made_nc: Path) -> None:
    results = hs.open(made_nc)
    _, answers = ask(
        server(Desk([results, results], [])),
        [
            ("find_heads", {"where": "entorpy < 2", "results": "made"}),
            ("describe_head", {"head": "9-9", "results": "made"}),
            ("describe_head", {"head": "1-1"}),
            ("list_claims", {}),
            ("survey_texts", {"texts": ["The dog barks."]}),
            ("list_models", {}),
        ],
    )
    misspelt, absent, unnamed, claims, survey, models = answers
    assert "did you mean 'entropy'?" in misspelt
    assert "the model has no head 9-9" in absent
    names = [model["results"] for model in models]
    assert len(set(names)) == 2
    assert f"the results must be one of {names[0]}, {names[1]}; got '' instead" in unnamed
    assert "Unknown tool" in claims  # no page of a paper, no model: not offered
    assert "Unknown tool" in survey


def test_with_a_model_an_assistant_may_measure_short_texts_and_ask_about_them() -> None:
    texts = ["The dog barks at the cat.", "A cat sleeps."]
    _, answers = ask(
        server(Desk([], [], "demo")),
        [
            ("find_heads", {}),
            ("survey_texts", {"texts": ["long " * 20_000]}),
            ("survey_texts", {"texts": texts}),
            ("find_heads", {"by": "position:previous", "top": 1}),
        ],
    )
    early, refused, survey, best = answers
    assert "nothing has been measured yet; call survey_texts first" in early
    assert "64 texts of 50,000 characters in all; got 1 of 100,000" in refused
    assert survey["corpus"] == "2 texts"
    expected = hs.survey("demo", texts).heads(by="position:previous", top=1)
    assert [row["head"] for row in best] == expected["head"].tolist()
    column = "attention to the previous token"
    assert best[0][column] == pytest.approx(float(expected[column].iloc[0]), abs=1e-4)


def test_claims_are_those_of_the_pages_given(tmp_path: Path) -> None:
    from headscope.page.gallery import Paper

    page = Paper(tmp_path / "clark.html", "Clark", "abc", (("heads look back", "holds"),))
    tools, (claims,) = ask(server(Desk([], [page])), [("list_claims", {})])
    assert "list_claims" in tools
    row = {"paper": "Clark", "file": "clark.html", "claim": "heads look back", "verdict": "holds"}
    assert claims == [row]


def test_nothing_to_ask_about_is_refused(run: Run) -> None:
    outcome = run("mcp")
    assert outcome.code == 2
    assert outcome.told == [
        "error: there is nothing to ask about: no results, and no model",
        "next:  give a results file (.nc), or --model demo",
    ]
    outcome = run("mcp", "--model", "./missing")
    assert outcome.told[0] == "error: there is no folder ./missing"


def test_without_the_library_its_name_is_said(
    run: Run, made_nc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.cli.agents.find_spec", lambda name: None)
    assert run("mcp", made_nc).told[1] == "next:  pip install 'headscope[mcp]'"
