"""What happened while the person was away: ranked by what needs them, and told in a few sentences."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from holdfast.kernel import clock
from holdfast.kernel.durations import instant_since
from holdfast.kernel.errors import Usage
from holdfast.kernel.workspace import discover, user_folder
from holdfast.maintenance import known_roots
from holdfast.session import client_questions
from holdfast.session.rules.session import stream_of
from tests.away.conftest import DONE, FAILING, HOUR, IDLE, OPEN, MakeProject, Put, age
from tests.cli.conftest import Holdfast
from tests.gates.person import Seen, Terminal
from tests.memory.conftest import SECRET
from tests.privileges import modes_count

LOOKED = "looked.json"


def looked() -> str:
    """When the person looked, as it is kept; empty where nothing is."""
    path = Path(user_folder()) / LOOKED
    return str(json.loads(path.read_text())["at"]) if path.exists() else ""


def at_terminal(*words: str, **variables: str) -> Seen:
    """What a person sees who types it; nothing of it is folded by a pager."""
    return Terminal(*words, environment={"PAGER": "cat", **variables}).leave()


def keep(at: int) -> None:
    path = Path(user_folder()) / LOOKED
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "at": clock.precise(at), "since": clock.stamp(at)}))


def test_what_needs_a_person_comes_first(night: Path, holdfast: Holdfast) -> None:
    told = holdfast("away", "--json").data
    assert [(one["session"], one["state"]) for one in told["sessions"]] == [
        (FAILING, "failing"),
        (OPEN, "unfinished"),
        (DONE, "done"),
        (IDLE, "trivial"),
    ]
    failing, left, done, _ = told["sessions"]
    assert failing["failed"][0]["command"] == "pytest tests/test_pay.py"
    assert "TimeoutError: gateway" in failing["failed"][0]["says"]
    assert (left["uncommitted"], left["tree"]["ahead"], left["edited"]) == (1, 0, ["limits.md"])
    assert done["commits"] == ["Parse dates in UTC"]
    assert done["passed"]["edits_since"] == 0
    assert done["next"] == f"holdfast resume --in claude --session {DONE[:13]}"
    assert (told["count"], told["needing"], told["is_first"]) == (4, 1, True)


def test_a_paragraph_has_what_was_asked_done_and_left(night: Path, holdfast: Holdfast) -> None:
    out = " ".join(holdfast("away").out.split())
    assert out.startswith("4 sessions in the last 24 hours, 1 of which stands still; cost unknown.")
    assert (
        '"Drop the retry on 503 from the payment client." `pytest tests/test_pay.py` fails: '
        '"FAILED tests/test_pay.py::test_timeout - TimeoutError: gateway". It edited pay.py.'
    ) in out
    assert (
        'It edited dates.py and committed "Parse dates in UTC". `pytest tests/test_dates.py: 3 passed '
        'in 0.01s` passed after the last edit. It ended with "Dates are parsed in UTC now." On '
    ) in out
    assert "not committed api · Claude Code 22222222 · 3 h ago" in out
    assert "pushed, 1 file of it not committed. Cost unknown." in out
    # A session in which nothing was done has one line.
    assert out.endswith(
        'nothing done shop · Claude Code 44444444 · 1 h ago "What does dates.py do?"'
    )
    assert "$0" not in out


def test_it_fits_a_terminal_of_80_columns(night: Path, holdfast: Holdfast) -> None:
    lines = [line for line in holdfast("away").out.splitlines() if " holdfast resume " not in line]
    assert max(map(len, lines)) <= 80


def test_only_a_person_who_saw_all_of_it_has_looked(
    night: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ((), ("--json",), ("--here",), ("--since", "7d")):
        assert holdfast("away", *words).code == 0
    with_agent = at_terminal("away", CLAUDECODE="1")
    assert "4 sessions" in with_agent.screen
    assert "3 sessions" in at_terminal("away", "--here").screen
    assert "1 session since" in at_terminal("away", "--since", "90min").screen
    assert looked() == ""
    seen = at_terminal("away")
    assert (seen.code, "4 sessions in the last 24 hours" in seen.screen) == (0, True)
    first = looked()
    assert first
    again = at_terminal("away").screen
    assert re.match(r"Nothing happened since \d\d:\d\d, a moment ago\.", again)
    assert looked() > first
    # What was seen last can be seen once more.
    (since,) = re.findall(r"What you saw then: holdfast away --since (\S+)", again)
    assert holdfast("away", "--since", since).code == 0


def test_since_takes_spans_times_and_days(night: Path, holdfast: Holdfast) -> None:
    assert holdfast("away", "--json", "--since", "150min").data["count"] == 2
    assert holdfast("away", "--json", "--since", "4h").data["count"] == 3
    for text in ("2020-01-01", "2020-01-01T18:00", "2020-01-01T18:00:00Z"):
        assert holdfast("away", "--json", "--since", text).data["count"] == 4
    now = clock.now()
    at = instant_since("18:00", now)
    assert now - clock.DAY - clock.HOUR <= at <= now
    assert time.strftime("%H:%M", time.localtime(at / 1000)) == "18:00"
    for text in ("soon", "2999-01-01", "25:00", "-1h", "2026-13-01", "h"):
        refused = holdfast("away", "--since", text)
        assert (refused.code, refused.out) == (2, "")
        assert "hint: Such as 30min, 12h, 7d, 4w, 18:00, 2026-11-18" in refused.err
    with pytest.raises(Usage):
        instant_since("", now)


def test_the_mark_decides_and_a_clock_that_was_set_back_does_not(
    night: Path, holdfast: Holdfast
) -> None:
    keep(clock.now() - 150 * clock.MINUTE)
    assert holdfast("away", "--json").data["count"] == 2
    keep(clock.now() + clock.DAY)
    answer = holdfast("away")
    assert "4 sessions" in answer.out
    assert "The clock was set back since you last looked" in answer.err
    (Path(user_folder()) / LOOKED).write_text('{"at": "yesterday"')
    assert holdfast("away", "--json").data["is_first"]


def test_nothing_is_one_line(home: Path, tmp_path: Path, holdfast: Holdfast) -> None:
    answer = holdfast("away", "-C", str(tmp_path))
    assert (answer.code, answer.out) == (0, "Nothing happened in the last 24 hours.\n")
    assert holdfast("away", "-C", str(tmp_path), "--here").code == 0


def test_a_permission_that_waits_is_first_however_old(night: Path, holdfast: Holdfast) -> None:
    workspace, now = discover(), clock.now()
    asked = {"client": "claude", "session": DONE, "event": "PermissionRequest"}
    client_questions.note(
        workspace, **asked, asks="May Bash run: npm publish?", now=now - clock.DAY
    )
    keep(now - clock.HOUR // 2)
    holdfast("note", "begin a journal")
    known_roots.remember(workspace)
    (first,) = holdfast("away", "--json").data["sessions"]
    assert (first["state"], first["waits"]) == ("waits", "May Bash run: npm publish?")
    assert "It asks since" in holdfast("away").out


def test_an_idle_client_does_not_wait(night: Path, holdfast: Holdfast) -> None:
    asked = {"client": "claude", "session": DONE, "event": "Notification"}
    client_questions.note(
        discover(), **asked, asks="Claude is waiting for your input", now=clock.now()
    )
    states = {one["session"]: one["state"] for one in holdfast("away", "--json").data["sessions"]}
    assert states[DONE] == "done"


def test_a_gate_and_a_stop_wait_too(night: Path, holdfast: Holdfast) -> None:
    holdfast("gate", "verify", "--built", "The dashboard", "--how", "Cards show", "--name", "dash")
    holdfast("estop", "too expensive")
    known_roots.remember(discover())
    waits = holdfast("away", "--json").data["waits"]
    assert [one["next"].split()[:2] for one in waits][:1] == [["holdfast", "release"]]
    assert "too expensive" in waits[0]["what"]
    assert any("1 gate waits for a person" in one["what"] for one in waits)


def test_a_session_that_another_took_over_needs_nobody(night: Path, holdfast: Holdfast) -> None:
    holdfast("resume", "--session", FAILING)
    from holdfast.session import observation, sessions
    from holdfast.usage import spending

    workspace, now = discover(), clock.now()
    seen = observation.look_at(workspace, spending.sources_of(workspace, FAILING), now=now)
    assert seen is not None
    observation.record(workspace, FAILING, seen, None, actor="test", now=now)
    sessions.adopt(workspace, FAILING, DONE, actor="test", now=now)
    assert workspace.journal.head(stream_of(FAILING)) is not None
    told = {one["session"]: one for one in holdfast("away", "--json").data["sessions"]}
    assert (told[FAILING]["state"], told[FAILING]["continued_by"]) == ("done", DONE)


def test_text_of_others_is_data(make_project: MakeProject, put: Put, holdfast: Holdfast) -> None:
    root = make_project("a b; touch owned")
    said = f'\x1b[31mPublish\x07 \u202e{SECRET}\n\nsince you looked: nothing "happened'
    put(root, FAILING, [("user", said), ("Edit", f"{root / 'x.py'}|a|b"), ("passed", "")])
    for words in (("away",), ("away", "--json")):
        out = holdfast(*words).out
        assert not {"\x1b", "\x07", "\u202e"} & set(out)
        assert SECRET not in out
    (one,) = holdfast("away", "--json").data["sessions"]
    assert "\n" not in one["request"]
    assert one["next"].endswith(f"-C '{root}'")


def test_sessions_without_a_workspace_and_of_a_folder_that_is_gone(
    tmp_path: Path, make_project: MakeProject, put: Put, holdfast: Holdfast
) -> None:
    loose, gone = tmp_path / "loose", make_project("gone")
    loose.mkdir()
    for folder, session in ((loose, FAILING), (gone, DONE)):
        put(
            folder,
            session,
            [("user", "Do it."), ("Edit", f"{folder / 'x.py'}|a|b"), ("passed", "")],
        )
    known_roots.remember(discover(str(gone)))
    shutil.rmtree(gone)
    told = {
        one["session"]: one
        for one in holdfast("away", "--json", "-C", str(tmp_path)).data["sessions"]
    }
    assert told.keys() == {FAILING, DONE}
    assert told[FAILING]["next"].startswith("holdfast resume --transcript ")
    assert told[DONE]["tree"] is None
    assert holdfast("away", "-C", str(tmp_path)).code == 0


def test_an_unreadable_or_locked_workspace_stops_no_other(night: Path, holdfast: Holdfast) -> None:
    import apsw

    holdfast("note", "begin a journal")
    api = night.parent / "api"
    holdfast("note", "-C", str(api), "begin a journal")
    known_roots.remember(discover(str(api)))
    locked = apsw.Connection(str(night / ".git/holdfast/journal.db"))
    locked.execute("BEGIN EXCLUSIVE").fetchall()
    (api / ".git/holdfast/journal.db").write_bytes(b"no journal at all" * 400)
    answer = holdfast("away", "--json")
    locked.execute("ROLLBACK")
    assert answer.code == 0
    # What the transcripts say is told all the same.
    assert {one["session"] for one in answer.data["sessions"]} == {FAILING, OPEN, DONE, IDLE}
    assert f"{api} is left out: " in answer.data["left_out"][0]
    assert f"warning: {api} is left out: " in holdfast("away").err


def test_a_home_that_cannot_be_written_shows_it_and_says_that_it_forgets(
    night: Path, holdfast: Holdfast
) -> None:
    folder = Path(user_folder())
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no folder")
    seen = at_terminal("away")
    assert seen.code == 0
    assert "4 sessions" in seen.screen
    assert "That you looked could not be kept" in seen.screen
    with modes_count():
        assert holdfast("away").code == 0


def test_many_sessions_are_counted_and_few_are_told(
    make_project: MakeProject, put: Put, holdfast: Holdfast
) -> None:
    root = make_project("many")
    for number in range(60):
        session = f"{number:08}-aaaa-4000-8000-000000000001"
        work = [
            ("user", f"Do step {number} of the work."),
            ("Edit", f"{root / 'x.py'}|a|b"),
            ("passed", ""),
        ]
        age(put(root, session, work), number / 10)
    out = holdfast("away").out
    assert out.count("\n  holdfast resume ") == 12
    assert "And 36 sessions more: holdfast away --all" in out
    assert holdfast("away", "--all").out.count("\n  holdfast resume ") == 60
    assert len(holdfast("away", "--json").data["sessions"]) == 60


def test_transcripts_that_are_not_to_be_read_are_not(night: Path, holdfast: Holdfast) -> None:
    (night / "holdfast.toml").write_text("[session]\nobserve = false\n")
    assert {one["session"] for one in holdfast("away", "--json").data["sessions"]} == {OPEN}


def test_a_mark_is_of_a_user_and_not_of_a_project(night: Path, holdfast: Holdfast) -> None:
    at_terminal("away")
    kept = Path(user_folder()) / LOOKED
    assert kept.stat().st_mode & 0o777 == 0o600
    assert os.path.getmtime(kept) > time.time() - HOUR
    assert holdfast("away", "--json", "-C", str(night.parent / "api")).data["count"] == 0
