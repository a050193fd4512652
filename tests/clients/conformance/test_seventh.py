"""A seventh client: one folder, one row of facts and recordings are enough to pass the suite.

The client is Qwen Code under another name, whose transcripts have a key and a folder of their own. What this test does to
a copy of the project is what docs/how-to/add-a-client.md says, and nothing else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.clients.table import CAPABILITIES, ClientFacts
from holdfast.kernel.text import split_words

ROOT = Path(__file__).parents[3]
HOW_TO = (ROOT / "docs/how-to/add-a-client.md").read_text("utf-8")
LIKE, NEW = "qwen", "toy"
CONFORMANCE = Path("tests/clients/conformance")
HOOK_SAMPLES = Path("tests/hooks/samples")


def renamed(text: str) -> str:
    for form in (str.lower, str.capitalize, str.upper):
        text = text.replace(form(LIKE), form(NEW))
    return text.replace('"uuid"', '"toyId"').replace("chats", "dialogs")


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
    add_after(table, rf"class {LIKE.capitalize()}\(ClientFacts\):\n.*?\n\n\n")
    table.write_text(
        table.read_text().replace(f'"{LIKE}", "copilot"]', f'"{LIKE}", "copilot", "{NEW}"]')
    )
    add_after(project / "src/holdfast/clients/hook.sh", rf"{LIKE}\) session=[^\n]*\n")
    marks = (
        rf'  \{{\n   "name": "{LIKE.upper()}_CODE",.*"{LIKE.upper()}_PROJECT_DIR",\n.*?\n  \}},\n'
    )
    add_after(project / "src/holdfast/people/agent_marks.json", marks)
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
    # The rows of the suites: the session, its files and lengths.
    add_after(project / CONFORMANCE / "cases.py", rf'    "{LIKE}": Case\(.*?\n    \),\n')
    add_after(project / "tests/hooks/test_init.py", rf'    "{LIKE}": \[[^\n]*\n')
    add_after(project / "tests/hooks/test_start.py", rf'    "{LIKE}": lambda[^\n]*\n')


def test_the_how_to_names_every_member_and_every_fact() -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+) \| `(\w+\.py` \|.*)$", HOW_TO, re.MULTILINE))
    for capability, (module, names) in CAPABILITIES.items():
        assert rows[capability].startswith(f"{module}.py`")
        assert [name for name in names if f"`{name}`" not in rows[capability]] == []
    assert [name for name in ClientFacts.__annotations__ if f"`{name}`" not in HOW_TO] == []
    assert [
        name for name in vars(ClientFacts) if name[0] != "_" and f"`{name}`" not in HOW_TO
    ] == []


def test_the_how_to_names_every_file_that_changes(project: Path) -> None:
    add_client(project)
    for path in filter(Path.is_file, project.rglob("*")):
        name = path.relative_to(project)
        if not (ROOT / name).exists():
            assert name.parent.as_posix().replace(NEW, "NAME") in HOW_TO, name
        elif path.read_bytes() != (ROOT / name).read_bytes():
            assert name.as_posix() in HOW_TO, name


def test_a_seventh_client_is_one_folder_one_row_and_recordings(project: Path) -> None:
    add_client(project)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-k",
            f"{NEW} or count_as_ours",
            str(CONFORMANCE / "test_conformance.py"),
            *split_words("tests/hooks/test_init.py tests/hooks/test_start.py"),
        ],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(project / "src"), "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed|\[100%\]", done.stdout)
