"""The checkpoints of an epic as they stand on disk: what is seen, what is passed over, what is broken."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet import scan as scanning
from holdfast.fleet.rules.model import agent_of, stem_of
from holdfast.fleet.rules.verdict import age_minutes, liveness
from holdfast.fleet.scan import CheckpointFile, scan
from holdfast.kernel.clock import HOUR
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import identity_of, read_file
from tests.fleet import writers
from tests.fleet.examples import NOW, put, saved, text_of

Answer = list[tuple[str, int | None, str]]


def ages(epic: Path, now: int = NOW) -> Answer:
    """Agent, age in minutes and liveness of each file; the first look and a later one must agree."""
    first, later = ([_age_of(seen, now) for seen in scan(str(epic))] for _ in range(2))
    assert first == later
    return first


def _age_of(seen: CheckpointFile, now: int) -> tuple[str, int | None, str]:
    agent = agent_in(seen)
    if seen.last_ms is None:
        return agent, None, "CORRUPTED"
    age = age_minutes(seen.last_ms, now)
    return agent, age, liveness(age, str(seen.said.get("status")))


def agent_in(seen: CheckpointFile) -> str:
    return str(seen.said.get("agent_id") or agent_of(seen.stem))


def only(epic: Path) -> CheckpointFile:
    (seen,) = scan(str(epic))
    return seen


@pytest.mark.clause("FLEET-41", "AMB-FLEET-21")
def test_all_secondaries_and_the_primary(tmp_path: Path) -> None:
    put(tmp_path, "secondary_b.json", saved("Secondary-B", ago=31))
    put(tmp_path, "secondary_a.json", saved("Secondary-A", ago=61))
    put(tmp_path, "primary.json", saved("Agent-Primary", ago=90))
    put(tmp_path, "tertiary_a.json", saved("Tertiary-A"))
    put(tmp_path, "secondary_c.json.bak", saved("Secondary-C"))
    put(tmp_path, "backups/secondary_d.json", saved("Secondary-D"))
    assert ages(tmp_path) == [
        ("Agent-Primary", 90, "STALE"),
        ("Secondary-A", 61, "STALE"),
        ("Secondary-B", 31, "WARNING"),
    ]


@pytest.mark.clause("FLEET-42")
def test_nothing_to_see_is_no_error(tmp_path: Path) -> None:
    assert ages(tmp_path) == []
    (tmp_path / "agent_checkpoints").mkdir()
    assert ages(tmp_path) == []
    (tmp_path / "file").mkdir()
    (tmp_path / "file/agent_checkpoints").write_text("")
    assert ages(tmp_path / "file") == []


@pytest.mark.clause("FLEET-42")
def test_a_file_that_vanishes_before_it_is_read_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "secondary_a.json", saved())
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [*real(folder), "secondary_z.json"])
    assert ages(tmp_path) == [("Secondary-A", 0, "ACTIVE")]


@pytest.mark.clause("AMB-FLEET-05")
def test_archives_are_passed_over(tmp_path: Path) -> None:
    for name in ("secondary_a_crashed_1768487400", "secondary_a_aborted_1768487400"):
        put(tmp_path, f"{name}.json", saved(ago=900))
    for name in ("secondary_crashed_x", "secondary_a_crashed", "secondary_a_resumed_17"):
        put(tmp_path, f"{name}.json", saved(name))
    assert [agent for agent, _, _ in ages(tmp_path)] == [
        "secondary_a_crashed",
        "secondary_a_resumed_17",
        "secondary_crashed_x",
    ]


@pytest.mark.clause("FLEET-43", "FLEET-44", "FLEET-45", "FLEET-46")
@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (59, (0, "ACTIVE")),
        (30 * 60 + 59, (30, "ACTIVE")),
        (31 * 60, (31, "WARNING")),
        (60 * 60 + 59, (60, "WARNING")),
        (61 * 60, (61, "STALE")),
    ],
)
def test_the_thresholds_from_file_to_word(
    tmp_path: Path, seconds: int, expected: tuple[int, str]
) -> None:
    put(tmp_path, "secondary_a.json", saved(ago=seconds / 60))
    assert ages(tmp_path) == [("Secondary-A", *expected)]


@pytest.mark.clause("AMB-FLEET-04")
def test_a_complete_agent_is_complete(tmp_path: Path) -> None:
    put(tmp_path, "secondary_a.json", saved(ago=900, status="COMPLETE"))
    assert ages(tmp_path) == [("Secondary-A", 900, "COMPLETE")]


@pytest.mark.clause("AMB-FLEET-20")
def test_a_clock_that_stepped_back_and_a_laptop_that_slept(tmp_path: Path) -> None:
    put(tmp_path, "secondary_a.json", saved(ago=0))
    assert ages(tmp_path, NOW - HOUR) == [("Secondary-A", 0, "ACTIVE")]
    assert ages(tmp_path, NOW + 9 * HOUR) == [("Secondary-A", 540, "STALE")]


@pytest.mark.clause("AMB-FLEET-24")
def test_what_others_write_is_read_as_it_is(tmp_path: Path) -> None:
    """Values, keys and names from a real project that had nobody to check them."""
    strange = {
        "status": "PAUSED",
        "next_checkpoint_expected": "PAUSED",
        "ready_for_sync": True,
        "agent_role": "Secondary-A",
        "note": "café ✅",
    }
    put(tmp_path, "secondary_a.json", saved("secondary-a-1769654893", ago=45, **strange))
    put(tmp_path, "secondary_feature-09.json", '{"last_checkpoint": "2026-01-15T14:00:00Z"}')
    put(tmp_path, "secondary_b.json", saved("Secondary-B", next_checkpoint_expected="never"))
    put(tmp_path, "secondary-c-1769654893.json", saved("Secondary-C"))
    assert ages(tmp_path) == [
        ("secondary-a-1769654893", 45, "WARNING"),
        ("Secondary-B", 0, "ACTIVE"),
        ("Secondary-FEATURE-09", 30, "ACTIVE"),
    ]
    said = scan(str(tmp_path))[0].said
    assert {name: said[name] for name in strange} == strange
    assert (said["status"], said["feature"], said["stage"]) == (
        "PAUSED",
        "feature_02_team_penalty",
        "S2.P2",
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15T14:00:00.123456+00:00",
        "2026-01-15T15:00:00+01:00",
        "2026-01-15 14:00:00",
        "2026-01-15T14:00:00.000Z",
    ],
)
def test_times_that_scripts_write(tmp_path: Path, text: str) -> None:
    put(tmp_path, "secondary_a.json", saved(last_checkpoint=text))
    ((_, age, _),) = ages(tmp_path)
    assert age in (29, 30)


def test_a_byte_order_mark_and_foreign_line_ends(tmp_path: Path) -> None:
    text = "\ufeff" + text_of(saved()).replace("\n", "\r\n")
    put(tmp_path, "secondary_a.json", text.encode())
    assert ages(tmp_path) == [("Secondary-A", 0, "ACTIVE")]


def test_a_large_checkpoint(tmp_path: Path) -> None:
    put(tmp_path, "secondary_a.json", saved(completed_steps=["x" * 1000] * 200))
    assert ages(tmp_path) == [("Secondary-A", 0, "ACTIVE")]


@pytest.mark.clause("AMB-FLEET-20")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b'{"agent_id": "Secondary-A", "last', "invalid JSON"),
        (text_of(saved()).encode()[:-3], "invalid JSON"),
        (text_of(saved()).encode() + b"}", "invalid JSON"),
        (b'{"agent_id": "\xff"}', "not UTF-8"),
        (text_of(saved(note="X")).encode().replace(b"X", b"\xff"), "not UTF-8"),
        (b"{" + b'"a":' + b"[" * 50_000, "invalid JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (text_of(saved(last_checkpoint="never")).encode(), "last_checkpoint is no time: 'never'"),
        (text_of(saved(last_checkpoint=1768487400)).encode(), "last_checkpoint is no time"),
        (b"{}", "last_checkpoint is no time: None"),
    ],
)
def test_a_broken_file_is_corrupted_and_the_scan_goes_on(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    broken = put(tmp_path, "secondary_a.json", content)
    put(tmp_path, "secondary_b.json", saved("Secondary-B", ago=31))
    os.utime(broken, ns=(NOW * 1_000_000,) * 2)
    assert ages(tmp_path) == [("Secondary-A", None, "CORRUPTED"), ("Secondary-B", 31, "WARNING")]
    seen = scan(str(tmp_path))[0]
    assert problem in seen.problem
    assert (seen.stem, seen.last_ms) == ("secondary_a", None)
    assert seen.identity == identity_of(str(broken)) == identity_of(seen.path)


def test_what_is_no_regular_file_is_corrupted(tmp_path: Path) -> None:
    folder = put(tmp_path, "secondary_a.json", saved()).parent
    (folder / "secondary_b.json").symlink_to("secondary_a.json")
    (folder / "secondary_c.json").symlink_to("nowhere")
    (folder / "secondary_d.json").mkdir()
    os.mkfifo(folder / "secondary_e.json")
    for name in ("b", "c", "d", "e"):
        os.utime(folder / f"secondary_{name}.json", ns=(0, 0), follow_symlinks=False)
    assert [liveness for _, _, liveness in ages(tmp_path)] == ["ACTIVE", *["CORRUPTED"] * 4]
    problems = [seen.problem for seen in scan(str(tmp_path))]
    assert problems[1:4] == ["a link to secondary_a.json", "a link to nowhere", "a folder"]
    assert problems[4] == "not a regular file"


def test_a_look_takes_nothing_out_of_a_pipe(tmp_path: Path) -> None:
    pipe = put(tmp_path, "secondary_a.json", saved()).with_name("secondary_b.json")
    os.mkfifo(pipe)
    both = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(both, b"for another program")
        os.utime(pipe, ns=(0, 0))
        assert [seen.problem for seen in scan(str(tmp_path))] == ["", "not a regular file"]
        assert os.read(both, 100) == b"for another program"
    finally:
        os.close(both)


def test_a_folder_that_is_a_link_is_looked_into(tmp_path: Path) -> None:
    """Worktrees may share one; writing through a link is another matter."""
    put(tmp_path / "shared", "secondary_a.json", saved())
    (tmp_path / "epic").mkdir()
    (tmp_path / "epic/agent_checkpoints").symlink_to(tmp_path / "shared/agent_checkpoints")
    assert ages(tmp_path / "epic") == [("Secondary-A", 0, "ACTIVE")]


# While others write


def test_a_file_that_a_shell_has_just_emptied_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old by its time, and open: the shell works out its text for longer than a moment."""
    path = put(tmp_path, "secondary_a.json", saved(phase="old"))
    writing = open(path, "w")  # noqa: SIM115
    os.utime(path, ns=(NOW * 1_000_000,) * 2)
    looks = []

    def done_after_the_third_look(place: str) -> tuple[str, bytes]:
        looks.append(place)
        if len(looks) == 4:
            writing.write(text_of(saved(phase="new")))
            writing.close()
        return read_file(place)

    monkeypatch.setattr(scanning, "read_file", done_after_the_third_look)
    seen = only(tmp_path)
    writing.close()
    assert seen.problem == ""
    assert seen.said["phase"] == "new"


