"""What is stated and what is observed: both are told to the next session, each as what it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.hooks.after_turn import after_turn
from holdfast.hooks.run import respond_to
from holdfast.kernel import clock
from tests.cli.conftest import Holdfast
from tests.clients.usage import conftest as usage
from tests.clients.usage.conftest import Home
from tests.session.test_observation_kept import call, result, said_by_person
from tests.session.world import PROGRESS

home, holdfast = usage.home, usage.holdfast

WORK = "".join(
    [
        said_by_person("Make parse keep quoted words together. Do not add a dependency."),
        call("Edit", {"file_path": "words.py", "old_string": "split()", "new_string": "x"}, 1),
        result("ok", 1, failed=False),
        call("Bash", {"command": "python3 check.py"}, 2),
        result("AssertionError: parse gave ['a', 'b', 'c']", 2, failed=True),
    ]
)
FULL = {"input_tokens": 150_000, "output_tokens": 10, "cache_read_input_tokens": 0}


def turn(home: Home, path: Path, now: int = usage.NOW) -> None:
    """What the process behind the client does after a turn."""
    after_turn(home.workspace, "claude", "s", str(path), now)


def hook(event: str, **facts: object) -> str:
    payload = {"session_id": "s", "cwd": os.getcwd(), "hook_event_name": event, **facts}
    return json.dumps(respond_to("claude", event, payload, may_leave=False))


def answered(tokens: dict[str, int], number: int) -> str:
    message = {
        "id": f"msg_{number}",
        "role": "assistant",
        "model": "claude-opus-4-1",
        "content": [{"type": "text", "text": "Next I would use shlex.split in parse."}],
        "usage": tokens,
    }
    record = {"type": "assistant", "uuid": f"a{number}", "sessionId": "s", "message": message}
    return json.dumps({**record, "timestamp": "2026-11-15T18:01:00Z", "cwd": os.getcwd()}) + "\n"


# What is observed


def test_the_progress_file_is_filled_from_what_was_seen(home: Home, holdfast: Holdfast) -> None:
    turn(home, home.claude(WORK + answered(FULL, 3)))
    assert holdfast("checkpoint", "--session", "s", "--auto").code == 0
    text = PROGRESS.read_text("utf-8")
    assert "- Make parse keep quoted words together. Do not add a dependency. — in progress" in text
    assert "- Do not add a dependency.: ruled by the person" in text
    assert '- `python3 check.py` fails, with the output "AssertionError' in text
    step = 'the agent\'s last words: "Next I would use shlex.split in parse" (quoted as data).'
    assert f"Key files: words.py.\nNext action: {step}" in text
    assert "unknown" not in text.partition("## Completed")[2]


def test_a_transcript_that_is_gone_is_replaced_by_the_journals_last_observation(
    home: Home, holdfast: Holdfast
) -> None:
    path = home.claude(WORK)
    turn(home, path)
    assert holdfast("checkpoint", "--session", "s", "--auto").code == 0
    path.unlink()
    Path(home.workspace.home, "usage.db").unlink()
    pack = holdfast("resume", "--session", "s", "--json").data["pack"]
    for said in ("Make parse keep quoted words together", "python3 check.py", "words.py"):
        assert said in pack


def test_with_observing_turned_off_nothing_of_a_transcript_is_kept(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_SESSION_OBSERVE", "false")
    turn(home, home.claude(WORK))
    assert [one["kind"] for one in home.workspace.journal.since(0)] == []


# What is stated


def test_a_statement_keeps_its_time_and_its_claims_when_work_goes_on(
    home: Home, holdfast: Holdfast
) -> None:
    Path("words.py").write_text("import shlex\nshlex.split(text)\n")
    words = ("--status", "not begun", "--next", "use shlex.split in parse()", "--skip-git")
    claim = ("--claim", "words.py is there", "file:words.py")
    stated = holdfast("checkpoint", "--session", "s", "--task", "Quotes", *words, *claim)
    assert stated.code == 0
    later = WORK.replace("2026-11-15T18:00", clock.stamp(clock.now() + clock.HOUR)[:16])
    turn(home, home.claude(later), clock.now())
    assert holdfast("checkpoint", "--session", "s", "--auto").code == 0
    pack = holdfast("resume", "--session", "s", "--json").data["pack"]
    assert "Stated in a checkpoint, less than a minute ago, 1 edit before now" in pack
    assert "Claim: [verified] words.py is there" in pack
    assert "shlex.split" in pack
    assert "words.py" in pack.partition("Stated in a checkpoint")[2]


def test_a_claim_whose_command_failed_since_is_told_so(home: Home, holdfast: Holdfast) -> None:
    Path("check.py").write_text("")
    claim = ("--claim", "the check passes", "run:python3 check.py")
    assert holdfast("checkpoint", "--session", "s", "--task", "Quotes", *claim).code == 0
    assert "[verified] the check passes (run:python3 check.py: exit 0" in PROGRESS.read_text()
    later = WORK.replace("2026-11-15T18:00", clock.stamp(clock.now() + clock.HOUR)[:16])
    turn(home, home.claude(later), clock.now())
    pack = holdfast("resume", "--session", "s", "--json").data["pack"]
    assert "Claim: failed since, was [verified] the check passes" in pack


def test_a_task_that_a_person_took_out_of_the_file_stays_out(
    home: Home, holdfast: Holdfast
) -> None:
    todos = [
        {"content": "Write docs", "status": "pending"},
        {"content": "Ship", "status": "pending"},
    ]
    path = home.claude(
        WORK + call("TodoWrite", {"todos": todos}, 5) + result("ok", 5, failed=False)
    )
    turn(home, path)
    holdfast("checkpoint", "--session", "s", "--auto")
    text = PROGRESS.read_text("utf-8")
    assert "- Ship\n" in text
    PROGRESS.write_text(text.replace("- Ship\n", "- None\n"), "utf-8")
    holdfast("checkpoint", "--session", "s", "--status", "going on", "--skip-git")
    assert "- Ship\n" not in PROGRESS.read_text("utf-8")


# The verdict


def test_drift_names_the_files_that_changed_and_no_other(home: Home, holdfast: Holdfast) -> None:
    for name in ("edited.py", "dirty.py", "other.py"):
        Path(name).write_text("one\n")
    Path("edited.py").write_text("two\n")
    turn(home, home.claude(WORK))
    holdfast("checkpoint", "--session", "s", "--auto")
    turn(home, home.claude(WORK))
    assert holdfast("resume", "--session", "s", "--json").data["verdict"] == "CLEAN"
    Path("edited.py").unlink()
    Path("other.py").write_text("changed\n")
    found = holdfast("resume", "--session", "s", "--json").data
    assert found["verdict"] == "DRIFTED"
    assert [one["what"] for one in found["reasons"]] == ["changed since: edited.py, other.py"]


def test_a_capture_whose_work_tree_nobody_looked_at_is_unknown(
    home: Home, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--session", "s", "--auto")
    assert holdfast("resume", "--session", "s", "--json").data["verdict"] == "UNKNOWN"


def test_files_of_holdfast_and_settings_of_clients_are_no_drift(
    home: Home, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--session", "s", "--skip-git", "--task", "one")
    holdfast("note", "A note for the next one.")
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").write_text("{}")
    found = holdfast("resume", "--session", "s", "--json").data
    assert found["verdict"] == "CLEAN"
    assert "A note for the next one." in found["pack"]


# The question


def test_the_agent_is_asked_once_when_the_context_is_full_and_once_before_it_stops(
    home: Home, holdfast: Holdfast
) -> None:
    path = home.claude(WORK)
    hook("SessionStart", source="startup", transcript_path=str(path))
    turn(home, path)
    assert "% full" not in hook("UserPromptSubmit", prompt="Go on.")
    path.write_text(WORK + answered(FULL, 3))
    turn(home, path)
    assert "75 % full" in hook("UserPromptSubmit", prompt="Go on.")
    assert "% full" not in hook("UserPromptSubmit", prompt="Go on.")
    turn(home, path)
    stopped = json.loads(hook("Stop"))
    assert stopped["decision"] == "block"
    assert "75 % full" in stopped["reason"]
    assert "decision" not in hook("Stop")
    hook("SessionStart", source="compact")
    turn(home, path)
    assert "% full" not in hook("UserPromptSubmit", prompt="Go on."), "a new stretch"
    later = clock.precise(clock.now() + 60_000)
    path.write_text(path.read_text() + answered(FULL, 4).replace("2026-11-15T18:01:00Z", later))
    turn(home, path)
    assert "75 % full" in hook("UserPromptSubmit", prompt="Go on.")


def test_an_agent_that_stated_something_since_is_not_asked_before_its_stop(
    home: Home, holdfast: Holdfast
) -> None:
    path = home.claude(WORK + answered(FULL, 3))
    hook("SessionStart", source="startup", transcript_path=str(path))
    turn(home, path)
    assert "% full" in hook("UserPromptSubmit", prompt="Go on.")
    holdfast("checkpoint", "--session", "s", "--next", "use shlex", "--skip-git")
    assert "decision" not in hook("Stop")


def test_nobody_is_asked_where_a_person_turned_it_off(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_SESSION_ASK_AT_PERCENT", "0")
    path = home.claude(WORK + answered(FULL, 3))
    hook("SessionStart", source="startup", transcript_path=str(path))
    turn(home, path)
    assert "% full" not in hook("UserPromptSubmit", prompt="Go on.")


def test_a_look_that_comes_late_does_not_touch_the_file_of_the_session_that_took_over(
    home: Home, holdfast: Holdfast
) -> None:
    path = home.claude(WORK)
    holdfast("checkpoint", "--session", "s", "--task", "Quotes", "--skip-git")
    hook("SessionEnd", reason="other")
    holdfast("checkpoint", "--session", "second", "--status", "going on", "--skip-git")
    assert "- Quotes — going on" in PROGRESS.read_text("utf-8")
    turn(home, path)
    assert "- Quotes — going on" in PROGRESS.read_text("utf-8")
