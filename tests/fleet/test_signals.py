"""Signals of life: the process that an agent is, its work tree, its transcript."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.fleet import signals
from holdfast.fleet.epic import Sight
from holdfast.fleet.rules import agent as rules
from holdfast.kernel.clock import HOUR, MINUTE, instant_of
from holdfast.kernel.errors import Usage
from holdfast.kernel.workspace import discover
from holdfast.processes import agent_process
from tests.conftest import Git
from tests.fleet.examples import NOW, saved

if TYPE_CHECKING:
    from holdfast.fleet.rules.model import AgentLife, AgentState
    from holdfast.fleet.rules.verdict import Signals
    from holdfast.processes.agent_process import AgentProcess

pytestmark = pytest.mark.skipif(
    not os.path.isdir("/proc/self"),
    reason="There is no /proc: signs of life on Linux were NOT tried.",
)

# The command line of holdfast as far as the system sees it, saying which process it takes for its own.
HOLDFAST = """#!{python}
import json
from holdfast.processes.agent_process import own_process
print(json.dumps(own_process()), flush=True)
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def holdfast(tmp_path: Path) -> str:
    """A command of that name."""
    command = tmp_path / "bin" / "holdfast"
    command.parent.mkdir()
    command.write_text(HOLDFAST.format(python=sys.executable))
    command.chmod(0o755)
    return str(command)