def test_a_write_that_ends_between_our_look_and_our_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes any more when we ask, yet what we read is not what stands there."""
    path = put(tmp_path, "secondary_a.json", b"")
    os.utime(path, ns=(NOW * 1_000_000,) * 2)

    def ended_just_now(file: str) -> bool:
        monkeypatch.setattr(scanning, "is_quiet", is_quiet)
        put(tmp_path, "secondary_a.json", saved())
        os.utime(path, ns=(NOW * 1_000_000,) * 2)
        return True

    monkeypatch.setattr(scanning, "is_quiet", ended_just_now)
    assert only(tmp_path).problem == ""


def test_a_file_written_in_steps_is_waited_for(tmp_path: Path) -> None:
    """Closed in between, as `printf > file` and `printf >> file` leave it."""
    text = text_of(saved())
    path = put(tmp_path, "secondary_a.json", text[:100])

    def append() -> None:
        with open(path, "a") as file:
            file.write(text[100:])

    later = threading.Timer(0.05, append)
    later.start()
    assert only(tmp_path).problem == ""
    later.join()


@pytest.mark.parametrize("ahead", [0, HOUR])
def test_waiting_has_an_end(tmp_path: Path, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken file that is young, or whose time is in the future, and that nobody mends: a moment
    is enough, whatever patience there is with writers."""
    monkeypatch.setattr(scanning, "MOMENT", 0.05)
    monkeypatch.setattr(scanning, "PATIENCE", 20)
    looks = []

    def counted(place: str) -> tuple[str, bytes]:
        looks.append(place)
        return read_file(place)

    monkeypatch.setattr(scanning, "read_file", counted)
    path = put(tmp_path, "secondary_a.json", b"{")
    when = time.time_ns() + ahead * 1_000_000
    os.utime(path, ns=(when, when))
    assert "invalid JSON" in only(tmp_path).problem
    assert 1 < len(looks) < 20 / scanning.PAUSE / 4


