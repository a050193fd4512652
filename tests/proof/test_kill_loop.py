"""A writer killed at forty random instants: what it had acknowledged is there, once."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kernel.views.scene import Scene, child_command, clean_environment

pytestmark = pytest.mark.proof

KILLS = 40
LONGEST_LIFE = 0.15

WRITER = """
os.write(1, b"READY\\n")
number = 0
while True:
    text = f"life {sys.argv[2]} note {number}"
    os.write(1, (note(text)["id"] + " " + text + "\\n").encode())
    number += 1
"""


def test_nothing_acknowledged_is_lost_by_kills(empty_repository: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(empty_repository, root)
    chance = random.Random(40)
    acknowledged: dict[str, str] = {}
    for life in range(KILLS):
        process = subprocess.Popen(
            child_command(root, WRITER, str(life)),
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "READY\n"
        time.sleep(chance.random() * LONGEST_LIFE)
        process.kill()
        # Not `communicate`, which forgets what `readline` read ahead.
        with process.stdout as output:
            for line in output:
                id, _, text = line.rstrip("\n").partition(" ")
                acknowledged[id] = text
        assert process.wait(timeout=10) == -signal.SIGKILL

        scene = Scene(root)
        scene.note(f"after life {life}")
        assert scene.text() == scene.rendered()
        scene.close()

    scene = Scene(root)
    recorded = {record["id"]: record["body"]["text"] for record in scene.records()}
    ids = [record["id"] for record in scene.records()]
    texts = scene.texts()
    print(f"\n{KILLS} kills, {len(acknowledged)} notes acknowledged, {len(ids)} recorded")
    assert scene.problems() == []
    assert len(acknowledged) > KILLS, "the lives were too short to prove anything"
    assert len(ids) == len(set(ids))
    assert {id: recorded.get(id) for id in acknowledged} == acknowledged
    assert len(texts) == len(set(texts)) == len(ids)
    assert set(scene.kinds()) == {"noted"}
    # A kill can hide the acknowledgement of the note on its way, and nothing more.
    assert len(ids) - len(acknowledged) - KILLS <= KILLS
    scene.close()
