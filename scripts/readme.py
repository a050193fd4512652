"""The parts of pages that are made: what `holdfast resume` prints, the speed table."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.clients.claude import sessions as claude

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
RECORDING = ROOT / "bench/continuity/recordings/claude/claude-short.jsonl.gz"
PROJECT = ROOT / "bench/continuity/project"
IDENTITY = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
BENCH = ROOT / "docs/figures/bench.json"
SPEED = ROOT / "docs/speed.md"
PEERS = ROOT / "docs/figures/speed.md"
# The recorded session, cut off here: a test fails, and two tasks are open.
LINES = 160
BUDGET = 1100


def begun_session() -> bytes:
    """The transcript of a recorded session of Claude Code that was killed in the middle of a turn."""
    with gzip.open(RECORDING) as file:
        return b"".join(file.readlines()[:LINES])


def sample() -> str:
    """What the command itself prints for that session, in the work tree that the session left."""
    content = begun_session()
    session = json.loads(content.splitlines()[0])["sessionId"]
    with tempfile.TemporaryDirectory() as made:
        # macOS has a link there.
        home = Path(made).resolve()
        folder = home / "tally"
        shutil.copytree(PROJECT, folder)
        # The commit has the same id each time: it stands in the text.
        moments = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-11-10T00:00:00Z")
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONUTF8": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **moments,
        }

        def run(*words: str) -> str:
            return subprocess.run(
                words,
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
                encoding="utf-8",
            ).stdout

        run("git", "init", "--quiet", "--initial-branch=main", "--object-format=sha1")
        run("git", "add", ".")
        run("git", *IDENTITY, "commit", "--quiet", "--message", "Before the session")
        name = Path(claude.folder_of(str(folder))).name
        path = home / ".claude/projects" / name / f"{session}.jsonl"
        path.parent.mkdir(parents=True)
        # Only in fields: the words of a path in an error would count as names of the code.
        there, here = b':"/home/dev/tally', b':"' + bytes(folder)
        path.write_bytes(content.replace(there, here))
        run(sys.executable, "-m", "holdfast", "edits", "--apply")
        printed = run(sys.executable, "-m", "holdfast", "resume", "--budget", str(BUDGET))
    return f"````text\n{printed}````"


def speed() -> str:
    """Return the figures of the last whole `make bench` on a quiet machine, with their date."""
    return _speed(with_peers=False)


def speed_and_peers() -> str:
    """Return the same figures with those of the peers in the same run."""
    return _speed(with_peers=True)


def _speed(*, with_peers: bool) -> str:
    if not BENCH.exists():
        return (
            "No figures of this version are kept yet. `make bench` on a quiet machine writes them "
            "to `docs/figures/bench.json`, and `make docs` puts them here."
        )
    known = json.loads(BENCH.read_text(encoding="utf-8"))
    lines = [
        f"Measured on {known['at'][:10]} with {known['python']} on {known['system']}, "
        f"{known['processors']} processors, {known['file_system']}.",
        "",
        "| what | ratio | against | bar |" + (" peers |" if with_peers else ""),
        "|---|---|---|---|" + ("---|" if with_peers else ""),
    ]
    for row in (row for rows in known["results"].values() for row in rows):
        peers = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:.2f}'}"
            for name, value in row["peers"].items()
        )
        missed = "" if row["met"] else ", missed"
        line = (
            f"| {row['what']} | {row['ratio']:.2f} | {row['base_name']} | {row['bar']:g}{missed} |"
        )
        lines.append(f"{line} {peers} |" if with_peers else line)
    return "\n".join(lines)


PARTS = {"sample": sample}
SPEED_PARTS = {"speed": speed}
PEER_PARTS = {"peers": speed_and_peers}


def fill_in(text: str, parts: Mapping[str, Callable[[], str]] = PARTS) -> str:
    """The page with its made parts, each between two comments."""
    for name, make in parts.items():
        pattern = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
        found = pattern.search(text)
        if found is None:
            raise ValueError(f"the page has no place for {name}")
        text = f"{text[: found.start()]}{found[1]}{make()}\n{found[2]}{text[found.end() :]}"
    return text
