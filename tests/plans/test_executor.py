"""Programs that misbehave: none hangs a run, floods the disk, or is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from holdfast.kernel.digest import new_id
from holdfast.kernel.redact import Redactor
from holdfast.processes import identity, programs, supervisor, tree
from holdfast.processes.output_file import HEAD_BYTES, TAIL_BYTES, Log
from holdfast.processes.programs import Programs, end_leftovers
from tests.plans.world import World, auto
from tests.processes import wait_for


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.3)


@pytest.fixture(params=["linux", "darwin"])
def system(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what Linux does for a keeper and what it says in `/proc`, and without both, as on macOS."""
    kernel = tree.Kernel(request.param)
    monkeypatch.setattr(supervisor, "kernel", kernel)
    monkeypatch.setattr(programs, "kernel", kernel)
    if request.param == "darwin":
        monkeypatch.setattr(identity, "PROC", str(tmp_path / "no-proc"))


class Bench:
    """Programs, one after the other, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = str(folder / "own")
        self.programs = Programs(Redactor())
        self.marks: list[str] = []

    def start(self, *commands: str, seconds: float | None = None, input: str = "") -> str:
        mark = new_id()
        self.marks.append(mark)
        self.programs.start(
            {
                "mark": mark,
                "stages": [
                    {"name": str(at), "words": ["/bin/sh", "-c", one], "input": input}
                    for at, one in enumerate(commands)
                ],
                "folder": str(self.folder),
                "environment": dict(os.environ),
                "log": str(self.log(mark)),
                "own": self.own,
                "seconds": seconds,
            }
        )
        return mark

    def ended(self) -> supervisor.Ended:
        found: list[supervisor.Ended] = []
        while not found:
            found = self.programs.wait(1)
        (one,) = found
        return one

    def run(
        self, *commands: str, seconds: float | None = None, input: str = ""
    ) -> supervisor.Ended:
        self.start(*commands, seconds=seconds, input=input)
        return self.ended()

    def log(self, mark: str) -> Path:
        return self.folder / "logs" / f"{mark}.log"

    def left(self) -> list[int]:
        """Processes that belong to any of the programs, and notes of them."""
        notes = [name for name in os.listdir(self.own) if name.endswith(".job")]
        assert not notes or tree.find_marked(self.marks), "a note without a process"
        return tree.find_marked(self.marks)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(bench: Bench, system: None) -> None:
    ended = bench.run("sleep 600 & sh -c 'sleep 600 & wait' & wait", seconds=0.2)
    assert ended["too_long"]
    assert bench.left() == []


def test_a_program_that_ignores_the_request_to_end_is_made_to(bench: Bench) -> None:
    ended = bench.run("trap '' TERM; while :; do sleep 0.1; done", seconds=0.2)
    assert ended["too_long"]
    assert bench.left() == []


def test_a_flood_of_output_is_bounded_on_disk_with_its_end_kept(bench: Bench) -> None:
    """100 MB here; the full gigabyte is a proof."""
    ended = bench.run("echo first; yes 'a line of output' | head -c 100000000; echo; echo the end")
    assert (ended["code"], ended["last_line"]) == (0, "the end")
    log = bench.log(bench.marks[0])
    assert log.stat().st_size < HEAD_BYTES + TAIL_BYTES + 200_000
    text = log.read_text()
    assert text.startswith("first\n")
    assert text.endswith("the end\n")
    assert "bytes of output are left out here]" in text


def test_one_line_without_an_end_is_bounded_too(bench: Bench) -> None:
    bench.run("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end")
    log = bench.log(bench.marks[0])
    assert log.stat().st_size < HEAD_BYTES + TAIL_BYTES + 200_000
    assert log.read_text().endswith("the end\n")


def test_what_is_kept_of_the_end_is_redacted(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    log = Log(str(tmp_path / "log"), Redactor(), head=100, tail=300)
    for number in range(100):
        log.take(f"line {number} with a key {secret}\n".encode())
    log.take(
        b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A" * 60 + b"\n-----END RSA PRIVATE KEY-----\n"
    )
    log.take(b"the end\n")
    log.close()
    text = (tmp_path / "log").read_text()
    assert secret not in text
    assert "A" * 60 not in text
    assert text.endswith("the end\n")


def test_a_second_stage_runs_only_after_the_first_ended_well(bench: Bench) -> None:
    assert bench.run("exit 3", "touch second")["stage"] == "0"
    assert not (bench.folder / "second").exists()
    ended = bench.run("true", "exit 4")
    assert (ended["stage"], ended["code"]) == ("1", 4)


def test_a_program_that_goes_into_the_background_is_kept_until_it_is_released(
    bench: Bench, system: None
) -> None:
    """As a server is, that a person is to look at. It took a session of its own and another parent."""
    ended = bench.run("(setsid sleep 600 > /dev/null 2>&1 &) ; echo serving")
    assert (ended["code"], ended["last_line"]) == (0, "serving")
    wait_for(lambda: tree.find_marked(bench.marks))
    bench.programs.release(bench.marks[0])
    assert bench.left() == []


def test_a_program_in_the_middle_of_an_exec_is_found(tmp_path: Path) -> None:
    """It has no environment for an instant. One that is missed then would run on for ever."""
    script, mark = tmp_path / "again.sh", new_id()
    script.write_text('exec /bin/sh "$0"\n')
    with subprocess.Popen(["/bin/sh", script], env={**os.environ, tree.MARK: mark}) as process:
        try:
            wait_for(lambda: tree.find_marked([mark]))
            missed = sum(not tree.find_marked([mark]) for _ in range(150))
        finally:
            process.kill()
    assert missed == 0


def test_a_background_program_without_its_mark_is_found_as_well(bench: Bench) -> None:
    """It forgot its environment; but whoever adopted it did not forget it."""
    bench.run("(env -i setsid sleep 600 & echo $! > pid)")
    pid = int((bench.folder / "pid").read_text())
    bench.programs.end()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_everything_ends_with_the_runner_that_is_killed(bench: Bench, system: None) -> None:
    runner = os.fork()
    if runner == 0:
        try:
            bench.programs = Programs(Redactor())
            bench.start("sleep 600 & sleep 600")
            (bench.folder / "mark").write_text(bench.marks[0])
            signal.pause()
        finally:
            os._exit(0)
    written = bench.folder / "mark"
    wait_for(lambda: written.exists() and written.read_text())
    mark = written.read_text()
    wait_for(lambda: len(tree.find_marked([mark])) >= 2)
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    wait_for(lambda: tree.find_marked([mark]) == [])


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_keeper_leaves_nothing_and_its_work_counts_as_lost(
    bench: Bench, system: None, sign: signal.Signals
) -> None:
    mark = bench.start("(setsid sleep 600 &); sleep 600")
    wait_for(lambda: len(tree.find_marked([mark])) >= 2)
    os.kill(bench.programs._kept[mark].process, sign)
    ended = bench.ended()
    assert ended["lost"]
    assert bench.left() == []


def test_what_a_killed_runner_and_its_killed_keepers_left_is_ended_at_the_next_start(
    bench: Bench, system: None
) -> None:
    """All at once, so that nobody is there to see it: what was written down before tells."""
    mark = bench.start("(setsid sleep 600 &); sleep 600")
    wait_for(lambda: len(tree.find_marked([mark])) >= 2)
    kept = bench.programs._kept.pop(mark)
    os.kill(kept.process, signal.SIGSTOP)  # it cannot see that we are gone
    assert end_leftovers(bench.own)
    assert bench.left() == []


def test_a_keeper_that_takes_its_note_away_meanwhile_disturbs_no_next_run(bench: Bench) -> None:
    """It outlives a killed runner by a moment. The note is a pipe here, so that the moment is certain."""
    note = Path(bench.own) / "4711.job"
    note.parent.mkdir(exist_ok=True)
    os.mkfifo(note)

    def end_as_a_keeper() -> None:
        with note.open("w") as file:
            note.unlink()
            file.write('{"mark": "4711", "processes": []}')

    keeper = threading.Thread(target=end_as_a_keeper)
    keeper.start()
    assert end_leftovers(bench.own) == []
    keeper.join()


def test_a_program_reads_what_it_is_given_however_long(bench: Bench) -> None:
    assert bench.run("wc -c", input="x" * 1_000_000)["last_line"].strip() == "1000000"


def test_a_program_that_is_not_there_says_so(bench: Bench) -> None:
    ended = bench.run("/no/such/program")
    assert ended["code"] == 127
    assert "not found" in ended["last_line"].lower()


def test_no_orphan_after_any_ending_of_a_run(world: World) -> None:
    """Done, failed, timed out and interrupted, each with something in the background."""
    background = "(setsid sleep 600 > /dev/null 2>&1 &); "
    world.plan("1/01", auto(background + "true"))
    world.plan("1/02", auto(background + "exit 1"))
    world.plan("1/03", auto(background + "sleep 600", attributes=' timeout="1s"'))
    world.begin(tries=1)
    world.halted(begin=False)
    assert world.orphans() == []


def test_a_server_that_a_task_starts_is_there_for_the_tasks_after_it(world: World) -> None:
    look = "kill -0 $(cat pid)"
    world.plan("1/01", auto("sleep 600 & echo $! > pid") + auto(look, verify=look))
    world.plan("1/02", auto(f"! {look}"), wave=2)
    assert world.run()["status"] == "done", "and gone when its plan is done"
    assert world.orphans() == []
