"""Probes: what stands behind a claim of a handoff. They run at the checkpoint, and again when asked.

A probe may be any command, and a journal may come from elsewhere: with a clone, in a tarball, through the
inbox of a sandboxed agent. So `resume` runs none by itself, and `resume --recheck` runs only those
commands that a checkpoint of this user ran in this workspace before. That is remembered in the user's own
folder, where neither a repository nor a sandboxed agent can write.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.git.status import read_status
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.trust import is_known_here, remember_here
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.session.rules.model import Claim

    class CheckedClaim(TypedDict):
        """A claim as resume tells of it. `by` stated it; `at` and `commit` are of its last check.

        `rechecked` says that the probe ran just now; `reason` why it did not although that was asked.
        """

        claim: str
        probe: str
        ok: bool
        at: str
        commit: str | None
        by: str
        rechecked: bool
        reason: str


LONGEST_OUTPUT = 500
# Probes run before anything is recorded.
UNSAVED = "nothing was saved, and the probe was ended."
WITH_VALUE, WITHOUT_VALUE = ("run", "file", "commit"), ("clean", "tests")
FORMS = "run:COMMAND, file:PATH, commit:ID, clean, or tests"


def parse(text: str) -> dict[str, Any]:
    """A probe as the command line spells it."""
    kind, _, value = text.partition(":")
    if text in WITHOUT_VALUE:
        return {text: True}
    if kind in WITH_VALUE and value.strip():
        return {kind: value.strip()}
    raise Usage(f"{text!r} is no probe.", hint=f"It is one of {FORMS}.")


def check(probe: Mapping[str, Any]) -> None:
    """Refuse what is no probe, before anything is run."""
    if len(probe) != 1 or next(iter(probe)) not in (*WITH_VALUE, *WITHOUT_VALUE):
        raise Usage(f"{dict(probe)!r} is no probe.", hint=f"It is one of {FORMS}.")


def run_all(
    claims: Sequence[Mapping[str, Any]],
    root: str,
    settings: Mapping[str, Any],
    commit: str | None,
    now: int,
) -> list[Claim]:
    """Run the probe of each claim; nothing is inherited from an earlier run."""
    return [_run(claim, root, settings, commit, now) for claim in claims]


def remember(
    workspace: Workspace, claims: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> None:
    """Keep in the user's folder which commands a checkpoint ran here. Where that cannot be written, as
    in a sandbox, they are not known later, and not run."""
    for claim in claims:
        command = _command_of(claim["probe"], settings)
        if command is not None:
            remember_here(workspace, command)


def recheck(
    workspace: Workspace,
    claims: Sequence[Claim],
    settings: Mapping[str, Any],
    commit: str | None,
    now: int,
) -> tuple[list[Claim], dict[str, str]]:
    """The claims with what their probes say now, and for those that were not run the reason."""
    found: list[Claim] = []
    reasons: dict[str, str] = {}
    for claim in claims:
        command = _command_of(claim["probe"], settings)
        if command is None or is_known_here(workspace, command):
            found.append(_run(claim, workspace.root, settings, commit, now))
        else:
            found.append(claim)
            reasons[claim["claim"]] = "no checkpoint of yours ran this command here"
    return found, reasons


def _command_of(probe: Mapping[str, Any], settings: Mapping[str, Any]) -> str | None:
    """The command that a probe runs; None for one that only looks."""
    if "run" in probe:
        return str(probe["run"])
    return str(settings["probe.tests"]) if "tests" in probe else None


def _run(
    claim: Mapping[str, Any],
    root: str,
    settings: Mapping[str, Any],
    commit: str | None,
    now: int,
) -> Claim:
    probe = claim["probe"]
    check(probe)
    ok, code, output = _ask(probe, root, settings)
    return {
        "claim": " ".join(str(claim["claim"]).split()),
        "probe": dict(probe),
        "ok": ok,
        "exit_code": code,
        "output": output[-LONGEST_OUTPUT:],
        "at": clock.stamp(now),
        "commit": commit,
    }


def _ask(
    probe: Mapping[str, Any], root: str, settings: Mapping[str, Any]
) -> tuple[bool, int | None, str]:
    kind, value = next(iter(probe.items()))
    if kind == "file":
        found = os.path.exists(os.path.join(root, str(value)))
        return found, None, "" if found else f"{value} does not exist"
    if kind == "commit":
        return _is_reachable(root, str(value))
    if kind == "clean":
        return _is_clean(root)
    command = str(settings["probe.tests"] if kind == "tests" else value)
    if not command:
        return False, None, "no command is set: probe.tests"
    return _command(command, root, float(settings["probe.seconds"]))


def _is_reachable(root: str, commit: str) -> tuple[bool, int | None, str]:
    try:
        git(root, "merge-base", "--is-ancestor", "--end-of-options", f"{commit}^{{commit}}", "HEAD")
        return True, 0, ""
    except GitError as error:
        return False, 1, error.message


def _is_clean(root: str) -> tuple[bool, int | None, str]:
    try:
        changed = read_status(root, exclude=(".ccc-progress.md", ".ccc-state.json"))
    except GitError as error:
        return False, None, error.message
    return not changed, None, ", ".join(change["path"] for change in changed[:10])


def _command(command: str, root: str, seconds: float) -> tuple[bool, int | None, str]:
    """In a group of its own, so that a probe that hangs ends with all its children."""
    try:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return False, None, f"cannot be run: {error}"
    try:
        output, _ = process.communicate(timeout=seconds)
    except KeyboardInterrupt:
        os.killpg(process.pid, 9)
        process.wait()
        raise KeyboardInterrupt(f"Interrupted in the probe `{command}`: {UNSAVED}") from None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()  # a child in a session of its own may hold the other end
        return False, None, f"took longer than {seconds:.0f} s"
    code, said = process.returncode, output.decode(errors="replace")
    return code == 0, code, said if said.strip() or code == 0 else f"ended with {code}"
