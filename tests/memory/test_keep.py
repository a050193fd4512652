"""Thirty-one days later: the client has deleted its transcripts, and Holdfast answers as before."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest

from holdfast.clients import kept
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.memory import hooks, index
from holdfast.memory.attention import find as find_attention
from holdfast.processes import relaunch
from tests.cli.conftest import Holdfast
from tests.clients.conformance.cases import CASES, put_session
from tests.memory.conftest import SECRET, Put

RETRY = "11111111-aaaa-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "365")


def age(path: Path, days: float) -> None:
    """Let a transcript be as old as a client's clean-up looks for."""
    then = time.time() - days * 86_400
    for one in [path, *path.rglob("*")]:
        os.utime(one, (then, then))


def delete_transcripts(client: str, path: Path) -> None:
    for name in (path, *path.parent.glob("opencode.db-*")):
        name.unlink()


@pytest.mark.parametrize("client", CASES)
def test_a_deleted_session_is_resumed_with_equal_text(
    client: str, repository: Path, home: Path, holdfast: Holdfast
) -> None:
    path, session = put_session(client, home, repository), CASES[client].session
    age(path, 29)
    questions = [
        ("resume", "--session", session),
        ("edits", "--session", session),
        ("find", "--json", "--here", "quotes in words.py"),
    ]
    holdfast("remember")
    before = [holdfast(*question) for question in questions]
    delete_transcripts(client, path)
    after = [holdfast(*question) for question in questions]
    assert [one.code for one in after] == [one.code for one in before] == [0, 0, 0]
    assert after[0].out == before[0].out
    assert after[1].out == before[1].out
    (was,), (hit,) = before[2].data["hits"], after[2].data["hits"]
    assert hit == {**was, "is_kept": True}
    assert holdfast("show", session[:12]).code == 0


@pytest.mark.usefixtures("home")
def test_a_rebuilt_container_has_what_the_repository_keeps(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "begin a journal")
    age(home / ".claude", 20)
    holdfast("remember")
    before = holdfast("resume", "--session", RETRY)
    assert list((shop / ".git" / "holdfast" / "kept").iterdir())
    for name in (".claude", ".local"):
        shutil.rmtree(home / name)
    hit = holdfast("find", "--json", "--here", "why did we drop the retry").data["hits"][0]
    assert hit["session"] == RETRY
    assert hit["is_kept"]
    after = holdfast("resume", "--session", RETRY)
    assert after.code == 0
    assert after.out == before.out


