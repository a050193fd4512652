"""The orchestrator: programs for steps, exit codes by the table, and a person where it must stop."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import latch
from holdfast.kernel.text import split_words
from holdfast.kernel.views import projection
from holdfast.loop import runner
from holdfast.loop.rules.model import MAX_ROUNDS
from holdfast.maintenance import purge
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.loop.programs import GOOD, good, shell, write
from tests.loop.world import NOON, World
from tests.processes import process, wait_for

RUN = ("loop", "run", "--track", "demo", "--with", "steps.toml")


def statuses(world: World) -> dict[str, str]:
    return {step: each["status"] for step, each in world.loop()["checkpoints"].items()}


def test_a_track_from_nothing_to_its_end(world: World, holdfast: Holdfast) -> None:
    write(world, GOOD)
    answer = holdfast(*RUN)
    assert (answer.code, answer.out) == (0, "demo is complete: 4 steps, 5 programs run.\n")
    assert "1/2  1.1  One" in answer.err
    assert set(statuses(world).values()) == {"PASSED"}
    assert world.checkpoint("PLAN")["output_files"] == ["conductor/tracks/demo/plan.md"]
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]
    assert world.file()["status"] == "complete"
    assert holdfast(*RUN).out == "demo is complete: 0 steps, 0 programs run.\n"


def test_programs_are_told_where_they_are(world: World, holdfast: Holdfast) -> None:
    script = 'env | grep ^LOOP_ | sort; echo "$@"'
    write(
        world, good(EXECUTE=shell(script, "{task}", "{task_title}", "{metadata}", "{resume_from}"))
    )
    holdfast(*RUN)
    shown = holdfast("loop", "show", "--attempt", "4").out.splitlines()
    assert shown[1:] == [
        *split_words("LOOP_METADATA=conductor/tracks/demo/metadata.json LOOP_RESUME_FROM=1.1"),
        *split_words("LOOP_STEP=EXECUTE LOOP_TASK=1.2 LOOP_TASK_TITLE=Two LOOP_TRACK=demo"),
        "LOOP_TRACK_DIR=conductor/tracks/demo",
        "1.2 Two conductor/tracks/demo/metadata.json 1.1",
    ]


def test_a_commit_of_a_task_is_recorded(world: World, holdfast: Holdfast, git: Git) -> None:
    git("config", "user.name", "a developer", at=world.root)
    git("config", "user.email", "developer@holdfast.invalid", at=world.root)
    write(world, good(EXECUTE=shell('git commit -q --allow-empty -m "Task $1"', "{task}")))
    assert holdfast(*RUN).code == 0
    first, second = world.checkpoint("EXECUTE")["commits"]
    assert second == {
        "sha": git("rev-parse", "HEAD", at=world.root).strip(),
        "message": "Task 1.2",
        "task": "1.2",
    }
    assert world.checkpoint("EXECUTE")["last_commit"] == second["sha"]
    assert first["task"] == "1.1"


@pytest.mark.parametrize(
    ("code", "status", "notes"),
    [
        (1, "FAILED", "ERROR: oh no (exit code 1: failure)"),
        (2, "FAILED", "ERROR: oh no (exit code 2: missing parameter)"),
        (3, "FAILED", "ERROR: oh no (exit code 3: file not found)"),
        (4, "BLOCKED", "BLOCKED: oh no (exit code 4: blocked dependency)"),
        (17, "FAILED", "ERROR: oh no (exit code 17)"),
    ],
)
def test_exit_codes_are_read_by_the_table(
    world: World, holdfast: Holdfast, code: int, status: str, notes: str
) -> None:
    write(world, good(PLAN=shell(f"echo oh no; exit {code}")))
    answer = holdfast(*RUN, "--json")
    envelope = json.loads(answer.out.splitlines()[-1])
    assert answer.code == 8
    assert (envelope["data"]["ended"], envelope["data"]["step"]) == ("paused", "PLAN")
    assert world.checkpoint("PLAN")["status"] == status
    assert world.checkpoint("PLAN")["notes"] == notes
    assert "oh no" in envelope["data"]["reason"]
    assert envelope["data"]["escalation"][0] == "Orchestrator Paused — User Input Required"


def test_a_program_that_is_killed_is_a_failure(world: World, holdfast: Holdfast) -> None:
    write(world, good(PLAN=shell("kill -9 $$")))
    assert holdfast(*RUN).code == 8
    assert "ended by signal 9" in world.checkpoint("PLAN")["notes"]


@pytest.mark.parametrize("code", [2, 3])
def test_an_evaluation_that_could_not_run_is_run_again_when_asked(
    world: World, holdfast: Holdfast, code: int
) -> None:
    """Its failure was no verdict, so it leads neither to PLAN nor to FIX."""
    write(world, good(EVALUATE_EXECUTION=shell(f"exit {code}")))
    assert holdfast(*RUN).code == 8
    assert world.loop()["current_step"] == "EVALUATE_EXECUTION"
    write(world, GOOD)
    assert holdfast(*RUN).code == 0
    assert world.loop()["fix_cycle_count"] == 0


def test_a_failed_step_is_tried_again_when_a_person_runs_it_again(
    world: World, holdfast: Holdfast
) -> None:
    write(world, good(EXECUTE=shell('test "$1" = 1.1', "{task}")))
    assert holdfast(*RUN).code == 8
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    write(world, GOOD)
    assert holdfast(*RUN).code == 0
    begun = [event["task"] for event in world.events() if event["event"] == "attempt_begun"]
    assert [task for task in begun if task] == ["1.1", "1.2", "1.2"], "1.1 never ran twice"


@pytest.mark.clause("AMB-LOOP-01", "AMB-LOOP-02")
def test_three_cycles_of_fixing_then_a_person(world: World, holdfast: Holdfast) -> None:
    write(world, good(EVALUATE_EXECUTION=shell("exit 1")))
    answer = holdfast(*RUN)
    assert answer.code == 8
    assert "Reason: Fix cycle limit exceeded (3 cycles)" in answer.out
    assert "--max-fix-cycles 4" in answer.out
    assert [event["step"] for event in world.events() if event["event"] == "passed"].count(
        "FIX"
    ) == 3
    assert world.loop()["fix_cycle_count"] == 3
    before = world.kinds()
    assert holdfast(*RUN).code == 8
    assert world.kinds() == before, "asked again, it says the same and changes nothing"


def test_a_fix_that_helps_ends_the_loop(world: World, holdfast: Holdfast) -> None:
    steps = good(
        EVALUATE_EXECUTION=shell("test -e mended"), FIX=shell("touch mended; echo mended it")
    )
    write(world, steps)
    assert holdfast(*RUN).code == 0
    assert world.loop()["fix_cycle_count"] == 1
    assert world.checkpoint("FIX")["notes"] == "mended it"


@pytest.mark.parametrize("rounds", [4, pytest.param(50, marks=pytest.mark.proof)])
def test_a_plan_that_is_judged_bad_is_made_again_up_to_fifty_rounds(
    world: World, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    assert MAX_ROUNDS == 50
    monkeypatch.setattr(runner, "MAX_ROUNDS", rounds)
    write(world, good(EVALUATE_PLAN=shell("exit 1")))
    answer = holdfast(*RUN, "--json")
    data = json.loads(answer.out.splitlines()[-1])["data"]
    assert answer.code == 8
    assert (data["rounds"], data["attempts"]) == (rounds, rounds)
    assert data["reason"] == f"Stopped after {rounds} rounds without an end"


def test_a_superpower_is_called_with_its_parameters(world: World, holdfast: Holdfast) -> None:
    runner = world.root / "superpower"
    runner.write_text(
        '#!/bin/sh\necho "$@" >> calls\n'
        "test $1 != superpowers:writing-plans || "
        "printf -- '- [x] 1.1 One\\n' > conductor/tracks/demo/plan.md\n"
    )
    runner.chmod(0o755)
    skip: dict[str, Any] = {"EVALUATE_PLAN": {"skip": True}, "EVALUATE_EXECUTION": {"skip": True}}
    write(world, skip, runner=["./superpower"], context_files=["a.md"])
    (world.folder / "spec.md").write_text("spec\n")
    assert holdfast(*RUN).code == 0
    folder = "conductor/tracks/demo"
    assert Path("calls").read_text().splitlines() == [
        f"superpowers:writing-plans --spec {folder}/spec.md --output-dir {folder} "
        f"--context-files a.md --track-id demo --metadata {folder}/metadata.json",
        f"superpowers:executing-plans --plan {folder}/plan.md --track-dir {folder} "
        f"--metadata {folder}/metadata.json --track-id demo",
    ]


def test_a_superpower_without_its_input_is_not_started(world: World, holdfast: Holdfast) -> None:
    skip: dict[str, Any] = {"EVALUATE_PLAN": {"skip": True}, "EVALUATE_EXECUTION": {"skip": True}}
    write(world, skip, runner=["sh"])
    answer = holdfast(*RUN)
    assert answer.code == 8
    notes = "ERROR: Missing required spec.md file at conductor/tracks/demo/spec.md"
    assert world.checkpoint("PLAN")["notes"] == notes
    assert "attempt_begun" not in world.kinds()


@pytest.mark.clause("LOOP-44")
def test_a_program_for_all_tasks_goes_on_from_the_last(world: World, holdfast: Holdfast) -> None:
    """It stops after each task, as an agent does whose context is full."""
    world.plan("- [ ] 1.1 One", "- [ ] 1.2 Two", "- [ ] 1.3 Three")
    script = (
        'echo "from $LOOP_RESUME_FROM" >> calls\n'
        f"next=$({sys.executable} -m holdfast loop resume --json"
        """ | sed -n 's/.*"next_task": *"\\([^"]*\\)".*/\\1/p')\n"""
        f'{sys.executable} -m holdfast loop task-done "$next"\n'
    )
    write(world, good(EXECUTE=shell(script)))
    world.start("EVALUATE_PLAN")
    world.do("pass")
    world.do("advance")
    assert holdfast(*RUN).code == 0
    assert Path("calls").read_text().splitlines() == ["from ", "from 1.1", "from 1.2"]
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 3


def test_a_program_that_did_no_task_and_says_it_is_done_is_not_believed(
    world: World, holdfast: Holdfast
) -> None:
    write(world, good(EXECUTE=shell("exit 0")))
    assert holdfast(*RUN).code == 8
    assert world.checkpoint("EXECUTE")["notes"] == "ERROR: sh ended with 0, and 2 tasks are open"


def test_boxes_that_a_program_ticked_are_believed(world: World, holdfast: Holdfast) -> None:
    write(world, good(EXECUTE=shell("sed -i 's/\\[ \\]/[x]/' $LOOP_TRACK_DIR/plan.md")))
    assert holdfast(*RUN).code == 0
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 2


def test_a_plan_that_was_not_written_is_no_plan(world: World, holdfast: Holdfast) -> None:
    write(world, good(PLAN=shell("echo planned")))
    assert holdfast(*RUN).code == 8
    notes = world.checkpoint("PLAN")["notes"]
    assert notes == "ERROR: sh ended with 0, and wrote no conductor/tracks/demo/plan.md"


def test_a_program_that_records_its_own_end_is_believed(world: World, holdfast: Holdfast) -> None:
    said = "The plan is impossible"
    script = f'{sys.executable} -m holdfast loop fail "{said}" --step PLAN'
    write(world, good(PLAN=shell(script)))
    assert holdfast(*RUN).code == 8
    assert world.checkpoint("PLAN")["notes"] == f"ERROR: {said}"


def test_a_program_has_its_time(world: World, holdfast: Holdfast) -> None:
    steps = {**GOOD, "PLAN": {"command": shell("echo begun; exec sleep 600"), "seconds": 1}}
    write(world, steps)
    assert holdfast(*RUN).code == 8
    assert "ERROR: begun (sh had no end after 1 s)" in world.checkpoint("PLAN")["notes"]


def test_output_without_end_does_not_outlive_its_time(world: World, holdfast: Holdfast) -> None:
    steps = {**GOOD, "PLAN": {"command": shell("exec yes 'and on'"), "seconds": 1}}
    write(world, steps)
    assert holdfast(*RUN).code == 8
    (log,) = Path(world.track.place.own, "logs").iterdir()
    assert log.stat().st_size <= 20_100_000


def test_output_is_kept_for_its_owner_alone_and_redacted(world: World, holdfast: Holdfast) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA7bqx9Yw\\n-----END RSA PRIVATE KEY-----"
    )
    write(
        world,
        good(
            EVALUATE_PLAN=shell(f"echo using {token}; printf '{key}\\n'; printf '\\033[31mred\\n'")
        ),
    )
    holdfast(*RUN)
    for log in Path(world.track.place.own, "logs").iterdir():
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert token not in log.read_text()
        assert "MIIEpAIBAAKCAQEA7bqx9Yw" not in log.read_text()
    shown = holdfast("loop", "show", "--attempt", "2")
    assert "using [redacted:" in shown.out
    assert "red" in shown.out
    assert "\x1b" not in shown.out
    assert holdfast("loop", "show", "--attempt", "99").code == 3
    assert holdfast("loop", "show", "--log", "--json").data["output"] == "all tests pass\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("[steps", 1, "is not TOML"),
        ("[steps.PLAN]\ncommand = 'sh'", 1, "steps.PLAN.command must be a list of texts"),
        ("[steps.PLAN]\ncommand = []", 1, "steps.PLAN.command is empty"),
        ("[steps.PLAN]\ncomand = ['sh']", 1, "Did you mean command?"),
        ("[steps.PLN]\ncommand = ['sh']", 1, "Did you mean PLAN?"),
        ("steps = 7", 1, "steps must be a table"),
        ("[steps]\nPLAN = 7", 1, "steps.PLAN must be a table"),
        ("runer = ['sh']", 1, "Did you mean runner?"),
        ("[steps.PLAN]\nskip = true", 1, "PLAN cannot be skipped"),
        ("[steps.PLAN]\nseconds = 0", 1, "must be a whole number above 0"),
        ("[steps.EXECUTE]\ntasks = ['a', 'a']", 1, "must be names that differ"),
        ("[steps.PLAN]\ncommand = ['sh']", 1, "there is no command for EVALUATE_PLAN"),
        ("runner = ['no-such-program']", 3, "the program of PLAN is not there: no-such-program"),
        ("\xff", 1, "is not TOML"),
    ],
)
def test_a_bad_file_is_refused_before_anything_runs(
    world: World, holdfast: Holdfast, text: str, code: int, said: str
) -> None:
    world.folder.mkdir(parents=True)
    Path("steps.toml").write_text(text, "latin-1")
    answer = holdfast(*RUN)
    assert (answer.code, said in answer.err + "") == (code, True), answer.err
    assert not world.metadata.exists()


def test_what_is_missing_is_named(world: World, holdfast: Holdfast) -> None:
    write(world, GOOD)
    assert holdfast("loop", "run", "--track", "demo", "--with", "none.toml").code == 3
    assert holdfast("loop", "run", "--track", "nowhere", "--with", "steps.toml").code == 3
    assert holdfast("loop", "run", "--track", "demo").code == 2
    write(world, good(EXECUTE=["./gone", "{task}"]))
    answer = holdfast(*RUN)
    assert (answer.code, "the program of EXECUTE is not there: ./gone" in answer.err) == (3, True)


def test_a_dry_run_runs_nothing(world: World, holdfast: Holdfast) -> None:
    write(world, good(PLAN=shell("touch ran")))
    answer = holdfast(*RUN, "--dry-run")
    assert answer.code == 0
    assert "Would begin at PLAN, which is NOT_STARTED." in answer.out
    assert not Path("ran").exists()
    assert not world.metadata.exists()


def test_a_stop_holds(world: World, holdfast: Holdfast) -> None:
    write(world, GOOD)
    latch.engage(world.workspace, "the budget is spent", by="tester", now=NOON)
    answer = holdfast(*RUN)
    assert (answer.code, "the budget is spent" in answer.err) == (7, True)
    assert not world.metadata.exists()
    latch.release(world.workspace)
    assert holdfast(*RUN).code == 0


def test_a_stop_ends_the_program_that_runs(world: World) -> None:
    write(world, good(PLAN=shell("echo $$ > begun.tmp; mv begun.tmp begun; sleep 600")))
    run = process(*RUN)
    wait_for(Path("begun").exists)
    latch.engage(world.workspace, "too expensive", by="tester", now=NOON)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, "too expensive" in err) == (7, True)
    wait_for(lambda: not _lives(int(Path("begun").read_text())))
    assert world.checkpoint("PLAN")["status"] == "IN_PROGRESS"


def test_a_file_that_cannot_be_written_makes_no_task_run_twice(
    world: World, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full for the file and not for the journal: the run goes by the journal."""
    write(world, {**good(), "EXECUTE": {**GOOD["EXECUTE"], "tasks": ["1.1", "1.2", "1.3"]}})
    world.start("EVALUATE_PLAN")
    world.do("pass")
    before = world.metadata.read_bytes()

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(projection, "stage", full)
    answer = holdfast(*RUN)
    assert answer.code == 0
    assert "metadata.json was not written: No space left on device" in answer.err
    assert world.metadata.read_bytes() == before
    begun = [event["task"] for event in world.events() if event["event"] == "attempt_begun"]
    assert [task for task in begun if task] == ["1.1", "1.2", "1.3"]
    monkeypatch.undo()
    world.start("BRAINSTORM")
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 3
    assert world.file()["status"] == "complete"