@pytest.fixture
def start() -> Iterator[Start]:
    """Processes that are waited for, whatever happens."""
    started = []

    def begin(*words: str, **options: Any) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(words, text=True, **pipes, **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def running(process: subprocess.Popen[str]) -> AgentProcess:
    found = agent_process.process_of(process.pid)
    assert found is not None
    return found


# Which process is the agent's


def test_a_program_that_uses_the_library_is_itself(start: Start) -> None:
    code = "import json\nfrom holdfast.processes.agent_process import own_process\nprint(json.dumps(own_process()))"
    process = start(sys.executable, "-c", code)
    assert told(process)["pid"] == process.pid


@pytest.mark.parametrize(
    "way",
    [
        "{holdfast}; true",
        "bash -c '{holdfast}; true'; true",
        "sh -ec 'env A=1 timeout 60 nice {holdfast}; true'; true",
        "nohup setsid --wait {holdfast}; true",
    ],
)
def test_shells_that_run_one_command_and_launchers_are_passed_over(
    start: Start, holdfast: str, way: str
) -> None:
    """The agent is the program that had a shell run `holdfast`."""
    agent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    process = start(sys.executable, "-c", agent, "bash", "-lc", way.format(holdfast=holdfast))
    assert told(process)["pid"] == process.pid


def test_make_is_passed_over(start: Start, holdfast: str, tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("There is no make: an agent behind it was NOT looked for.")
    (tmp_path / "Makefile").write_text(f"beat:\n\t@{holdfast}; true\n")
    agent = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    process = start(sys.executable, "-c", agent, "make", "--silent", "beat", cwd=tmp_path)
    assert told(process)["pid"] == process.pid


def test_a_shell_with_a_script_is_an_agent(start: Start, holdfast: str, tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text(f"{holdfast} -c\ntrue\n")
    process = start("bash", "-e", str(tmp_path / "agent.sh"), "-c")
    assert told(process)["pid"] == process.pid


def test_a_shell_that_reads_its_commands_is_an_agent(start: Start, holdfast: str) -> None:
    process = start("bash", "--norc", "-s")
    assert process.stdin is not None
    process.stdin.write(f"{holdfast}\n")
    process.stdin.flush()
    assert told(process)["pid"] == process.pid


def test_hooks_and_modules_of_ours_are_passed_over() -> None:
    python = "/usr/bin/python3.11"
    entry = "/site-packages/holdfast/hooks/entry.py"
    ours = [
        [python, "-I", "-S", entry, "/site-packages", "claude", "Stop"],
        [python, "-m", "holdfast", "agent", "beat"],
        [python, "-X", "dev", "-m", "holdfast.cli"],
        [python, "/venv/bin/holdfast", "agent", "beat"],
        ["/venv/bin/holdfast", "agent", "beat"],
    ]
    others = [
        [python, "agent.py", "holdfast"],
        [python, "-c", "import holdfast"],
        [python, "-m", "pytest", "holdfast"],
        ["node", "/usr/bin/claude"],
        ["-bash"],
        ["bash", "build.sh", "-c"],
        [],
    ]
    assert all(agent_process._is_means("python3.11", command) for command in ours)
    assert not any(agent_process._is_means("python3.11", command) for command in others)
    assert agent_process._is_means("pipx", [python, "/usr/bin/pipx", "run", "holdfast"])
    assert agent_process._is_means("sh", ["/bin/busybox", "sh", "-c", "holdfast"])


def test_an_orphan_has_no_program_above_it(start: Start, holdfast: str, tmp_path: Path) -> None:
    """Its parent is whoever outlives all: that this one runs says nothing of an agent."""
    heir = f"import os, subprocess, sys\nopen('/proc/self/comm', 'w').write('tmux: server')\nsubprocess.run(['{holdfast}'])"
    process = start(sys.executable, "-c", heir)
    assert told(process) is None


def test_the_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(agent_process.VARIABLE, str(os.getppid()))
    found = agent_process.own_process()
    assert found is not None
    assert found["pid"] == os.getppid()
    assert agent_process.process_state(found) == "alive"


@pytest.mark.parametrize("value", ["abc", "-5", "12x", "1.5"])
def test_a_variable_that_is_no_number_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(agent_process.VARIABLE, value)
    with pytest.raises(Usage, match="not a process id"):
        agent_process.own_process()


@pytest.mark.parametrize("value", ["0", "999999999", "9" * 40])
def test_a_variable_that_names_no_process_says_nothing(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(agent_process.VARIABLE, value)
    assert agent_process.own_process() is None


# Whether it runs


def test_a_process_lives_until_it_ends(start: Start) -> None:
    process = start("cat")
    seen = running(process)
    assert agent_process.process_state(seen) == "alive"
    process.communicate()
    assert agent_process.process_state(seen) == "gone"


def test_a_stopped_process_lives(start: Start) -> None:
    import signal

    process = start("cat")
    seen = running(process)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert agent_process.process_state(seen) == "alive"


def test_a_zombie_is_gone(start: Start) -> None:
    process = start("cat")
    seen = running(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert f"{process.pid} (cat) Z" in Path(f"/proc/{process.pid}/stat").read_text()
    assert agent_process.process_state(seen) == "gone"


def test_a_reused_pid_is_another_process(start: Start) -> None:
    seen = running(start("cat"))
    assert agent_process.process_state({**seen, "started": str(int(seen["started"]) - 1)}) == "gone"


def test_another_machine_another_boot_another_container(start: Start) -> None:
    seen = running(start("cat"))
    machine, boot, table = seen["host"].split("/")

    def at(*host: str) -> str:
        return agent_process.process_state({**seen, "host": "/".join(host)})

    assert at(machine, boot, table) == "alive"
    assert at("another", boot, table) == "unknown"
    assert at(machine, "another", table) == "gone", "the machine was started anew"
    assert at(machine, boot, "pid:[1]") == "unknown", "its pids are not ours"
    assert at("strange") == at("") == "unknown"


def test_a_name_with_blanks_and_parentheses(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "my (odd) 1 Z 2"
    shutil.copy("/bin/cat", program)
    assert agent_process.process_state(running(start(str(program)))) == "alive"


# What changed


def put(path: Path, when: int, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(when * 1_000_000, when * 1_000_000))
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree without git whose newest file is an hour old."""
    put(tmp_path / "tree/README.md", NOW - 5 * HOUR)
    put(tmp_path / "tree/src/deep/down/parser.py", NOW - HOUR)
    put(tmp_path / "tree/src/lexer.py", NOW - 2 * HOUR)
    return tmp_path / "tree"


def test_the_newest_file_at_any_depth(tree: Path) -> None:
    assert signals.last_change(str(tree), NOW) == NOW - HOUR


@pytest.mark.parametrize(
    "path",
    [
        ".holdfast/views/x",
        "node_modules/left-pad/index.js",
        "agent_checkpoints/secondary_a.json",
        "epic/agent_comms/primary_to_secondary_a.md",
        "epic/.epic_locks/epic_readme.lock",
        "epic/EPIC_README.md",
        "env/lib/python3.11/site-packages/x.py",
        ".worktrees/other/src/parser.py",
    ],
)
def test_what_others_write_is_no_work_of_the_agent(tree: Path, path: str) -> None:
    put(tree / "env/pyvenv.cfg", NOW - 9 * HOUR)
    put(tree / ".worktrees/other/.git", NOW - 9 * HOUR, "gitdir: elsewhere\n")
    put(tree / path, NOW)
    assert signals.last_change(str(tree), NOW) == NOW - HOUR


def test_a_commit_is_a_change_and_a_look_at_the_status_is_none(repository: Path, git: Git) -> None:
    old = (NOW - 9 * HOUR) * 1_000_000
    os.utime(repository / "README.md", ns=(old, old))
    os.utime(repository / ".git/logs/HEAD", ns=(old, old))
    assert signals.last_change(str(repository), NOW) == NOW - 9 * HOUR
    git("status", at=repository)
    git("update-index", "--refresh", at=repository)
    assert signals.last_change(str(repository), NOW) == NOW - 9 * HOUR
    git("commit", "--quiet", "--allow-empty", "--message", "more", at=repository)
    changed = signals.last_change(str(repository), NOW)
    assert changed is not None
    assert changed > NOW - 9 * HOUR


def test_more_files_than_are_looked_at(tree: Path) -> None:
    """Something recent is recent; something old does not mean that nothing is new."""
    assert signals.last_change(str(tree), NOW, 3) == NOW - HOUR
    assert signals.last_change(str(tree), NOW, 2) is None
    put(tree / "README.md", NOW - 30 * MINUTE)
    assert signals.last_change(str(tree), NOW, 1) == NOW - 30 * MINUTE
    put(tree / "README.md", NOW - 31 * MINUTE)
    assert signals.last_change(str(tree), NOW, 1) is None


def test_a_work_tree_that_is_gone_says_nothing(repository: Path) -> None:
    """Not even the time of the repository that it was inside of."""
    assert signals.last_change(str(repository / "removed"), NOW) is None


def test_links_are_not_followed(tree: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside/new.py", NOW)
    (tree / "linked").symlink_to(tmp_path / "outside")
    (tree / "circle").symlink_to(tree)
    for link in ("linked", "circle"):
        os.utime(tree / link, ns=(0, 0), follow_symlinks=False)
    assert signals.last_change(str(tree), NOW) == NOW - HOUR


def test_a_transcript(tmp_path: Path) -> None:
    path = put(tmp_path / "transcript.jsonl", NOW - MINUTE)
    assert signals.transcript_change(str(path)) == NOW - MINUTE
    assert signals.transcript_change(str(tmp_path / "none")) is None
    assert signals.transcript_change("") is None
    assert signals.transcript_change("a\0b") is None


# All of them


def state(life: AgentLife | None, **changes: Any) -> AgentState:
    return {**rules.initial("agent:secondary_a"), "checkpoint": saved(**changes), "life": life}


def gather(state: AgentState, now: int = NOW) -> Signals:
    said, sight = state["checkpoint"] or {}, Sight(discover("."))
    last = instant_of(said.get("last_checkpoint"))
    return signals.gather(state, str(said.get("status", "")), last, now, "", sight)


def test_everything_that_is_known_of_a_life(tree: Path, tmp_path: Path, start: Start) -> None:
    life: AgentLife = {
        "session": "s",
        "started_at": "2026-01-15T14:00:00Z",
        "worktree": str(tree),
        "process": running(start("cat")),
        "transcript": str(put(tmp_path / "transcript.jsonl", NOW - MINUTE)),
        "busy_until": "2026-01-15T15:40:00Z",
        "doing": "cargo build",
    }
    assert gather(state(life, ago=12)) == {
        "heartbeat": "12 min",
        "process": "alive",
        "worktree": NOW - HOUR,
        "transcript": NOW - MINUTE,
        "activity": None,
        "busy_until": "2026-01-15T15:40:00Z",
        "doing": "cargo build",
        "waiting": False,
        "unstarted": False,
        "unbeaten": False,
    }


def test_an_agent_that_only_wrote_its_file() -> None:
    """Of one that follows the protocol's shell lines there is nothing but the heartbeat."""
    found = gather(state(None, ago=12, status="WAITING"))
    assert (found["heartbeat"], found["process"], found["worktree"]) == ("12 min", "unknown", None)
    assert found["waiting"]
    nothing: AgentState = {**state(None), "checkpoint": None}
    assert gather(nothing)["heartbeat"] == ""


def test_one_look_at_a_work_tree_that_agents_share(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def counted(worktree: str, now: int) -> int:
        looks.append(worktree)
        return NOW

    monkeypatch.setattr(signals, "last_change", counted)
    life: AgentLife = {
        "session": "s",
        "started_at": "2026-01-15T14:00:00Z",
        "worktree": str(tree),
        "process": None,
        "transcript": "",
        "busy_until": "",
        "doing": "",
    }
    for now in (NOW + 1, NOW + 1, NOW + 2):
        gather(state(life), now)
    assert len(looks) == 2
