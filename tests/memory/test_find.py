"""`holdfast find`: the sessions that a question is about, over real clients' folders."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from holdfast.memory import index
from holdfast.memory.search import Question, rank
from tests.cli.conftest import Holdfast
from tests.clients.conformance.cases import CASES, ERROR, put_session
from tests.memory.conftest import SECRET, Put

RETRY, DATES, DOCS = (f"{digit * 8}-{letter * 4}" for digit, letter in ("1a", "2b", "3c"))


def sessions(answer: object) -> list[str]:
    return [hit["session"][:13] for hit in answer.data["hits"]]  # type: ignore[attr-defined]


def test_a_question_finds_its_session_with_the_lines_that_say_why(
    shop: Path, holdfast: Holdfast
) -> None:
    answer = holdfast("find", "--json", "--here", "why did we drop the retry on 503")
    (first, *_) = answer.data["hits"]
    assert first["session"].startswith(RETRY)
    assert (first["client"], first["day"], first["branch"]) == ("claude", "2026-11-10", "main")
    assert first["request"].startswith("Why does the payment client retry on 503?")
    said = {line["what"]: line["text"] for line in first["lines"]}
    assert "Drop the retry" in said["asked"]
    assert "I drop the retry on 503" in said["said"]
    assert first["files"] == [{"path": "pay.py", "edits": 1, "state": "gone"}]
    assert first["open"] == f"holdfast resume --session {first['session']}"


def test_people_read_plain_lines_through_a_pipe(shop: Path, holdfast: Holdfast) -> None:
    answer = holdfast("find", "--here", "timeout", "of", "the", "gateway")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    first = answer.out.splitlines()[:6]
    assert first[0] == f" 1  11111111-aaa  Claude Code  2026-11-10  main  {shop}"
    assert first[1].strip().startswith("Why does the payment client retry on 503?")
    assert any(line.startswith("    failure  FAILED tests/test_pay.py") for line in first)
    assert first[-1] == "    files    pay.py (gone)"


@pytest.mark.parametrize("client", CASES)
def test_sessions_of_all_six_clients_are_found(
    client: str, repository: Path, home: Path, holdfast: Holdfast
) -> None:
    put_session(client, home, repository)
    answer = holdfast("find", "--json", "--here", "quotes in words.py")
    assert [hit["session"] for hit in answer.data["hits"]] == [CASES[client].session]
    hit = answer.data["hits"][0]
    assert hit["client"] == client
    assert hit["request"].startswith("Keep the quotes in words.py")
    assert [file["path"] for file in hit["files"]] == ["words.py"]
    lines = holdfast("find", "--json", "--here", ERROR).data["hits"][0]["lines"]
    assert any("quotes were lost" in line["text"] for line in lines)


def test_file_client_since_and_limit_narrow(shop: Path, home: Path, holdfast: Holdfast) -> None:
    put_session("codex", home, shop)
    assert sessions(holdfast("find", "--json", "--here", "--file", "dates.py")) == [DATES]
    found = holdfast("find", "--json", "--here", "--client", "codex", "retry docs quotes")
    assert [hit["client"] for hit in found.data["hits"]] == ["codex"]
    found = holdfast("find", "--json", "--here", "--since", "2026-11-12", "retry dates docs")
    assert {DATES, DOCS} <= set(sessions(found))
    assert RETRY not in sessions(found)
    assert len(holdfast("find", "--json", "--here", "--limit", "1", "the docs").data["hits"]) == 1
    assert holdfast("find", "--here", "--since", "soon", "docs").code == 2
    found = holdfast("find", "--json", "--here", "--since", f"{10**13}d", "retry")
    assert RETRY in sessions(found), "before the first second that a clock knows"


def test_a_file_says_whether_it_changed_since(shop: Path, holdfast: Holdfast) -> None:
    file = shop / "pay.py"
    file.write_text("send_once()\n")
    edited = 1794304802  # 2026-11-10T10:00:02Z
    os.utime(file, (edited, edited))
    question = ("find", "--json", "--here", "retry 503")
    assert holdfast(*question).data["hits"][0]["files"][0]["state"] == "unchanged"
    os.utime(file, (edited + 60, edited + 60))
    assert holdfast(*question).data["hits"][0]["files"][0]["state"] == "changed"


def test_without_a_terminal_only_this_repository_is_indexed(
    shop: Path, put: Put, tmp_path: Path, holdfast: Holdfast
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put(other, "44444444-dddd-4000-8000-000000000004", [("user", "Drop the retry of the mailer.")])
    assert sessions(holdfast("find", "--json", "drop the retry")) == [RETRY]
    with closing(apsw.Connection(index.path())) as database:
        assert database.execute("SELECT count(*) FROM session").fetchone() == (3,)
    answer = holdfast("find", "--json", "--all", "drop the retry of the mailer")
    assert sessions(answer)[0].startswith("44444444")
    assert answer.data["hits"][0]["open"].startswith("holdfast resume --transcript ")


def test_a_project_can_leave_itself_out(
    shop: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sessions(holdfast("find", "--json", "--all", "drop the retry")) == [RETRY]
    monkeypatch.setenv("HOLDFAST_MEMORY_EXCLUDE", str(shop.parent))
    transcript = next(Path(os.environ["HOME"]).glob(".claude/projects/*/1111*.jsonl"))
    transcript.write_text(transcript.read_text() + "\n")
    assert holdfast("find", "--json", "--all", "drop the retry").data["hits"] == []
    monkeypatch.delenv("HOLDFAST_MEMORY_EXCLUDE")
    (shop / "holdfast.toml").write_text('[memory]\nexclude = "."\n')
    assert holdfast("find", "--json", "--all", "parse dates").data["hits"] == []


def test_what_grew_is_read_on_and_damage_is_counted(
    shop: Path, put: Put, holdfast: Holdfast
) -> None:
    assert sessions(holdfast("find", "--json", "--here", "zebra")) == []
    path = next(Path(os.environ["HOME"]).glob(".claude/projects/*/2222*.jsonl"))
    lines = path.read_text().splitlines()
    more = json.loads(lines[1])
    more["uuid"], more["message"]["id"] = "u9", "m9"
    more["message"]["content"][0]["text"] = "The zebra crossing is drawn."
    with path.open("a") as file:
        file.write('{"torn": \n{"of": "nobody"}\n' + json.dumps(more, separators=(",", ":")) + "\n")
        file.write('{"type":"assistant","half')
    found = holdfast("find", "--json", "--here", "zebra")
    assert sessions(found) == [DATES]
    assert found.data["skipped"] == 2
    # What was there before is still found, once.
    assert sessions(holdfast("find", "--json", "--here", "parse_date"))[0] == DATES


def test_no_secret_reaches_the_index(shop: Path, put: Put, holdfast: Holdfast) -> None:
    said = [
        ("user", f"Deploy with the token {SECRET} to staging."),
        ("Bash", f"curl -u x:{SECRET} host"),
    ]
    put(shop, "55555555-eeee-4000-8000-000000000005", said)
    answer = holdfast("find", "--json", "--here", "deploy with the token to staging")
    assert sessions(answer)[0].startswith("5555")
    assert SECRET not in answer.out
    with closing(apsw.Connection(index.path())) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not any(SECRET.encode() in path.read_bytes() for path in Path(index.folder()).iterdir())
    assert holdfast("find", "--json", "--here", SECRET).data["hits"] == []


def test_the_index_is_of_its_user_alone(shop: Path, holdfast: Holdfast) -> None:
    holdfast("find", "--json", "--here", "retry")
    assert stat.S_IMODE(os.stat(index.folder()).st_mode) == 0o700
    for path in Path(index.folder()).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize(
    "question",
    [
        '"',
        "'\"' OR",
        "NEAR(retry 503, 2)",
        "retry AND NOT (503",
        "col:retry",
        "retry*",
        "^retry",
        "re.tr[yi]+(503)?",
        "r\x00etry 503",
        "retry " * 2000,
        "ретрай 503 Ünïcode 日本語",
        "-- retry",
    ],
)
def test_no_question_breaks_the_search(question: str, shop: Path, holdfast: Holdfast) -> None:
    answer = holdfast("find", "--json", "--here", "--", question)
    assert answer.code in (0, 2), answer.out
    if answer.code == 0 and "retry" in question:
        assert sessions(answer)[:1] == [RETRY]


@pytest.mark.parametrize("question", ["", "   ", "???", "***"])
def test_a_question_without_words_is_refused(question: str, shop: Path, holdfast: Holdfast) -> None:
    answer = holdfast("find", "--here", "--", question)
    assert answer.code == 2
    assert "hint:" in answer.err


@pytest.mark.parametrize("how", ["deleted", "truncated", "garbage", "a folder of old tables"])
def test_a_broken_index_is_made_again(how: str, shop: Path, holdfast: Holdfast) -> None:
    holdfast("find", "--json", "--here", "retry")
    path = Path(index.path())
    for beside in path.parent.glob("index.db-*"):
        beside.unlink()
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "garbage":
        path.write_bytes(b"not a database" * 1000)
    else:
        path.unlink()
        with closing(apsw.Connection(str(path))) as database:
            database.execute("CREATE TABLE session(a); CREATE TABLE other(b)")
    assert sessions(holdfast("find", "--json", "--here", "drop the retry")) == [RETRY]


def test_a_second_reader_does_not_wait_for_the_first(shop: Path, holdfast: Holdfast) -> None:
    holdfast("find", "--json", "--here", "retry")
    with index.only_indexer() as is_ours:
        assert is_ours
        answer = holdfast("find", "--json", "--here", "drop the retry")
    assert sessions(answer) == [RETRY]
    assert answer.data["is_busy"]


def test_two_indexers_at_once_leave_one_whole_index(shop: Path, holdfast: Holdfast) -> None:
    command = [sys.executable, "-m", "holdfast", "find", "--json", "--here", "drop the retry"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=shop) for _ in range(2)]
    for one in both:
        one.communicate(timeout=60)
    assert sessions(holdfast("find", "--json", "--here", "drop the retry")) == [RETRY]
    with closing(apsw.Connection(index.path())) as database:
        assert database.execute("SELECT count(*) FROM session").fetchone() == (3,)


def test_a_locked_index_is_said_to_be(
    shop: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("find", "--json", "--here", "retry")
    monkeypatch.setattr(index, "BUSY_MILLISECONDS", 100)
    transcript = next(Path(os.environ["HOME"]).glob(".claude/projects/*/1111*.jsonl"))
    transcript.write_text(transcript.read_text() + "\n")
    with closing(apsw.Connection(index.path())) as database:
        database.execute("BEGIN EXCLUSIVE")
        answer = holdfast("find", "--here", "retry")
    assert answer.code != 0
    assert "Another process holds the index." in answer.err
    assert sessions(holdfast("find", "--json", "--here", "retry")) == [RETRY]


def test_a_home_that_cannot_be_written_is_searched_all_the_same(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    (home / ".local" / "share").mkdir(parents=True)
    (home / ".local" / "share" / "holdfast").write_text("in the way")
    answer = holdfast("find", "--here", "drop the retry")
    assert "Claude Code" in answer.out
    assert "cannot be written to" in answer.err


def test_a_clock_that_jumps_hides_no_session(
    shop: Path, put: Put, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sessions(holdfast("find", "--json", "--all", "drop the retry")) == [RETRY]
    path = put(shop, "66666666-ffff-4000-8000-000000000006", [("user", "Draw an aardvark.")])
    os.utime(path, (1, 1))
    # Older than what was seen: found by the next complete look, and by one at once where the clock went back.
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400)
    assert sessions(holdfast("find", "--json", "--all", "aardvark"))[0].startswith("6666")


def test_a_deleted_session_stays_found(shop: Path, home: Path, holdfast: Holdfast) -> None:
    holdfast("find", "--json", "--all", "retry")
    shutil.rmtree(home / ".claude")
    (hit,) = holdfast("find", "--json", "--all", "drop the retry").data["hits"]
    assert hit["session"].startswith(RETRY)
    assert hit["is_kept"]


def test_who_did_it_comes_before_a_later_one_that_mentions_it(
    shop: Path, put: Put, holdfast: Holdfast
) -> None:
    put(
        shop,
        "77777777-aaaa-4000-8000-000000000007",
        [
            ("user", "Review: the payment client does not retry on 503 any more, drop the retry?"),
            (
                "assistant",
                "Yes. The gateway retries already, so chargeCard dropped the retry on 503.",
            ),
        ],
        "2026-11-16",
    )
    answer = holdfast("find", "--json", "--here", "drop the retry on 503")
    assert [one[:8] for one in sessions(answer)] == ["11111111", "77777777"]


def test_one_open_index_answers_several_questions(shop: Path, holdfast: Holdfast) -> None:
    holdfast("find", "--json", "--here", "retry")
    with index.open_index() as opened:
        for words in (["retry"], ["dates"], ["retry"]):
            assert rank(Question(opened, words), None, 5)


@pytest.mark.parametrize(
    "words",
    [("why", "--json", "pay.py"), ("remember", "--json"), ("find", "--json", "--here", "retry")],
)
def test_every_reader_of_a_damaged_or_locked_index_goes_on_or_says_so(
    words: tuple[str, ...], shop: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "pay.py").write_text("send_once()\n")
    holdfast("find", "--json", "--here", "retry")
    for beside in Path(index.folder()).glob("index.db-*"):
        beside.unlink()
    whole = Path(index.path()).read_bytes()
    Path(index.path()).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert holdfast(*words).code == 0
    assert sessions(holdfast("find", "--json", "--here", "drop the retry")) == [RETRY]
    monkeypatch.setattr(index, "BUSY_MILLISECONDS", 100)
    transcript = next(Path(os.environ["HOME"]).glob(".claude/projects/*/1111*.jsonl"))
    transcript.write_text(transcript.read_text() + "\n")
    with closing(apsw.Connection(index.path())) as database:
        database.execute("BEGIN EXCLUSIVE")
        answer = holdfast(*words)
    assert answer.code == 75
    assert answer.envelope["error"]["retryable"]