def test_two_runs_at_once_are_one_too_many(world: World, holdfast: Holdfast) -> None:
    write(world, good(PLAN=shell("touch begun; while test ! -e go; do sleep 0.05; done; " + WRITE)))
    first = process(*RUN)
    wait_for(Path("begun").exists)
    answer = holdfast(*RUN)
    assert (answer.code, "is being run already, by process" in answer.err) == (5, True)
    Path("go").touch()
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert out.startswith("demo is complete")


WRITE = "printf -- '- [ ] 1.1 One\\n' > $LOOP_TRACK_DIR/plan.md"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_program_and_keeps_the_step(
    world: World, sign: signal.Signals
) -> None:
    write(world, good(PLAN=shell("echo $$ > begun.tmp; mv begun.tmp begun; sleep 600")))
    run = process(*RUN, "--json")
    wait_for(Path("begun").exists)
    child = int(Path("begun").read_text())
    run.send_signal(sign)
    out, err = run.communicate(timeout=60)
    assert json.loads(out.splitlines()[-1])["data"]["ended"] == "interrupted"
    assert run.returncode == 130
    assert "the same command continues there" in err
    assert world.checkpoint("PLAN")["status"] == "IN_PROGRESS"
    wait_for(lambda: not _lives(child))


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_goes_away_does_not_end_a_run(world: World, options: tuple[str, ...]) -> None:
    script = "touch begun; while ! test -e unread; do sleep 0.01; done"
    write(world, good(EXECUTE=shell(script, "{task}")))
    run = process(*RUN, *options)
    wait_for(Path("begun").exists)
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.close()
    run.stderr.close()
    Path("unread").touch()
    run.wait(timeout=60)
    assert set(statuses(world).values()) == {"PASSED"}


