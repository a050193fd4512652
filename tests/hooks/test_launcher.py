"""The launcher: it never fails a client, costs no Python where there is nothing to say, and loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import launcher
from holdfast.clients.claude import install as claude
from holdfast.clients.events import PERSONS_COMMANDS
from holdfast.clients.settings import files
from holdfast.clients.settings.parts import JsonPart
from holdfast.clients.table import CLIENTS as FACTS
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks import deferred_events, marks
from holdfast.hooks.run import command, respond_to
from holdfast.kernel import clock, failures, latch
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from holdfast.version import __version__
from tests.budgets.world import Scene, configure
from tests.conftest import Git
from tests.hooks.world import STOP, TOOL, USED, denied, driven, refuse_unreadable
from tests.session import world as session_world
from tests.session.world import STATE, Holdfast, wait_for

holdfast = session_world.holdfast

SESSION_VARIABLES = {
    name: facts.session_variable for name, facts in FACTS.items() if not facts.has_nameless_hooks
}
PROOF = [pytest.mark.proof]
MAKE: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}}
# Notes each start of Python, and goes on as the interpreter that the tests run in.
COUNTING = """#!/bin/sh
echo "$*" >>{log}
exec {python} "$@"
"""


class Hooks:
    """The hooks of a client as its settings start them."""

    def __init__(self, root: Path, log: Path) -> None:
        self.root = root
        self.log = log
        self.folder = Path(launcher.folder_of_user())
        self.environment: dict[str, str] = {}

    def line(self, client: str, event: str, *words: str) -> str:
        made = launcher.line if client == "codex" else launcher.sourced_line
        return made(client, event, *words)

    def __call__(
        self, client: str, event: str, *words: str, shell: str = "/bin/sh", **facts: object
    ) -> dict[str, Any]:
        """What the client reads."""
        session = str(facts.get("session_id", "s1"))
        payload = {"session_id": session, "cwd": str(self.root), **facts}
        environment = {**os.environ, **self.environment}
        if client in SESSION_VARIABLES:
            environment[SESSION_VARIABLES[client]] = session
        line = self.line(client, event, *words)
        started = [shell, "-c", line]
        if client == "opencode":
            started = launcher.command(client, event)
        done = subprocess.run(
            started,
            input=json.dumps(payload).encode(),
            capture_output=True,
            cwd=self.root,
            env=environment,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b""), done
        answer = dict(json.loads(done.stdout or b"{}"))
        refuse_unreadable(client, event, answer)
        return answer

    def starts(self) -> list[str]:
        """Each start of Python so far, in the words that it was given."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [" ".join(line.split()[4:]) for line in lines]

    def name(self, **values: str) -> None:
        """Let the launcher start something else."""
        known = launcher.installation()
        for name, value in values.items():
            (old,) = [line for line in known.splitlines() if line.startswith(f"{name}=")]
            known = known.replace(old, f"{name}={launcher.quote(value)}")
        (self.folder / launcher.PYTHON).write_text(known)

    def reasons(self) -> list[str]:
        return [one["reason"] for one in launcher.failures()]


@pytest.fixture
def hooks(
    repository: Path, holdfast: Holdfast, tmp_path: Path, request: pytest.FixtureRequest
) -> Hooks:
    """The client that a case is about is installed; each start of Python is counted."""
    case = getattr(request.node, "callspec", None)
    client = case.params.get("client", "claude") if case else "claude"
    assert holdfast("init", "--client", client).code == 0
    found = Hooks(repository, tmp_path / "starts")
    python = tmp_path / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(COUNTING.format(log=found.log, python=command()[0]))
    python.chmod(0o755)
    found.name(python=str(python))
    return found


def begin(hooks: Hooks, client: str, session: str = "s1") -> None:
    """A session with its marks, and a journal. The Python that the launcher would start is this one."""
    told = {
        launcher.FOLDER_VARIABLE: str(hooks.folder),
        launcher.VERSION_VARIABLE: __version__,
        launcher.CLIENT_VARIABLE: str(os.getpid()),
    }
    if client in SESSION_VARIABLES:
        told[SESSION_VARIABLES[client]] = session
    payload = {"session_id": session, "cwd": str(hooks.root), "source": "startup"}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in told.items():
            environment.setenv(name, value)
        respond_to(client, "SessionStart", payload)


