"""`holdfast plan lint` and `holdfast plan graph`, on real files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from holdfast.kernel.errors import NotFound
from holdfast.plans.discovery import documents, files
from tests.cli.conftest import Holdfast
from tests.plans.samples import AUTO, DECISION, INTEGRATION, text
from tests.trusting import trust_settings

PROSE = '<task type="auto"><name>Write it</name><action>Write it well</action></task>\n'


@pytest.fixture
def phases(repository: Path) -> Path:
    """Two phases as the project keeps them, with files beside the plans."""
    folder = repository / ".autopilot" / "phases"
    for phase in ("002", "010"):
        (folder / phase).mkdir(parents=True)
        (folder / phase / "ROUTE.md").write_text(text(phase=phase.lstrip("0")))
        (folder / phase / "LOGBOOK.md").write_text("---\nplan: none\n---\n")
        (folder / phase / "PHASE.md").write_text("# A phase\n")
        (folder / phase / "notes.md").write_text("---\ntitle: no plan\n---\n")
    (folder / "002" / "02-ROUTE.md").write_text(text(phase="2", plan="02", depends_on='["01"]'))
    return folder


def names(paths: list[str], root: Path) -> list[str]:
    return [os.path.relpath(path, root) for path in paths]


def test_a_bare_call_finds_the_projects_plans(phases: Path, repository: Path) -> None:
    found = names(files([], str(repository), str(repository)), phases)
    assert found == ["002/02-ROUTE.md", "002/ROUTE.md", "010/ROUTE.md"]
    below = phases / "002"
    assert files([], str(below), str(repository)) == files([str(phases)], "/", str(repository))
    assert names(files(["ROUTE.md"], str(below), str(repository)), phases) == ["002/ROUTE.md"]


def test_a_file_given_twice_is_one_plan(phases: Path, repository: Path) -> None:
    (phases / "link.md").symlink_to(phases / "002" / "ROUTE.md")
    given = [str(phases / "002"), str(phases / "002" / "ROUTE.md"), str(phases / "link.md")]
    assert len(files(given, "/", str(repository))) == 2


def test_what_is_not_there_is_said(phases: Path, repository: Path) -> None:
    for name in ("gone.md", "README.md/x"):
        with pytest.raises(NotFound, match="There is no file"):
            files([name], str(repository), str(repository))
    (repository / "empty").mkdir()
    with pytest.raises(NotFound, match="There is no plan in empty"):
        files(["empty"], str(repository), str(repository))
    with pytest.raises(NotFound, match="no plans in"):
        files([], str(repository), str(repository / "empty"))


def test_a_broken_plan_in_a_folder_is_not_passed_over(repository: Path) -> None:
    folder = repository / "plans"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"---\nphase: 1\nplan: 01\nwave: [\n---\n\xff")
    (folder / "b.md").write_text("\ufeff---\r\nplan: 02\r\nphase: 1\r\n---\r\n")
    (folder / "ROUTE.md").write_text("nothing yet")
    os.mkfifo(folder / "pipe.md")
    found = documents(files(["plans"], str(repository), str(repository)), str(repository))
    assert [(one["path"], one["problems"][0]["code"]) for one in found] == [
        ("plans/a.md", "NOT_UTF8"),
        ("plans/b.md", "NO_TASK"),
        ("plans/ROUTE.md", "NO_FRONTMATTER"),
    ]


def test_lint_says_that_nothing_is_wrong(holdfast: Holdfast, phases: Path) -> None:
    answer = holdfast("plan", "lint")
    assert (answer.code, answer.out) == (0, "3 plan files, and nothing is wrong.\n")
    data = holdfast("plan", "lint", "--json").data
    assert data["plans"] == ["2/02", "2/01", "10/01"]
    assert (data["errors"], data["warnings"], data["findings"]) == (0, 0, [])


@pytest.mark.clause("PILOT-80", "PILOT-82", "PILOT-84", "PILOT-87")
def test_lint_and_graph_say_the_type_of_a_plan_and_its_reason_before_a_run(
    holdfast: Holdfast, phases: Path
) -> None:
    """In the document's order: UI changes count before a backend."""
    routes = {
        "004": text(phase="4", is_backend_only="true", is_integration="true"),
        "005": text(phase="5", is_backend_only="true"),
        "006": text(phase="6"),
    }
    for name, route in routes.items():
        (phases / name).mkdir()
        (phases / name / "ROUTE.md").write_text(route.replace("autonomous: true\n", ""))
    reasons = (
        "Integration requires end-to-end verification",
        "Backend verified by tests",
        "Later phases need verification",
    )
    lint, graph = holdfast("plan", "lint").out, holdfast("plan", "graph").out
    for reason in reasons:
        assert reason in graph
    for number, kind, reason in zip(
        (4, 5, 6), ("human-verify", "autonomous", "human-verify"), reasons, strict=True
    ):
        assert re.search(rf"^{number}/01 +{kind} +{reason}$", lint, re.MULTILINE)


