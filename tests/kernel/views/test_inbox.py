"""A process that may not write the journal still gets its word in; rule 9 of the design."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock, inbox
from holdfast.kernel.commit import take_in
from holdfast.kernel.errors import Conflict, StoreAway
from tests.kernel.views.scene import STREAM, Scene, set_writable

NOTE = """
try:
    outcome = note(sys.argv[2], id=sys.argv[3] if len(sys.argv) > 3 else "")
    print(outcome["queued"])
except HoldfastError as error:
    print(error.kind)
    sys.exit(error.exit_code)
"""


def home_of(scene: Scene) -> Path:
    return Path(scene.workspace.home)


def queue(scene: Scene, text: str, id: str = "") -> Path:
    """A note by a process for which the journal is read-only; the file that waits."""
    set_writable(home_of(scene), False)
    done = scene.child(NOTE, text, *([id] if id else []), as_nobody=True)
    set_writable(home_of(scene), True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "it was not queued"
    return Path(done.stdout.strip())


def queue_by_hand(scene: Scene, **fields: Any) -> Path:
    """A queued command as another program might have left it, with these fields changed."""
    folder = Path(scene.workspace.prepare_tool_folder("inbox"))
    command = {
        "id": "b" * 26,
        "stream": STREAM,
        "command": {"add": "queued", "by": "agent"},
        "actor": "agent",
        "fence": None,
        "at": "2026-01-02T03:04:05.006Z",
        **fields,
    }
    path = folder / "2026-01-02T030405.006Z-b.json"
    path.write_text(json.dumps(command))
    return path


def test_a_note_that_cannot_be_written_waits_in_the_inbox(shared_scene: Scene) -> None:
    scene = shared_scene
    secret = "ghp_" + "a1B2" * 9

    waiting = queue(scene, f"third, with {secret}", id="c" * 26)

    assert waiting.parent == scene.tools / "inbox"
    assert waiting.stat().st_mode & 0o777 == 0o600
    text = waiting.read_text()
    assert secret not in text
    command = json.loads(text)
    assert command["id"] == "c" * 26
    assert command["stream"] == STREAM
    assert command["command"]["add"].startswith("third, with ")
    assert [name for name in waiting.parent.iterdir() if name != waiting] == []
    assert scene.texts() == ["first", "second"]


def test_what_waits_is_synced_before_it_is_said(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.workspace.prepare_tool_folder("inbox")
    happened: list[str] = []
    real = {name: getattr(inbox.os, name) for name in ("fsync", "rename")}  # type: ignore[attr-defined]

    def noticing(name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            happened.append(name)
            return real[name](*arguments, **options)

        return call

    for name in real:
        monkeypatch.setattr(inbox.os, name, noticing(name))  # type: ignore[attr-defined]
    queued: Any = {
        "id": "d" * 26,
        "stream": STREAM,
        "command": {"add": "x", "by": "y"},
        "actor": "y",
        "fence": None,
        "at": clock.precise(0),
    }
    inbox.put(scene.workspace, queued)
    assert happened == ["fsync", "rename", "fsync"]


def test_the_tool_folder_ignores_itself(shared_scene: Scene) -> None:
    scene = shared_scene
    queue(scene, "third")
    # Run by the owner: git distrusts a repository of somebody else.
    safe = f"safe.directory={scene.root}"
    shown = scene.git("-c", safe, "status", "--porcelain", "--untracked-files=all")
    assert shown == "?? .notes/default.md\n"


def test_a_read_only_reader_reads_all_records(shared_scene: Scene) -> None:
    scene = shared_scene
    code = """
journal = workspace.journal
print(journal.read_only, [record["body"]["text"] for record in journal.since(0)])
"""
    # The last record is in the WAL only: connections do not checkpoint when they close.
    assert (home_of(scene) / "journal.db-wal").stat().st_size > 0
    set_writable(home_of(scene), False)
    done = scene.child(code, as_nobody=True)
    set_writable(home_of(scene), True)
    assert done.stdout == "True ['first', 'second']\n", done.stderr


def test_a_read_only_reader_sees_what_a_writer_adds_meanwhile(shared_scene: Scene) -> None:
    scene = shared_scene
    # The folder alone is closed here: its owner's files stay writable for a writer that is root,
    # or that opened them before.
    scene.note("third")
    set_writable(home_of(scene), False)
    code = "print([record['body']['text'] for record in workspace.journal.since(0)])"
    done = scene.child(code, as_nobody=True)
    set_writable(home_of(scene), True)
    assert done.stdout == "['first', 'second', 'third']\n", done.stderr


def test_the_next_process_that_can_write_takes_it_in_once(shared_scene: Scene) -> None:
    scene = shared_scene
    before = clock.precise(clock.now())
    waiting = queue(scene, "third", id="c" * 26)
    at = json.loads(waiting.read_text())["at"]

    scene.note("fourth")

    assert not waiting.exists()
    assert scene.texts() == ["first", "second", "third", "fourth"]
    record = scene.records()[2]
    assert record["id"] == "c" * 26
    assert record["actor"] == "child"
    assert record["at"] == at >= before
    assert scene.text() == scene.rendered()
    scene.note("fifth")
    assert scene.texts().count("third") == 1


def test_several_wait_in_their_order(shared_scene: Scene) -> None:
    scene = shared_scene
    for text in ("third", "fourth", "fifth"):
        queue(scene, text)
    assert take_in(scene.writer, [str(scene.root)]) == 3
    assert scene.texts() == ["first", "second", "third", "fourth", "fifth"]


def test_a_crash_between_taking_in_and_unlinking_does_not_double_it(shared_scene: Scene) -> None:
    scene = shared_scene
    waiting = queue(scene, "third")
    code = """
