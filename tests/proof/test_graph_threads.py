"""kill -9 at every system call of a put: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from holdfast.contrib.langgraph.store import Threads, stream_of
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from tests.proof.points import listed, traced

pytestmark = pytest.mark.proof

THREAD = stream_of("killed")
# Each value adds to the one before; the last put is the one that is struck.
PUT = """
import sys
from holdfast.contrib.langgraph.store import Checkpoint, Threads, Write, stream_of
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover

threads = Threads(open_writer(discover(".")), "tester")
first, last = map(int, sys.argv[1:])
for number in range(first, last):
    id, parent = f"{number:04}", f"{number - 1:04}" if number else None
    value = ("bytes", b"".join(b"%01000d" % one for one in range(number + 1)))
    threads.put(stream_of("killed"), Checkpoint(
        namespace="", id=id, parent=parent, step=number, source="loop", run="", checkpoint=("bytes", b"c"),
        metadata=("bytes", b"m"), values={"items": value}, versions={"items": number}))
    write = Write("task", "", 0, "items", ("bytes", id.encode()))
    threads.put_writes(stream_of("killed"), "", id, [write], replace=False)
    print(id, flush=True)
"""
STEPS = 12


def command(first: int, last: int) -> list[str]:
    return [sys.executable, "-c", PUT, str(first), str(last)]


def read(root: Path) -> list[str]:
    """Return the checkpoints that are there, each with its whole value."""
    workspace = discover(str(root))
    threads = Threads(open_writer(workspace), "tester")
    found = []
    for record in reversed(list(threads.list_records(THREAD))):
        checkpoint = threads.open(record)
        number = int(checkpoint.id)
        assert checkpoint.values["items"][1] == b"".join(
            b"%01000d" % one for one in range(number + 1)
        )
        writes = threads.read_writes(THREAD, "", checkpoint.id)
        assert [write.value[1] for write in writes] in ([], [checkpoint.id.encode()])
        found.append(checkpoint.id)
    workspace.close()
    return found


def test_a_put_is_there_or_not_wherever_it_dies(
    empty_repository: Path, strace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "template"
    shutil.copytree(empty_repository, template)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert traced(strace, [], command(0, STEPS), template, tmp_path / "template.log").code == 0
    observed = tmp_path / "observed"
    shutil.copytree(template, observed)
    log = tmp_path / "observed.log"
    assert traced(strace, [], command(STEPS, STEPS + 2), observed, log).code == 0
    points = listed(log, observed)
    before = [f"{number:04}" for number in range(STEPS)]
    seen = set()
    for number, point in enumerate(points):
        root = tmp_path / f"struck-{number}"
        shutil.copytree(template, root)
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, command(STEPS, STEPS + 2), root, tmp_path / f"{number}.log")
        assert struck.was_struck, point
        found = read(root)
        acknowledged = struck.output.split()
        assert found[:STEPS] == before, point
        assert found[STEPS:] in ([], ["0012"], ["0012", "0013"]), point
        assert set(acknowledged) <= set(found), point
        seen.add(len(found))
        again = traced(strace, [], command(len(found), STEPS + 3), root, tmp_path / "again.log")
        assert again.code == 0, again.errors
        assert read(root) == [f"{number:04}" for number in range(STEPS + 3)]
        shutil.rmtree(root)
    print(f"\nA put, killed at {len(points)} points")
    assert seen == {STEPS, STEPS + 1, STEPS + 2}