def test_lint_lists_every_problem_with_its_place_and_ends_with_1(
    holdfast: Holdfast, phases: Path
) -> None:
    (phases / "002" / "ROUTE.md").write_text(text(phase="2", wav="1"))
    (phases / "010" / "ROUTE.md").write_text(text(phase="10", depends_on="[nine]"))
    answer = holdfast("plan", "lint")
    assert answer.code == 1
    assert answer.out.splitlines() == [
        ".autopilot/phases/002/ROUTE.md:5:1: error: there is no field 'wav' (UNKNOWN_FIELD)",
        "   instead: Did you mean wave? A field of your own begins with x-",
        ".autopilot/phases/010/ROUTE.md:5:1: error: there is no plan 'nine' to depend on "
        "(UNKNOWN_PLAN)",
        "   instead: Give its file, too, or the folder of all of them.",
        "2 errors, 0 warnings in 3 plan files.",
    ]
    envelope = holdfast("plan", "lint", "--json")
    assert envelope.code == 1
    assert envelope.data["findings"][0] == {
        "path": ".autopilot/phases/002/ROUTE.md",
        "line": 5,
        "column": 1,
        "code": "UNKNOWN_FIELD",
        "level": "error",
        "what": "there is no field 'wav'",
        "instead": "Did you mean wave? A field of your own begins with x-",
    }


def test_a_task_for_an_agent_needs_the_setting(holdfast: Holdfast, repository: Path) -> None:
    (repository / "plan.md").write_text(text(PROSE))
    refused = holdfast("plan", "lint", "plan.md")
    assert refused.code == 1
    assert "NO_AGENT" in refused.out
    (repository / "holdfast.toml").write_text('[plan]\nagent = "claude -p"\n')
    assert "holdfast trust" in holdfast("plan", "lint", "plan.md").out
    trust_settings()
    assert holdfast("plan", "lint", "plan.md").code == 0


def test_warnings_are_no_reason_to_stop_unless_strict(holdfast: Holdfast, repository: Path) -> None:
    (repository / "plan.md").write_text(text(autonomous="false"))
    assert holdfast("plan", "lint", "plan.md").code == 0
    assert holdfast("plan", "lint", "--strict", "plan.md").code == 1


def test_escapes_of_a_plan_do_not_reach_the_terminal(holdfast: Holdfast, repository: Path) -> None:
    (repository / "plan.md").write_text(text(AUTO + "<task type='\u202e\x9b31m'></task>"))
    (repository / "\x1b[31m.md").write_text("no plan")
    answer = holdfast("plan", "lint", "plan.md", "\x1b[31m.md")
    assert answer.code == 1
    assert not set("\x1b\x9b\u202e") & set(answer.out)


def test_the_graph_is_shown_as_text_data_and_a_flowchart(holdfast: Holdfast, phases: Path) -> None:
    answer = holdfast("plan", "graph")
    assert answer.code == 0
    assert answer.out.startswith("Phase 2  2 plans in 2 waves\n  wave 1")
    assert re.search(r"^    02  Build 1  1 task +after 01$", answer.out, re.M), answer.out
    data = holdfast("plan", "graph", "--json").data
    assert [phase["phase"] for phase in data["phases"]] == ["2", "10"]
    assert data["phases"][0]["waves"][1]["plans"][0]["depends_on"] == ["2/01"]
    assert data["mermaid"] == ""
    printed = holdfast("plan", "graph", "--mermaid").out
    assert printed.startswith("flowchart LR\n")
    assert "  plan1 --> plan2\n" in printed
    assert holdfast("plan", "graph", "--mermaid", "--json").data["mermaid"] + "\n" == printed


def test_plans_with_errors_are_drawn_as_far_as_they_go(
    holdfast: Holdfast, repository: Path
) -> None:
    (repository / "six.md").write_text(INTEGRATION)
    answer = holdfast("plan", "graph", "six.md")
    assert answer.code == 0
    assert "human-verify after task 4" in answer.out
    assert "plan lint" in answer.err
    (repository / "none.md").write_text("nothing")
    assert holdfast("plan", "graph", "none.md").code == 1
    assert holdfast("plan", "graph", "gone.md").code == 3
    assert holdfast("plan", "graph", "--run", "abcd1234").code == 3
    assert holdfast("plan", "graph", "--run", "abcd1234", "six.md").code == 2


def test_a_decision_of_the_protocols_own_example_is_sound(
    holdfast: Holdfast, repository: Path
) -> None:
    (repository / "plan.md").write_text(
        text(AUTO + DECISION.format(attributes=' name="store"'), autonomous="false")
    )
    assert holdfast("plan", "lint", "--strict", "plan.md").code == 0
