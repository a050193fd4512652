"""Edits against captures, at once; two hundred of each in `make proof`.

With the exchange every completed edit is in the journal. With the plain rename that other tools
use, an edit in the wrong instant is lost, which is the reason for the exchange.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from holdfast.kernel import canonical_json
from holdfast.kernel.tree_file import TreeFile, exchange
from holdfast.kernel.views import projection
from tests.kernel.views.scene import Scene, child_command, clean_environment

ROUNDS, MANY = 80, 200

EDITOR = """
import random, time
view = sys.argv[1] + "/.notes/default.md"
chance = random.Random(1)
go = sys.stdin.readline()
done = []

def replace(text):
    unfinished = view + ".editor"
    with open(unfinished, "w") as file:
        file.write(text)
    os.rename(unfinished, view)

for number in range(int(sys.argv[2])):
    token = f"edit-{number:03d}-{os.urandom(4).hex()}"
    if number % 2:
        with open(view) as file:
            text = file.read()
        replace(text + f"- {token}\\n")
    else:
        descriptor = os.open(view, os.O_RDWR)
        text = os.pread(descriptor, 1 << 24, 0)
        changed = text + f"- {token}\\n".encode()
        # Overwritten from its first byte, as editors that keep the inode do.
        assert os.pwrite(descriptor, changed, 0) == len(changed)
        os.ftruncate(descriptor, len(changed))
        os.close(descriptor)
    done.append(token)
    time.sleep(chance.random() * 0.012)
print("\\n".join(done))
"""

CAPTURER = """
go = sys.stdin.readline()
for number in range(int(sys.argv[2])):
    print(note(f"note-{number:03d}")["id"])
"""


def race(scene: Scene, rounds: int) -> tuple[list[str], list[str]]:
    """Tokens of completed edits and ids of acknowledged notes."""
    scene.note("the first")
    scene.close()
    processes = [
        subprocess.Popen(
            child_command(scene.root, code, str(rounds)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        for code in (EDITOR, CAPTURER)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = []
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        answers.append(output.split())
    scene.note("the last")
    return answers[0], answers[1]


def lost_edits(scene: Scene, tokens: list[str]) -> list[str]:
    bodies = scene.bodies()
    # What could not be parsed at that instant is kept as well, in quarantine.
    kept = "".join(file.read_text(errors="replace") for file in scene.quarantined())
    return [token for token in tokens if token not in bodies and token not in kept]


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(MANY, marks=pytest.mark.proof)])
def test_no_edit_and_no_note_is_lost_in_a_race(scene: Scene, rounds: int) -> None:
    tokens, ids = race(scene, rounds)

    assert len(ids) == rounds
    assert len(tokens) == rounds
    assert lost_edits(scene, tokens) == []
    recorded = [record["id"] for record in scene.records("noted")]
    assert len(recorded) == len(set(recorded)) == rounds + 2
    assert set(ids) <= set(recorded)
    noted = {canonical_json.dumps(record["body"]["text"]) for record in scene.records("noted")}
    assert {f'"note-{number:03d}"' for number in range(rounds)} <= noted
    assert scene.text() == scene.rendered()
    assert scene.problems() == []


@pytest.mark.parametrize("way", ["exchange", "rename"])
def test_an_edit_between_our_look_and_the_replacement_is_kept_by_the_exchange_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The control of the race above: a plain rename loses what the exchange keeps."""
    scene.note("the first")
    token = "edited-in-between"

    def replace(staged: TreeFile, view: TreeFile) -> bool:
        with open(str(view)) as file:
            is_edited = token in file.read()
        if not is_edited:
            with open(str(view), "a") as file:
                file.write(f"- {token}\n")
        if way == "exchange":
            return exchange(staged, view)
        os.rename(str(staged), str(view))
        return False

    with monkeypatch.context() as patched:
        patched.setattr(projection, "exchange", replace)
        scene.note("the second")
    scene.note("the last")

    assert lost_edits(scene, [token]) == ([token] if way == "rename" else [])
