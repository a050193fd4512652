"""The picture of `holdfast agent list` in the docs: a real fleet, a real terminal.

python -m scripts.fleet_picture
"""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from rich.console import Console
from rich.text import Text

from holdfast.fleet import agents, updates
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover

PICTURE = Path(__file__).parent.parent / "docs" / "how-to" / "fleet-list.svg"
COLUMNS, ROWS = 132, 16
HOLDFAST = [sys.executable, "-m", "holdfast"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "KAI-6"
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        _fleet(root)
        screen = _captured(root)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text.from_ansi(screen), end="", soft_wrap=True)
    picture = console.export_svg(title="holdfast agent list", unique_id="list")
    # The reader's own fonts: a page of the docs loads nothing from elsewhere.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))
    print(f"wrote {PICTURE.name}")


def _fleet(root: Path) -> None:
    """Five agents in five moods."""
    workspace = discover(str(root))
    now = clock.now()

    def context(minutes_ago: int, pid: int = 0) -> FleetContext:
        os.environ["HOLDFAST_AGENT_PID"] = str(pid or os.getpid())
        at = now - minutes_ago * clock.MINUTE
        return FleetContext(find(workspace), workspace, actor="docs", now=at)

    def live(agent: str, feature: str, minutes_ago: int, pid: int = 0, **command: object) -> None:
        agents.start(context(minutes_ago + 20, pid), agent, feature=feature)
        updates.update(context(minutes_ago, pid), agent, {"do": "beat", **command})

    ended = subprocess.Popen(["sleep", "60"])
    live(
        "Agent-Primary",
        "feature_01_player_json",
        2,
        set={"current_step": "Answering Secondary-C's question", "stage": "S2.P2"},
        completed_steps=["S2.P1 complete", "Requirements 1-4"],
    )
    live(
        "Secondary-A",
        "feature_02_team_penalty",
        41,
        set={"current_step": "Writing Acceptance Criteria in spec.md", "stage": "S2.P2"},
        completed_steps=["S2.P1 complete"],
    )
    live(
        "Secondary-B",
        "feature_03_ranking",
        12,
        set={"current_step": "Measuring the old ranking"},
        busy_until=clock.stamp(now + 50 * clock.MINUTE),
        doing="cargo build",
    )
    live(
        "Secondary-C",
        "feature_04_injuries",
        5,
        set={"current_step": "Reading the injury feed"},
    )
    updates.update(
        context(4), "Secondary-C", {"do": "block", "blocker": "The injury feed has no key"}
    )
    live(
        "Secondary-D",
        "feature_05_weather",
        96,
        ended.pid,
        set={"current_step": "Phase 1: Targeted Research"},
    )
    ended.kill()
    ended.wait()
    del os.environ["HOLDFAST_AGENT_PID"]
    for path in root.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (now // 1000 - 7200, now // 1000 - 7200))
    workspace.close()


def _captured(root: Path) -> str:
    """What a terminal of that size shows."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    words = [*HOLDFAST, "agent", "list"]
    process = subprocess.Popen(words, cwd=root, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    process.wait()
    return shown.decode().replace("\r\n", "\n").rstrip()


if __name__ == "__main__":
    main()
