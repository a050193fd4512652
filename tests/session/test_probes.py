"""Verified claims: what a probe says stands in the file, in the pack and in the JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.errors import Usage
from holdfast.session import claims as probes
from tests.conftest import Git
from tests.session import world
from tests.session.world import PROGRESS, WORK, Holdfast, wait_for

holdfast = world.holdfast

SETTINGS = {"probe.seconds": 60, "probe.tests": ""}


def ask(probe: str, **settings: object) -> Any:
    claim = {"claim": "It is so", "probe": probes.parse(probe)}
    (found,) = probes.run_all([claim], str(Path.cwd()), {**SETTINGS, **settings}, "abc", 0)
    return found


def python(code: str) -> str:
    return f'run:{sys.executable} -c "{code}"'


def test_a_command_that_succeeds(repository: Path) -> None:
    found = ask(python("print(6 * 7)"))
    assert (found["ok"], found["exit_code"], found["output"]) == (True, 0, "42\n")
    assert (found["at"], found["commit"]) == ("1970-01-01T00:00:00Z", "abc")


def test_a_command_that_fails(repository: Path) -> None:
    found = ask(python("import sys; sys.exit('no: ' + 'x' * 900 + ' the end')"))
    assert (found["ok"], found["exit_code"]) == (False, 1)
    assert len(found["output"]) <= probes.LONGEST_OUTPUT
    assert found["output"].strip().endswith("the end")


@pytest.mark.parametrize("command", ["no-such-program-anywhere", "/", "'unbalanced"])
def test_a_command_that_cannot_be_run(repository: Path, command: str) -> None:
    found = ask(f"run:{command}")
    assert (found["ok"], found["exit_code"]) == (False, None)
    assert found["output"].startswith("cannot be run: ")


def test_a_command_that_hangs_ends_with_its_children(repository: Path) -> None:
    Path("hang.py").write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('child', 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    begun = time.monotonic()
    found = ask(f"run:{sys.executable} hang.py", **{"probe.seconds": 1})
    assert time.monotonic() - begun < world.PATIENCE
    assert (found["ok"], found["exit_code"], found["output"]) == (
        False,
        None,
        "took longer than 1 s",
    )
    child = int(Path("child").read_text())
    wait_for(lambda: _is_gone(child))


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def test_a_command_that_leaves_a_child_behind_does_not_hold_the_checkpoint(
    repository: Path,
) -> None:
    """The child is in a session of its own and keeps the pipe open after its parent's end."""
    seconds = 2 * world.PATIENCE
    Path("daemon.py").write_text(
        "import subprocess, sys\n"
        f"words = [sys.executable, '-c', 'import time; time.sleep({seconds})']\n"
        "subprocess.Popen(words, start_new_session=True)\n"
    )
    begun = time.monotonic()
    ask(f"run:{sys.executable} daemon.py", **{"probe.seconds": 1})
    assert time.monotonic() - begun < world.PATIENCE


def test_a_command_has_no_standard_input(repository: Path) -> None:
    assert ask(python("import sys; sys.exit(len(sys.stdin.read()))"))["ok"]


def test_a_file(repository: Path) -> None:
    assert ask("file:README.md")["ok"]
    missing = ask("file:gone.md")
    assert (missing["ok"], missing["output"]) == (False, "gone.md does not exist")


def test_a_commit(repository: Path, git: Git) -> None:
    first = git("rev-parse", "HEAD").strip()
    git("switch", "--quiet", "--create", "side")
    git("commit", "--quiet", "--allow-empty", "--message", "aside")
    aside = git("rev-parse", "HEAD").strip()
    git("switch", "--quiet", "main")
    assert ask(f"commit:{first}")["ok"]
    assert not ask(f"commit:{aside}")["ok"]
    assert not ask("commit:no-such-commit")["ok"]
    assert not ask("commit:--all")["ok"]


def test_clean(repository: Path) -> None:
    assert ask("clean")["ok"]
    PROGRESS.write_text("The protocol's own files do not count.\n")
    world.set_state(phase="spec")
    assert ask("clean")["ok"]
    Path("README.md").write_text("Changed.\n")
    found = ask("clean")
    assert (found["ok"], found["output"]) == (False, "README.md")


def test_tests(repository: Path) -> None:
    assert ask("tests")["output"] == "no command is set: probe.tests"
    assert not ask("tests")["ok"]
    passing = f'{sys.executable} -c "print(1)"'
    assert ask("tests", **{"probe.tests": passing})["ok"]
    assert not ask("tests", **{"probe.tests": "false"})["ok"]


@pytest.mark.parametrize(
    "text", ["", "run:", "file: ", "commit", "clean:x:y", "dance:now", "tests:", "Run:x"]
)
def test_what_is_no_probe(text: str) -> None:
    with pytest.raises(Usage, match="is no probe"):
        probes.parse(text)


