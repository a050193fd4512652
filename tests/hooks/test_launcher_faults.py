"""The launcher never fails a client, whatever is missing or broken, and survives upgrades and uninstalls."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.clients import launcher
from holdfast.clients.claude import install as claude
from holdfast.clients.settings import files
from holdfast.clients.settings.parts import JsonPart
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks.run import command
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, Hooks
from tests.hooks.world import STOP, TOOL, USED, denied
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast, hooks = session_world.holdfast, launcher_scene.hooks


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