def test_the_program_of_a_killed_run_ends_with_it(world: World) -> None:
    write(world, good(PLAN=shell("echo $$ > begun.tmp; mv begun.tmp begun; exec sleep 600")))
    run = process(*RUN)
    wait_for(Path("begun").exists)
    run.kill()
    run.communicate()
    wait_for(lambda: not _lives(int(Path("begun").read_text())))


def test_a_program_that_outlives_a_killed_run_is_ended_before_its_task_is_begun_again(
    world: World,
) -> None:
    world.plan("- [ ] 1.1 One")
    script = "echo $$ >> pids; test -e again && exit 0; exec sleep 600"
    write(world, {**good(EXECUTE=shell(script, "{task}"))})
    world.start("EVALUATE_PLAN")
    world.do("pass")
    world.do("advance")
    run = process(*RUN)
    wait_for(lambda: Path("pids").exists() and Path("pids").read_text().endswith("\n"))
    left = int(Path("pids").read_text())
    keeper = int(Path(f"/proc/{left}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGSTOP)  # it cannot see that its run is gone
    run.kill()
    run.communicate()
    assert _lives(left)
    Path("again").touch()
    second = process(*RUN)
    _, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert f"ended process {left}" in err
    wait_for(lambda: not _lives(left))
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]


def _lives(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_a_program_left_in_the_background_is_not_waited_for_and_ends_with_the_run(
    world: World, holdfast: Holdfast
) -> None:
    look = "kill -0 $(cat background) && echo still there"
    steps = good(EVALUATE_PLAN=shell("sleep 600 & echo $! > background; exit 0"))
    write(world, {**steps, "EXECUTE": {"command": shell(look, "{task}")}})
    assert holdfast(*RUN).code == 0
    assert not _lives(int(Path("background").read_text()))


def test_old_outputs_go_with_gc_and_a_purge_finds_them(world: World, holdfast: Holdfast) -> None:
    write(world, good(PLAN=shell("echo the word is xylophone; " + WRITE)))
    holdfast(*RUN)
    logs = Path(world.track.place.own, "logs")
    first, *others = sorted(logs.iterdir())
    os.utime(others[0], (0, 0))
    assert holdfast("gc").code == 0
    assert not others[0].exists()
    assert first.exists()
    assert b"xylophone" in first.read_bytes() + world.history.read_bytes()
    found = purge.find(world.workspace, text="xylophone", now=world.now)
    purge.erase(world.workspace, found, text="xylophone", actor="tester", now=world.now)
    assert b"xylophone" not in first.read_bytes()
    holdfast("loop", "start", "PLAN")
    for path in (world.metadata, world.history):
        assert "xylophone" not in path.read_text()