unlink = os.unlink
os.unlink = lambda path, **options: die() if path.endswith(".json") else unlink(path, **options)
note("fourth")
"""
    assert scene.child(code).returncode == -9
    assert waiting.exists()
    assert scene.texts() == ["first", "second", "third"]

    scene.note("fifth")

    assert not waiting.exists()
    assert scene.texts() == ["first", "second", "third", "fifth"]
    assert scene.text() == scene.rendered()


def test_a_journal_that_cannot_be_begun_is_no_obstacle(shared_scene: Scene) -> None:
    # A sandbox in a repository where holdfast has never run: not even its folder is there.
    scene = shared_scene
    scene.close()
    home = home_of(scene)
    moved = scene.root / ".git" / "elsewhere"
    home.rename(moved)
    (scene.root / ".git").chmod(0o555)
    done = scene.child(NOTE, "third", as_nobody=True)
    (scene.root / ".git").chmod(0o755)
    moved.rename(home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith(".json")
    scene.note("fourth")
    assert scene.texts() == ["first", "second", "third", "fourth"]


# What cannot be taken in


def test_a_late_note_to_an_ended_stream_is_set_aside(shared_scene: Scene) -> None:
    scene = shared_scene
    waiting = queue(scene, "too late")
    scene.workspace.journal.end(STREAM, clock.precise(clock.now()))

    assert take_in(scene.writer, [str(scene.root)]) == 0

    assert not waiting.exists()
    refused = Path(f"{waiting}.refused")
    assert json.loads(refused.read_text())["command"]["add"] == "too late"
    assert scene.texts() == ["first", "second"]
    assert len(scene.workspace.journal.refusals(STREAM)) == 1
    # Not tried again, and no obstacle to others.
    outcome = scene.writer.execute(
        "note:other", {"add": "x", "by": "y"}, actor="y", now=clock.now()
    )
    assert outcome["version"] == 1
    assert refused.exists()
    assert len(scene.workspace.journal.refusals(STREAM)) == 1
    with pytest.raises(Conflict):
        scene.note("also too late")


def test_a_note_of_a_life_that_was_taken_over_is_set_aside(scene: Scene) -> None:
    scene.note("first", grant=True)
    scene.note("second", grant=True)
    waiting = queue_by_hand(scene, fence=1)

    assert take_in(scene.writer, [str(scene.root)]) == 0

    assert not waiting.exists()
    assert Path(f"{waiting}.refused").exists()
    assert scene.texts() == ["first", "second"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"id": 1, "stream": "note:default"}',
        b'{"id": "a", "stream": "note:default"}',
    ],
)
def test_a_damaged_file_is_set_aside(scene: Scene, content: bytes) -> None:
    scene.note("first")
    path = Path(scene.workspace.prepare_tool_folder("inbox")) / "damaged.json"
    path.write_bytes(content)

    scene.note("second")

    assert scene.texts() == ["first", "second"]
    assert not path.exists()
    assert Path(f"{path}.refused").read_bytes() == content


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "yesterday"},
        {"at": ""},
        {"command": "not an object"},
        {"command": {}},
        {"command": None},
        {"command": {"add": "", "by": "x"}},
        {"fence": "one"},
        {"fence": 7},
        {"stream": "unknown:kind"},
        {"stream": "note:../../outside"},
        {"stream": ""},
        {"id": ""},
    ],
    ids=str,
)
def test_a_file_that_makes_no_sense_is_set_aside_and_stops_nobody(
    scene: Scene, fields: dict[str, Any]
) -> None:
    scene.note("first")
    path = queue_by_hand(scene, **fields)

    scene.note("second")

    assert scene.texts() == ["first", "second"]
    assert not path.exists()
    assert Path(f"{path}.refused").exists()


def test_an_unfinished_file_is_not_taken_in(scene: Scene) -> None:
    scene.note("first")
    path = queue_by_hand(scene)
    path.rename(f"{path}.unfinished")
    scene.note("second")
    assert scene.texts() == ["first", "second"]


def test_a_disk_that_takes_only_half_of_the_file_is_not_called_queued(
    shared_scene: Scene,
) -> None:
    # A full disk may take a part and say so: write(2) returns less than it was given.
    scene = shared_scene
    set_writable(home_of(scene), False)
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.argv[2] = "long " * 10_000
{NOTE}
"""
    done = scene.child(code, "", as_nobody=True)
    set_writable(home_of(scene), True)

    assert done.returncode == StoreAway.exit_code, done.stdout + done.stderr
    assert list((scene.tools / "inbox").glob("*.json")) == []


def test_where_nothing_can_be_written_the_answer_is_no(shared_scene: Scene) -> None:
    scene = shared_scene
    set_writable(home_of(scene), False)
    set_writable(scene.tools, False)
    done = scene.child(NOTE, "third", as_nobody=True)
    set_writable(scene.tools, True)
    set_writable(home_of(scene), True)

    assert done.stdout == "read_only\n", done.stderr
    assert done.returncode == 75
    assert scene.texts() == ["first", "second"]
