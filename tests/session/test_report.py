"""The completion report: the last thing on standard output, and the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.session.rules import report
from tests.session.conftest import Break
from tests.session.world import WORK, Holdfast, holdfast_process
from tests.trackers import faults
from tests.trackers.fake_linear import FakeLinear

LINE = r"(Failed|Skipped): (Persist progress|Git snapshot|Linear update|Continuation prompt) \(.+\) — .+\."


@pytest.mark.clause("CCC-58", "CCC-59")
def test_full_success(project: Path, holdfast: Holdfast, linear: FakeLinear) -> None:
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py")
    assert answer.out.endswith("\nCheckpoint complete: 4/4 steps succeeded.\n")
    assert answer.out.count("Checkpoint complete") == 1


@pytest.mark.clause("CCC-58", "AMB-CCC-02")
def test_it_is_the_last_output_of_the_process(project: Path) -> None:
    manual = holdfast_process("checkpoint", *WORK)
    assert manual.stdout.splitlines()[-1] == "Checkpoint complete: 4/4 steps succeeded."
    automated = holdfast_process("checkpoint", "--auto")
    assert automated.stdout.splitlines()[-1] == "Checkpoint complete: 2/2 steps succeeded."


@pytest.mark.clause("CCC-60", "CCC-58", "AMB-CCC-06")
def test_http_503_to_the_letter(project: Path, holdfast: Holdfast, linear: FakeLinear) -> None:
    linear.fail(faults.status(503))
    answer = holdfast("checkpoint", *WORK)
    assert answer.code == 0
    assert answer.out.endswith(
        "\nCheckpoint complete: 3/4 steps succeeded.\n"
        "Failed: Linear update (HTTP 503) — status not persisted to issue tracker.\n"
    )


@pytest.mark.clause("CCC-60", "AMB-CCC-06")
@pytest.mark.parametrize("name", report.STEPS["manual"])
def test_every_failed_step_has_its_line(name: str) -> None:
    steps = [
        report.failed(step, "a cause") if step == name else report.done(step)
        for step in report.STEPS["manual"]
    ]
    counts, line = report.write(steps).split("\n")
    assert counts == "Checkpoint complete: 3/4 steps succeeded."
    assert line == f"Failed: {name} (a cause) — {report.CONSEQUENCES[name]}."
    assert re.fullmatch(LINE, line)


@pytest.mark.clause("CCC-61")
def test_nothing_is_suppressed_when_all_fail() -> None:
    for profile, names in report.STEPS.items():
        counts, *lines = report.write([report.failed(name, "x") for name in names]).split("\n")
        assert counts == f"Checkpoint complete: 0/{len(names)} steps succeeded.", profile
        assert [re.fullmatch(LINE, line) is not None for line in lines] == [True] * len(names)


@pytest.mark.clause("CCC-61", "CCC-63")
def test_a_cause_of_several_lines_stays_in_its_line(
    project: Path, holdfast: Holdfast, linear: FakeLinear, no_git: Break
) -> None:
    no_git()
    linear.fail(faults.status(500, "first line\nsecond line"))
    lines = holdfast("checkpoint", *WORK).out.splitlines()
    start = lines.index("Checkpoint complete: 2/4 steps succeeded.")
    assert len(lines) == start + 3
    assert all(re.fullmatch(LINE, line) for line in lines[start + 1 :])


@pytest.mark.clause("AMB-CCC-02")
def test_what_each_profile_runs() -> None:
    assert report.STEPS == {
        "manual": ("Persist progress", "Git snapshot", "Linear update", "Continuation prompt"),
        "automated": ("Persist progress", "Linear update"),
    }


@pytest.mark.clause("AMB-CCC-25")
def test_in_a_hook_the_warnings_go_to_the_doctor(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    from tests.session import world

    linear.fail(faults.status(503), times=5)
    world.set_state(linearIssue="ENG-12", awaitingGate=2)
    done = world.hook("Stop", session_id="hooked")
    assert done.stdout == b""
    assert done.returncode == 0
    assert "HTTP 503" in holdfast("doctor", "--json").out
    linear.fail(faults.status(503), times=5)
    said = holdfast("checkpoint", "--auto", *WORK, "--session", "other")
    assert "Warning: Linear update: HTTP 503" in said.out
