"""Writers of checkpoints for the tests of scanning, in processes of their own.

`python -m tests.fleet.writers EPIC AGENT...`: agents of this process write until its input ends. Those
whose number is even exchange whole files, as we do; the others write in place, in two pieces.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from holdfast.fleet.rules.model import stem_of
from holdfast.kernel.clock import stamp
from holdfast.kernel.tree_file import TreeFile, exchange
from tests.fleet.examples import NOW, put, saved, text_of

PROJECT = Path(__file__).parents[2]

# As the protocol's own lines do it: the file is empty while the shell works out its text.
SHELL = """
number=0
while [ -e "$1/go" ]; do
  number=$((number + 1))
  cat > "$1/agent_checkpoints/$2.json" <<EOF
{
  "agent_id": "$3",
  "phase": "$number",
  "last_checkpoint": "$(date -u +"%Y-%m-%dT%H:%M:%SZ")",
  "next_checkpoint_expected": "$(date -u +"%Y-%m-%dT%H:%M:%SZ")",
  "status": "IN_PROGRESS",
  "current_step": "$number"
}
EOF
  sleep 0.05
done
"""


def start_shell(epic: Path, agent: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["bash", "-c", SHELL, "bash", str(epic), stem_of(agent), agent])


def start(epic: Path, agents: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", __name__, str(epic), *agents]
    return subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE)


def content(agent: str, number: int) -> str:
    """The same number at the beginning and at the end: two halves of different texts would show."""
    last = stamp(NOW - number % 100)
    return text_of(saved(agent, phase=str(number), last_checkpoint=last, current_step=str(number)))


def exchanging(epic: Path, agent: str, over: threading.Event) -> None:
    target = epic / "agent_checkpoints" / f"{stem_of(agent)}.json"
    number = 0
    while not over.wait(0.01):
        number += 1
        aside = put(epic, f".{agent}.aside", content(agent, number))
        exchange(*(TreeFile(str(epic), str(one.relative_to(epic))) for one in (aside, target)))


def in_place(epic: Path, agent: str, over: threading.Event) -> None:
    number = 0
    while not over.wait(0.03):
        number += 1
        text = content(agent, number)
        with open(epic / "agent_checkpoints" / f"{stem_of(agent)}.json", "w") as file:
            file.write(text[:300])
            file.flush()
            time.sleep(0.02)
            file.write(text[300:])


def main(epic: str, *agents: str) -> None:
    over = threading.Event()
    ways = (exchanging, in_place)
    threads = [
        threading.Thread(target=ways[number % 2], args=(Path(epic), agent, over))
        for number, agent in enumerate(agents)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