def captured(holdfast: Holdfast, session: str = "s1") -> bool:
    found = holdfast("history", f"session:{session}", "--json").data["records"]
    return any(record["kind"] == "captured" for record in found)


# It never fails a client


@pytest.mark.parametrize("client", CLIENTS)
def test_without_the_launcher_the_client_goes_on(hooks: Hooks, client: str) -> None:
    shutil.rmtree(hooks.folder)
    for event in (TOOL[client], STOP[client], "SessionStart"):
        if client != "opencode":
            assert hooks(client, event, **MAKE) == {}
    if client == "opencode":  # its shim reads nothing but an answer
        done = subprocess.run(launcher.command(client, "Stop"), input=b"", capture_output=True)
        assert done.stdout == b""


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_whatever_stands_in_the_launchers_place_the_client_goes_on(
    hooks: Hooks, client: str, shell: str
) -> None:
    path = hooks.folder / launcher.NAME
    for content in ("if then else (", "exit 2", "kill -9 0x", ""):
        path.write_text(content)
        assert hooks(client, TOOL[client], shell=shell) == {}
    path.unlink()
    assert hooks(client, TOOL[client], shell=shell) == {}
    path.symlink_to("nowhere")
    assert hooks(client, TOOL[client], shell=shell) == {}
    path.unlink()
    path.mkdir()
    assert hooks(client, TOOL[client], shell=shell) == {}


def break_interpreter(hooks: Hooks, tmp_path: Path) -> str:
    hooks.name(python=str(tmp_path / "gone" / "bin" / "python"))
    return "bin/python is not there any more."


def break_package(hooks: Hooks, tmp_path: Path) -> str:
    hooks.name(entry=str(tmp_path / "gone" / "holdfast" / "hooks" / "entry.py"))
    return "holdfast is not installed for"


def break_syntax(hooks: Hooks, tmp_path: Path) -> str:
    folder = tmp_path / "broken" / "holdfast" / "hooks"
    folder.mkdir(parents=True)
    shutil.copy(command()[3], folder / "entry.py")
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "run.py").write_text("def run(:\n")
    hooks.name(entry=str(folder / "entry.py"))
    return "SyntaxError: invalid syntax"


def break_what_is_known(hooks: Hooks, tmp_path: Path) -> str:
    (hooks.folder / launcher.PYTHON).unlink()
    return "No installation of holdfast is known"


Break = Callable[[Hooks, Path], str]
BREAKS: list[Break] = [break_interpreter, break_package, break_syntax, break_what_is_known]


# What is broken is independent of the client: one has all of it, each other one. The rest is a proof.
ONE_EACH = [(client, [BREAKS[n % len(BREAKS)]]) for n, client in enumerate(CLIENTS[1:])]
ALL_EACH = [pytest.param(client, BREAKS, marks=pytest.mark.proof) for client in CLIENTS[1:]]


@pytest.mark.parametrize(("client", "breaking"), [(CLIENTS[0], BREAKS), *ONE_EACH, *ALL_EACH])
def test_whatever_is_broken_the_client_goes_on_and_doctor_names_it(
    hooks: Hooks, holdfast: Holdfast, tmp_path: Path, client: str, breaking: list[Break]
) -> None:
    """One after the other: what `doctor` mended is broken in the next way."""
    hooks.environment["PATH"] = ""
    holdfast("checkpoint", "--skip-git", "--next", "keep the quotes")
    for number, breaks in enumerate(breaking):
        reason = breaks(hooks, tmp_path)
        for mark in (hooks.folder / "sessions").iterdir():
            mark.unlink()
        for event in ("SessionStart", TOOL[client], USED[client], STOP[client], "SessionEnd"):
            assert hooks(client, event, **MAKE) == {}, reason
        assert len(hooks.reasons()) == 5, reason
        assert reason in hooks.reasons()[0]
        assert reason in holdfast("doctor").out
        holdfast("doctor", "--fix")
        assert hooks.reasons() == []
        assert launcher.problem() == "", "and what was broken is mended"
        began = hooks(client, "SessionStart", session_id=f"new-{number}", source="startup")
        assert "keep the quotes" in str(began), reason


