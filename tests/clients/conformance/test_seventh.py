"""A seventh client: one folder, one row of facts and recordings are enough to pass the suite.

The client is Qwen Code under another name, whose transcripts have a key of their own. What this test does to
a copy of the project is what docs/how-to/add-a-client.md says, and nothing else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIKE, NEW = "qwen", "toy"
CONFORMANCE = Path("tests/clients/conformance")
HOOK_SAMPLES = Path("tests/hooks/samples")


def renamed(text: str) -> str:
    for form in (str.lower, str.capitalize, str.upper):
        text = text.replace(form(LIKE), form(NEW))
    return text.replace('"uuid"', '"toyId"')


def add_after(file: Path, pattern: str, *, flags: re.RegexFlag = re.DOTALL) -> None:
    """Repeat what the pattern finds, under the new name."""
    text = file.read_text()
    (found,) = re.findall(pattern, text, flags)
    file.write_text(text.replace(found, found + renamed(found)))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the suite needs."""
    folder = tmp_path / "project"
    left_out = shutil.ignore_patterns("__pycache__", "real_clients", "proof", "*.pyc")
    for name in ("src", "tests", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def add_client(project: Path) -> None:
    # One row.
    table = project / "src/holdfast/clients/table.py"
    add_after(table, rf'    ClientFacts\(\n        "{LIKE}".*?\n    \),\n')
    table.write_text(
        table.read_text().replace(f'"{LIKE}", "copilot"]', f'"{LIKE}", "copilot", "{NEW}"]')
    )
    add_after(project / "src/holdfast/clients/hook.sh", rf"{LIKE}\) session=[^\n]*\n")
    # One folder.
    folder = project / "src/holdfast/clients" / NEW
    shutil.copytree(project / "src/holdfast/clients" / LIKE, folder)
    # Recordings.
    (sample,) = (project / CONFORMANCE / "samples").glob(f"{LIKE}.*")
    sample.with_name(renamed(sample.name)).write_text(sample.read_text())
    for path in (project / HOOK_SAMPLES).glob(f"{LIKE}.*"):
        path.with_name(renamed(path.name)).write_text(renamed(path.read_text()))
    written = sample.with_name(renamed(sample.name))
    for path in (*folder.glob("*.py"), written):
        path.write_text(renamed(path.read_text()))
    # The rows of the suite: the session, and what the client reads of an answer.
    add_after(project / CONFORMANCE / "cases.py", rf'    "{LIKE}": Case\(.*?\n    \),\n')
    add_after(project / "tests/hooks/world.py", rf'    "{LIKE}": _CLAUDE,\n')


def test_a_seventh_client_is_one_folder_one_row_and_recordings(project: Path) -> None:
    add_client(project)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", NEW, str(CONFORMANCE / "test_conformance.py")),
        ],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(project / "src"), "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed|\[100%\]", done.stdout)