def test_the_command_line_refuses_what_is_no_probe(repository: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", *WORK, "--claim", "It is so", "dance:now")
    assert answer.code == 2
    assert not PROGRESS.exists()


def test_the_result_stands_in_the_file_the_pack_and_the_record(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    holdfast(
        "checkpoint",
        *WORK,
        "--claim",
        "It is described",
        "file:README.md",
        "--claim",
        "It  builds\nwell",
        "run:false",
    )
    commit = git("rev-parse", "HEAD")[:12]
    found = holdfast("resume", "--json").data
    (listed,) = holdfast("resume", "--list", "--json").data["sessions"]
    described, builds = listed["last"]["claims"]
    assert (described["ok"], described["exit_code"]) == (True, None)
    assert (builds["ok"], builds["exit_code"], builds["claim"]) == (False, 1, "It builds well")
    written = PROGRESS.read_text("utf-8")
    for text in (written, found["pack"]):
        file = f"[verified] It is described (file:README.md: {described['at']}, at {commit})"
        assert file in text
        why = f"run:false: exit 1, ended with 1, {builds['at']}, at {commit}"
        assert f"[unverified] It builds well ({why})" in text


def test_a_document_can_hold_claims(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claims = [{"claim": "It is described", "probe": {"file": "README.md"}}]
    document = tmp_path / "document.json"
    document.write_text(json.dumps({"issue": "ENG-12", "claims": claims}))
    with document.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert holdfast("checkpoint", "--from", "-").code == 0
    assert "- [verified] It is described" in PROGRESS.read_text("utf-8")


def test_a_handoff_that_must_be_verified_is_refused_before_anything_is_written(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    words = ("--claim", "It is here", "file:README.md", "--claim", "It builds", "run:false")
    answer = holdfast("checkpoint", *WORK, *words, "--require-verified", "--json")
    assert answer.code == 1
    error = answer.envelope["error"]
    assert error["kind"] == "unverified"
    assert "1 of 2 claims" in error["message"]
    assert "It builds" in error["message"]
    assert not PROGRESS.exists()
    assert not Path(".git/holdfast/journal.db").exists()
    assert git("status", "--porcelain") == ""
    good = holdfast("checkpoint", *WORK, *words[:3], "--require-verified")
    assert good.code == 0


def test_the_probe_that_failed_without_a_word_is_named_too(
    repository: Path, holdfast: Holdfast
) -> None:
    words = ("--claim", "It builds", "run:false", "--require-verified")
    answer = holdfast("checkpoint", *WORK, *words)
    assert "It builds: ended with 1" in answer.err


COUNTS = "sh -c 'echo x >> count'"


def test_resume_runs_no_probe_and_says_who_verified_it_when_and_where(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    holdfast("checkpoint", *WORK, "--claim", "It is counted", f"run:{COUNTS}")
    assert Path("count").read_text() == "x\n"
    found = holdfast("resume", "--json").data
    holdfast("go")
    assert Path("count").read_text() == "x\n"
    (claim,) = found["claims"]
    assert claim["probe"] == f"run:{COUNTS}"
    assert (claim["ok"], claim["rechecked"]) == (True, False)
    assert claim["at"]
    assert claim["by"]
    assert claim["commit"] == git("rev-parse", "HEAD").strip()
    where = f"at {claim['commit'][:12]} with uncommitted changes"
    assert f", {where}), by {claim['by']}" in found["pack"], "the probe wrote a file"


def test_recheck_runs_what_the_user_ran_here_before(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--claim", "It is counted", f"run:{COUNTS}")
    answer = holdfast("resume", "--recheck")
    assert Path("count").read_text() == "x\nx\n"
    assert f"verified: It is counted (run:{COUNTS})" in answer.out


def test_recheck_runs_no_command_that_came_with_the_journal(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a tarball, through the inbox, or for another user: this user never ran it here."""
    holdfast(
        "checkpoint",
        *WORK,
        "--claim",
        "It is counted",
        f"run:{COUNTS}",
        "--claim",
        "It is described",
        "file:README.md",
    )
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    answer = holdfast("resume", "--recheck")
    assert Path("count").read_text() == "x\n"
    assert f"not run: run:{COUNTS}: no checkpoint of yours ran this command here" in answer.out
    assert "verified: It is described (file:README.md)" in answer.out


def test_a_claim_is_of_its_own_checkpoint_alone(repository: Path, holdfast: Holdfast) -> None:
    """What nobody claimed again is not passed on as verified."""
    holdfast("checkpoint", *WORK, "--claim", "It is described", "file:README.md")
    holdfast("checkpoint", "--status", "further")
    assert "verified" not in PROGRESS.read_text("utf-8")