def test_a_failure_that_cannot_be_written_down_is_silent(hooks: Hooks, tmp_path: Path) -> None:
    hooks.environment["PATH"] = ""
    break_interpreter(hooks, tmp_path)
    shutil.rmtree(hooks.folder / launcher.FAILED)
    assert hooks("claude", "PreToolUse", **MAKE) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_denies_though_python_is_gone(hooks: Hooks, tmp_path: Path, client: str) -> None:
    hooks.environment["PATH"] = ""
    for breaks in BREAKS:
        breaks(hooks, tmp_path)
        assert hooks(client, TOOL[client], **MAKE) == {}
        latch.engage(discover(), 'The disk is "on fire" \\ now.', by="ops", now=0)
        reason = denied(client, hooks(client, TOOL[client], **MAKE))
        assert 'The disk is "on fire" \\ now.' in reason
        Path(discover().home, "latch").write_text("{")
        assert "a stop is set here" in denied(client, hooks(client, TOOL[client], **MAKE))
        latch.release(discover())


def test_a_stop_denies_in_a_linked_worktree_too(
    hooks: Hooks, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = tmp_path / "side"
    git("worktree", "add", "--quiet", str(side), at=hooks.root)
    break_package(hooks, tmp_path)
    hooks.environment["PATH"] = ""
    hooks.root = side
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    latch.engage(discover(), "Everybody out.", by="ops", now=0)
    assert "Everybody out." in denied("claude", hooks("claude", "PreToolUse", **MAKE))


def test_a_reinstall_under_another_python_in_the_same_environment_goes_on(
    hooks: Hooks, tmp_path: Path
) -> None:
    """As `pipx reinstall --python` does it: the interpreter keeps its path, the package does not."""
    packages = tmp_path / "counting" / "lib" / "python3.99" / "site-packages"
    packages.mkdir(parents=True)
    package = Path(command()[3]).parent.parent
    (packages / "holdfast").symlink_to(package)
    for one in Path(command()[4]).iterdir():
        if one.name.startswith("apsw"):
            (packages / one.name).symlink_to(one)
    gone = tmp_path / "counting" / "lib" / "python3.11" / "site-packages"
    hooks.name(
        python=str(tmp_path / "counting" / "bin" / "python"),
        entry=str(gone / "holdfast" / "hooks" / "entry.py"),
        libraries=str(gone),
    )
    assert hooks("claude", "SessionStart", source="startup")
    assert hooks.reasons() == []
    known = (hooks.folder / launcher.PYTHON).read_text()
    assert "python3.11/site-packages/holdfast" not in known, "and from now on it is known"


def test_an_older_launcher_is_replaced_by_a_newer_versions_hook(hooks: Hooks) -> None:
    path = hooks.folder / launcher.NAME
    new = path.read_text()
    older = new.replace("version='", "version='0.0.").replace("\nset +e", "\n# older\nset +e")
    path.write_text(older)
    hooks("claude", "SessionStart", source="startup")
    assert path.read_text() == new
    newer = new.replace("version='", "version='99.").replace("\nset +e", "\n# newer\nset +e")
    path.write_text(newer)
    hooks("claude", "SessionStart", session_id="s2", source="startup")
    assert path.read_text() == newer


def test_the_launcher_is_put_in_place_by_init_and_repaired_by_doctor(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    path = hooks.folder / launcher.NAME
    path.unlink()
    assert "no hook can be started" in holdfast("doctor").out
    holdfast("doctor", "--fix")
    assert path.exists()
    path.write_text("# damaged\n")
    holdfast("init", "--client", "claude")
    assert path.read_text() == launcher.text(str(hooks.folder))


# Settings of both generations


def test_of_two_installations_in_one_home_the_newer_one_is_started(hooks: Hooks) -> None:
    """Whichever ran `init` last: the older one refuses the journals of the newer one's projects."""
    script, python = hooks.folder / launcher.NAME, hooks.folder / launcher.PYTHON
    newer = python.read_text().replace("# holdfast ", "# holdfast 99.")
    python.write_text(newer)
    launchers = script.read_text().replace("version='", "version='99.")
    script.write_text(launchers)
    assert not launcher.install()
    assert (script.read_text(), python.read_text()) == (launchers, newer)
    assert launcher.problem() == ""
    script.unlink()
    assert launcher.install(), "without the launcher no hook would start"
    assert python.read_text() == newer
    gone = newer.replace("/hooks/entry.py", "/hooks/removed.py")
    python.write_text(gone)
    assert launcher.install(), "the newer one was uninstalled"
    assert launcher.programs(python.read_text()) == launcher.programs(launcher.installation())


def install_as_older_versions_did(path: Path) -> None:
    """`python -I -S .../hooks/entry.py` with a list of arguments."""
    words = command("claude", "Stop")
    handler = {"type": "command", "command": words[0], "args": words[1:], "timeout": 20}
    part = JsonPart(str(path), hooks={"Stop": [{"hooks": [handler]}]})
    workspace = discover()
    files.carry_out(workspace, files.plan_install(workspace, part))
    assert "holdfast/hooks/entry.py" in path.read_text()


@pytest.mark.parametrize("moves", ["init", "doctor", ""])
def test_older_settings_move_over_and_uninstall_restores_what_was_before_them(
    repository: Path, holdfast: Holdfast, moves: str
) -> None:
    path = Path(claude.SETTINGS)
    path.parent.mkdir()
    original = b'{"permissions":{"allow":["Bash(ls)"]}  ,\n\n\t"model" : "opus" }'
    path.write_bytes(original)
    install_as_older_versions_did(path)
    if moves == "doctor":
        assert "an older one's hooks" in holdfast("doctor").out
        holdfast("doctor", "--fix")
    elif moves == "init":
        holdfast("init", "--client", "claude")
    if moves:
        assert "entry.py" not in path.read_text()
        assert launcher.path() in path.read_text()
    holdfast("uninstall")
    assert path.read_bytes() == original


# It costs no Python where there is nothing to say


@pytest.mark.parametrize("client", CLIENTS)
def test_before_and_after_a_tool_no_python_is_started(hooks: Hooks, client: str) -> None:
    hooks(client, "SessionStart", source="startup")
    assert hooks.starts() == [f"{client} SessionStart"]
    hooks.log.unlink()
    assert hooks(client, TOOL[client], **MAKE) == {}
    assert hooks(client, USED[client], **MAKE, tool_response="x" * 100_000) == {}
    assert hooks.starts() == []
    assert (hooks.root / ".holdfast" / "seen" / f"{client}.{TOOL[client]}").exists()


def test_what_a_tool_without_a_command_is_given_stays_unread(hooks: Hooks) -> None:
    begin(hooks, "claude")
    said: dict[str, Any] = {
        "tool_name": "Write",
        "tool_input": {"content": "holdfast release" * 20_000},
    }
    assert hooks("claude", "PreToolUse", "unread", **said) == {}
    assert hooks.starts() == []


PERSONS_LINES = [
    *(f"holdfast {' '.join(words)} x" for words in PERSONS_COMMANDS),
    "hold''fast gate ans\"wer\" 3f2a",
    "hold\\fast guard a\\ck cost",
    "sh -c 'holdfast release'",
    "git status\nholdfast release",
]


# The launcher finds a command whichever the client is: one has all of them, each other some.
SOME_LINES = [(client, PERSONS_LINES[n :: len(CLIENTS)]) for n, client in enumerate(CLIENTS[1:])]
ALL_LINES = [pytest.param(client, PERSONS_LINES, marks=PROOF) for client in CLIENTS[1:]]


@pytest.mark.parametrize(
    ("client", "lines"), [(CLIENTS[0], PERSONS_LINES), *SOME_LINES, *ALL_LINES]
)
def test_a_persons_command_reaches_python_and_is_denied(
    hooks: Hooks, client: str, lines: list[str]
) -> None:
    begin(hooks, client)
    for line in lines:
        answer = hooks(client, TOOL[client], tool_name="Bash", tool_input={"command": line})
        assert "Only a person may run" in denied(client, answer), line


# A shell, and the version of bash that it is taken for: dash with one is a bash that knows no `read -N`.
OLD, NEW = "3.2.57(1)-release", "5.2.15(1)-release"
SHELLS = [("/bin/sh", ""), ("/bin/bash", ""), ("/bin/sh", OLD), ("/bin/sh", NEW)]


@pytest.mark.parametrize(("shell", "version"), SHELLS)
def test_a_long_payload_is_read_to_its_end_by_each_shell(
    hooks: Hooks, shell: str, version: str
) -> None:
    if version:
        hooks.environment["BASH_VERSION"] = version
    begin(hooks, "claude")
    text = "echo 'größer'\n" * 2_000
    told = {"tool_name": "Bash", "tool_input": {"command": text}}
    assert hooks("claude", "PreToolUse", shell=shell, **told) == {}
    assert hooks.starts() == []
    for line in PERSONS_LINES:
        told["tool_input"] = {"command": text + line}
        answer = hooks("claude", "PreToolUse", shell=shell, **told)
        assert "Only a person may run" in denied("claude", answer), line


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("tool", ["AskUserQuestion", "ask_user", "request_user_input"])
def test_a_question_for_a_person_reaches_python(hooks: Hooks, shell: str, tool: str) -> None:
    begin(hooks, "claude")
    hooks("claude", "PreToolUse", shell=shell, tool_name=tool, tool_input={})
    assert hooks.starts() == ["claude PreToolUse"]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_in_a_linked_worktree_and_in_a_folder_no_python_is_started(
    hooks: Hooks, tmp_path: Path, git: Git, shell: str
) -> None:
    side, below = tmp_path / "side", hooks.root / "src"
    git("worktree", "add", "--quiet", str(side), at=hooks.root)
    below.mkdir()
    for folder in (side, below):
        hooks.root = folder
        begin(hooks, "claude", folder.name)
        for event in ("PreToolUse", "PostToolUse"):
            assert hooks("claude", event, shell=shell, session_id=folder.name, **MAKE) == {}
        assert hooks.starts() == []


def test_a_project_that_is_called_holdfast_costs_no_python(hooks: Hooks) -> None:
    begin(hooks, "claude")
    told: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": "cd ~/holdfast && make release"},
    }
    for shell in ("/bin/sh", "/bin/bash"):
        path = "/home/a/holdfast/x.jsonl"
        hooks("claude", "PreToolUse", shell=shell, transcript_path=path, **MAKE)
    assert hooks.starts() == []
    assert hooks("claude", "PreToolUse", **told) == {}, "Python looks, and lets it run"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_denies_the_very_next_tool(hooks: Hooks, client: str) -> None:
    begin(hooks, client)
    assert hooks(client, TOOL[client], **MAKE) == {}
    latch.engage(discover(), "Everybody out.", by="ops", now=0)
    assert "Everybody out." in denied(client, hooks(client, TOOL[client], **MAKE))
    latch.release(discover())
    assert hooks(client, TOOL[client], **MAKE) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_alert_denies_the_very_next_tool_until_it_is_acknowledged(
    hooks: Hooks, client: str
) -> None:
    scene = Scene(hooks.root)
    begin(hooks, client)
    assert hooks(client, TOOL[client], **MAKE) == {}
    scene.check(cost=26.5)
    assert "Cost at $26.50" in denied(client, hooks(client, TOOL[client], **MAKE))
    scene.ack("cost")
    assert hooks(client, TOOL[client], **MAKE) == {}
    hooks.log.unlink()
    assert hooks(client, TOOL[client], **MAKE) == {}
    assert hooks.starts() == [], "the mark is there again"


@pytest.mark.parametrize("gone", ["quiet", "session", "seen", "everything"])
def test_a_mark_that_is_gone_means_that_python_is_asked(
    hooks: Hooks, gone: str, holdfast: Holdfast
) -> None:
    """An agent that deletes files gets no freedom by it."""
    begin(hooks, "claude")
    paths = {
        "quiet": Path(latch.quiet_file(discover())),
        "session": hooks.folder / "sessions" / "claude.s1",
        "seen": hooks.root / ".holdfast" / "seen",
    }
    for name, path in paths.items():
        if gone in (name, "everything"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks.starts() == ["claude PreToolUse"]


FORGERIES = ["another home", "a program", "no holder", "flags"]
FORGED = [
    pytest.param(client, forged, marks=[] if CLIENTS[0] == client or n % 4 == m else PROOF)
    for n, client in enumerate(CLIENTS)
    for m, forged in enumerate(FORGERIES)
]


@pytest.mark.parametrize(("client", "forged"), FORGED)
def test_a_forged_mark_frees_no_agent(
    hooks: Hooks, tmp_path: Path, client: str, forged: str
) -> None:
    """It is read and not run, and where the workspace is, the client says."""
    scene = Scene(hooks.root)
    begin(hooks, client)
    scene.check(cost=26.5)
    (mark,) = (path for path in (hooks.folder / "sessions").iterdir() if path.suffix != ".since")
    lines = mark.read_text().splitlines()
    other = tmp_path / "elsewhere"
    (other / ".git" / "holdfast").mkdir(parents=True)
    (other / ".git" / "holdfast" / "quiet").touch()
    (other / ".holdfast" / "seen").mkdir(parents=True)
    assert (lines[1], len(lines)) == (str(hooks.root), 6)
    lines[0], lines[4] = f"usual {hooks.root}", "plain calm"
    if forged == "another home":
        lines[0] = f"usual {other}"
        lines[1:4] = [str(other), str(other / ".git" / "holdfast"), str(other / "state")]
    elif forged == "a program":
        lines = [f"exit 0; : > {tmp_path / 'ran'}"] * 6
    elif forged == "no holder":
        lines[2] = str(other / ".git" / "holdfast")
    else:
        Path(latch.quiet_file(discover())).touch()
    mark.write_text("".join(f"{line}\n" for line in lines))
    later = time.time() + 3600
    os.utime(mark, (later, later))
    assert "Cost at $26.50" in denied(client, hooks(client, TOOL[client], **MAKE))
    assert not (tmp_path / "ran").exists()


def test_a_mark_of_an_older_version_means_that_python_is_asked(hooks: Hooks) -> None:
    begin(hooks, "codex")
    mark = hooks.folder / "sessions" / f"codex.{os.getpid()}"
    first, rest = mark.read_text().split("\n", 1)
    assert first == f"usual {hooks.root}"
    mark.write_text(rest)
    assert hooks("codex", "PostToolUse", shell="/bin/bash", **MAKE) == {}
    assert hooks.starts() == ["codex PostToolUse"]
    assert mark.read_text() == f"{first}\n{rest}", "Python leaves its own"


@pytest.mark.parametrize("and_marks", [False, True])
def test_a_stop_whose_file_was_removed_holds_the_very_next_tool(
    hooks: Hooks, holdfast: Holdfast, and_marks: bool
) -> None:
    begin(hooks, "claude")
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert holdfast("estop", "--reason", "Everybody out.").code == 0
    home = Path(discover().home)
    (home / "latch").unlink()
    if and_marks:
        shutil.rmtree(hooks.folder / "sessions")
    assert "Everybody out." in denied("claude", hooks("claude", "PreToolUse", **MAKE))
    assert (home / "latch").exists()


def test_in_another_workspace_python_is_asked(hooks: Hooks, git: Git) -> None:
    """Whose stop holds there as well."""
    begin(hooks, "claude")
    project = hooks.root
    hooks.environment["CLAUDE_PROJECT_DIR"] = str(project)
    hooks.root = project / "src"
    hooks.root.mkdir()
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks.starts() == [], "a folder of the same workspace is none"
    hooks.root = project / "vendor"
    hooks.root.mkdir()
    git("init", "--quiet", at=hooks.root)
    latch.engage(discover(str(hooks.root)), "Not here.", by="ops", now=0)
    assert "Not here." in denied("claude", hooks("claude", "PreToolUse", **MAKE))


def test_marks_that_cannot_be_left_cost_speed_and_nothing_else(hooks: Hooks) -> None:
    shutil.rmtree(hooks.folder / "sessions")
    (hooks.folder / "sessions").touch()
    begin(hooks, "claude")
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks("claude", "Stop") == {}
    assert hooks.starts() == ["claude PreToolUse", "claude Stop"]
    assert failures.read(discover()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_budget_a_session_is_looked_at_once_a_minute(hooks: Hooks, client: str) -> None:
    configure("thresholds:\n  warning: {cost: $0.5}\n  alert: {cost: $1}\n  stop: {cost: $5}\n")
    begin(hooks, client)
    event = TOOL[client] if client == "opencode" else USED[client]
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 1, "the first look"
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 1
    looked = Path(session_files.folder_of(discover(), "s1"), "looked")
    (mark,) = (path for path in (hooks.folder / "sessions").iterdir() if path.suffix != ".since")
    for path in (looked, mark):
        at = path.stat().st_mtime - 61
        os.utime(path, (at, at))
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 2, "a minute later"
    since = mark.with_name(f"{mark.name}.since")
    os.utime(since, (time.time() + 3600, time.time() + 3600))
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 3, "and when the clock was set back"


def test_a_budget_that_begins_by_hand_is_looked_at(hooks: Hooks) -> None:
    begin(hooks, "claude")
    hooks("claude", "PostToolUse", **MAKE)
    assert hooks.starts() == []
    Path(".autopilot").mkdir()
    hooks("claude", "PostToolUse", **MAKE)
    assert hooks.starts() == ["claude PostToolUse"]


# A turn, a compaction, an end


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_with_nothing_to_answer_is_captured_behind_the_client(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    begin(hooks, client)
    assert hooks(client, STOP[client]) == {}
    wait_for(lambda: captured(holdfast))
    wait_for(lambda: hooks.starts() == [f"pending {hooks.root}"])
    assert failures.read(discover()) == []


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_client_can_write_all_of_a_large_payload_that_needs_no_answer(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    """Codex takes a payload that it cannot write for an error of the hook."""
    begin(hooks, client)
    environment = {**os.environ}
    if client in SESSION_VARIABLES:
        environment[SESSION_VARIABLES[client]] = "s1"
    process = subprocess.Popen(
        ["/bin/bash", "-c", hooks.line(client, STOP[client])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=hooks.root,
        env=environment,
    )
    assert process.stdin is not None
    payload = {"session_id": "s1", "cwd": str(hooks.root), "last_assistant_message": "x" * 300_000}
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    with process:
        assert process.stdout is not None
        assert (process.stdout.read(), process.wait(60)) == (b"", 0)
    wait_for(lambda: captured(holdfast))


def test_a_compaction_is_captured_behind_the_client(hooks: Hooks, holdfast: Holdfast) -> None:
    begin(hooks, "claude")
    assert hooks("claude", "PreCompact", trigger="auto") == {}
    wait_for(lambda: captured(holdfast))


def test_a_client_that_may_compact_is_captured_every_ten_minutes(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    begin(hooks, "gemini")
    hooks("gemini", "PreCompress", trigger="auto")
    wait_for(lambda: captured(holdfast))
    wait_for((hooks.folder / "sessions" / "gemini.s1.captured").exists)
    hooks.log.unlink()
    hooks("gemini", "PreCompress", trigger="auto")
    assert hooks.starts() == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_next_session_finds_the_checkpoint_of_the_one_that_has_just_ended(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    begin(hooks, client)
    holdfast("checkpoint", "--session", "s1", "--next", "keep the quotes")
    assert hooks(client, "SessionEnd", reason="exit") == {}
    answer = hooks(client, "SessionStart", session_id="s2", source="startup")
    assert "keep the quotes" in json.dumps(answer)
    (old,) = [
        one
        for one in holdfast("resume", "--list", "--json").data["sessions"]
        if one["session"] == "s1"
    ]
    assert old["ended_at"]


def test_what_no_process_finished_the_next_command_finishes(
    hooks: Hooks, holdfast: Holdfast, tmp_path: Path
) -> None:
    begin(hooks, "claude")
    dying = tmp_path / "dying"
    dying.write_text("#!/bin/sh\nkill -9 $$\n")
    dying.chmod(0o755)
    hooks.name(python=str(dying))
    for event in ("Stop", "SessionEnd"):
        assert hooks("claude", event, reason="other") == {}
    wait_for(lambda: len(hooks.reasons()) == 2)
    assert len(list(Path(".holdfast/pending").glob("claude.*"))) == 2
    (found,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert found["ended_at"]
    assert not list(Path(".holdfast/pending").glob("claude.*"))


def test_an_event_that_kills_its_process_is_given_up(hooks: Hooks, holdfast: Holdfast) -> None:
    kept = Path(discover().prepare_tool_folder("pending"))
    (kept / "claude.Stop.s1.7~~~").write_text('{"session_id": "s1"}')
    holdfast("status")
    assert not list(kept.glob("claude.*"))
    assert "in 3 attempts" in failures.read(discover())[-1]["reason"]


def test_a_payload_that_is_being_written_is_left_to_its_own_process(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    path = Path(discover().prepare_tool_folder("pending"), "claude.Stop.s1.7")
    path.write_text('{"session_id": ')
    holdfast("status")
    assert path.exists()
    old = time.time() - deferred_events.BEING_WRITTEN / 1000
    os.utime(path, (old, old))
    holdfast("status")
    assert not path.exists()
    assert captured(holdfast), "what its name says is enough"


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_with_a_loop_a_stop_is_answered_at_once(hooks: Hooks, client: str) -> None:
    begin(hooks, client)
    task = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    STATE.write_text(json.dumps(task))
    assert "Resume CIA-7" in driven(client, hooks(client, STOP[client]))


def test_an_agent_that_deletes_its_loop_is_not_free_of_python(hooks: Hooks) -> None:
    task = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    STATE.write_text(json.dumps(task))
    begin(hooks, "claude")
    STATE.unlink()
    hooks("claude", "Stop")
    assert hooks.starts()[0] == "claude Stop"


def test_a_question_that_is_due_is_asked_by_python(hooks: Hooks) -> None:
    begin(hooks, "claude")
    session_files.keep(discover(), "s1", "ask", {"percent": 70, "asked": 1, "stated": ""})
    hooks("claude", "UserPromptSubmit", prompt="go on")
    assert "The context is 70 % full" in driven("claude", hooks("claude", "Stop")).replace(
        "the context", "The context"
    )


def test_marks_of_sessions_without_an_end_are_swept_once_a_day(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(launcher.FOLDER_VARIABLE, str(hooks.folder))
    old = hooks.folder / "sessions" / "claude.gone"
    now = clock.now()

    def sweep(days: int) -> bool:
        old.touch()
        os.utime(old, (1_700_000_000, 1_700_000_000))
        marks.sweep(now + days * clock.DAY)
        return not old.exists()

    assert sweep(0)
    assert not sweep(0), "it was swept on this day"
    assert sweep(1)
    stamp = hooks.folder / marks.SWEPT
    stamp.unlink()
    (stamp / "in the way").mkdir(parents=True)
    os.utime(stamp, (1_700_000_000, 1_700_000_000))
    assert not sweep(2), "a folder that cannot be written is left alone"