def test_a_writer_that_never_ends_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "PATIENCE", 0.1)
    path = put(tmp_path, "secondary_a.json", b"")
    with open(path, "w"):
        assert only(tmp_path).problem == "empty"


@pytest.mark.parametrize("count", [12, pytest.param(50, marks=pytest.mark.proof)])
def test_many_writers_and_never_a_torn_read_nor_a_false_alarm(tmp_path: Path, count: int) -> None:
    agents = [f"Secondary-{number:02d}" for number in range(count)]
    half = count // 2
    for agent in agents:
        put(tmp_path, f"{stem_of(agent)}.json", writers.content(agent, 0))
    (tmp_path / "go").touch()
    ours = writers.start(tmp_path, agents[:half])
    shells = [writers.start_shell(tmp_path, agent) for agent in agents[half:]]
    changes: dict[str, set[str]] = {agent: set() for agent in agents}
    deadline = time.monotonic() + 60
    try:
        # Until everybody was seen to have written a few times.
        while min(map(len, changes.values())) < 10 and time.monotonic() < deadline:
            seen = scan(str(tmp_path))
            assert [each.problem for each in seen if each.problem] == []
            assert [agent_in(each) for each in seen] == agents
            for each in seen:
                said: dict[str, Any] = each.said
                assert said["phase"] == said["current_step"], "two halves of different texts"
                changes[agent_in(each)].add(said["phase"])
    finally:
        (tmp_path / "go").unlink()
        ours.communicate()
        for shell in shells:
            shell.wait()
    assert min(map(len, changes.values())) >= 10, "all of them wrote"


def test_many_agents_of_whom_one_is_broken(tmp_path: Path) -> None:
    for number in range(300):
        put(tmp_path, f"secondary_{number:03d}.json", saved(f"Secondary-{number:03d}", ago=number))
    broken = put(tmp_path, "secondary_007.json", "{}")
    os.utime(broken, ns=(0, 0))
    found = ages(tmp_path)
    assert [age for _, age, _ in found] == [None if n == 7 else n for n in range(300)]
    assert found[7] == ("Secondary-007", None, "CORRUPTED")