def test_a_lost_index_is_made_again_from_what_is_kept(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    age(home / ".claude", 20)
    holdfast("remember", "--all")
    before = holdfast("find", "--json", "--all", "drop the retry").data["hits"]
    shutil.rmtree(home / ".claude")
    for name in Path(index.folder()).glob("index.db*"):
        name.unlink()
    after = holdfast("find", "--json", "--all", "drop the retry").data["hits"]
    assert [(one["session"], one["lines"]) for one in after] == [
        (one["session"], one["lines"]) for one in before
    ]


def test_what_is_kept_has_no_secret_and_its_owner_alone_reads_it(
    shop: Path, put: Put, home: Path, holdfast: Holdfast
) -> None:
    said = [("user", f"Use {SECRET}"), ("Edit", f"{shop / 'env.py'}|token|{SECRET}")]
    put(shop, "55555555-eeee-4000-8000-000000000005", said)
    age(home / ".claude", 20)
    holdfast("remember")
    files = list(kept.list_all(str(shop)))
    assert len(files) == 4
    for file in files:
        assert os.stat(file).st_mode & 0o777 == 0o600
        assert SECRET not in repr(kept.load(file, whole=True))
        assert SECRET not in repr(kept.read_header(Path(file).as_posix()))


def test_limits_of_age_and_size_remove_the_oldest(
    shop: Path, home: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(home / ".claude", 20)
    age(next(home.glob(".claude/projects/*/3333*")), 90)
    holdfast("remember")
    assert holdfast("remember", "--json").data["kept_in_all"] == 3
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "60")
    done = holdfast("remember", "--json").data
    assert (done["removed"], done["kept_in_all"]) == (1, 2)
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_MEGABYTES", "0")
    assert holdfast("remember", "--json").data["kept_in_all"] == 0


def test_a_damaged_file_of_the_archive_is_passed_over(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    age(home / ".claude", 20)
    holdfast("remember")
    files = list(kept.list_all(str(shop)))
    Path(files[0]).write_bytes(b"{ torn")
    Path(files[1]).write_bytes(Path(files[1]).read_bytes()[:-20])
    shutil.rmtree(home / ".claude")
    assert holdfast("resume", "--list").code == 0
    assert holdfast("remember").code == 0
    assert holdfast("find", "--json", "--here", "the docs").code == 0


def test_a_small_file_that_unpacks_to_gigabytes_is_passed_over(tmp_path: Path) -> None:
    """An archive of a repository brought it; `resume` took a minute and all memory."""
    packer = zlib.compressobj(9)
    content = packer.compress(b'{"count":1,"events":[["prompt","')
    content += b"".join(packer.compress(b"a" * (1 << 20)) for _ in range(1000)) + packer.flush()
    path = tmp_path / f"claude-s{kept.SUFFIX}"
    path.write_bytes(b"{}\n" + content)
    tracemalloc.start()
    assert kept.load(str(path), whole=True) is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * kept.MOST_UNPACKED


def test_a_purge_reaches_the_index_and_what_is_kept(
    shop: Path, home: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "begin a journal")
    age(home / ".claude", 20)
    holdfast("remember")
    text = "the gateway does that"
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))
    shown = holdfast("purge", "--matching", "--dry-run", "--json")
    assert any("index.db" in path for path in shown.data["files"]), shown.out
    assert any("kept/" in path for path in shown.data["files"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))
    done = holdfast("purge", "--matching", "--yes")
    assert done.code == 0, done.err
    assert not any("1111" in path for path in kept.list_all(str(shop)))
    # Also after the transcript, which is the user's, was looked at again.
    holdfast("remember")
    found = holdfast("find", "--json", "--here", "drop the retry of the gateway")
    assert RETRY not in [one["session"] for one in found.data["hits"]]
    assert not any("1111" in path for path in kept.list_all(str(shop)))


def test_status_warns_before_a_clean_up_deletes_what_is_not_kept(
    shop: Path, home: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "begin a journal")
    age(home / ".claude", 10)
    workspace = discover(str(shop))
    assert list(find_attention(workspace, clock.now())) == []
    age(next(home.glob(".claude/projects/*/1111*")), 25.5)
    (warned,) = find_attention(workspace, clock.now())
    assert warned.what == (
        "Claude Code deletes 1 session of this folder that nothing keeps, the first in 4 days"
    )
    assert warned.next == "holdfast remember"
    assert "deletes 1 session" in holdfast("status").out
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 99}')
    assert list(find_attention(workspace, clock.now())) == []
    (home / ".claude" / "settings.json").unlink()
    holdfast("remember")
    assert list(find_attention(workspace, clock.now())) == []


def test_hooks_let_a_process_keep_sessions_a_few_times_a_day(
    shop: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "begin a journal")
    workspace = discover(str(shop))
    left: list[list[str]] = []
    monkeypatch.setattr(relaunch, "leave", left.append)
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "0")
    hooks.remember_later(workspace, "s", clock.now())
    assert left == []
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "365")
    hooks.remember_later(workspace, "s", clock.now())
    assert [words[-3:] for words in left] == [["-C", str(shop), "remember"]]
    holdfast("remember")
    hooks.remember_later(workspace, "s", clock.now())
    assert len(left) == 1


def test_show_knows_the_sessions_of_other_projects(
    shop: Path, put: Put, tmp_path: Path, holdfast: Holdfast
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put(other, "44444444-dddd-4000-8000-000000000004", [("user", "Drop the retry of the mailer.")])
    assert holdfast("show", "44444444").code == 3
    holdfast("remember", "--all")
    shown = holdfast("show", "44444444")
    assert "Drop the retry of the mailer." in shown.out
