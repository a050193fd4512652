"""The suite of a client, from outside of the tree: the example of its page passes, another session's recording does not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.clients.conformance.cases import PAYLOADS, SAMPLES
from tests.journal.test_outside import run

PAGE = Path(__file__).parents[3] / "docs/how-to/add-a-client.md"


def outcome(done: subprocess.CompletedProcess[str], word: str) -> int:
    (count,) = re.findall(rf"(\d+) {word}", done.stdout) or ["0"]
    return int(count)


def test_the_example_passes_and_a_wrong_recording_fails(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    folder = tmp_path / "recordings"
    folder.mkdir()
    for path in (SAMPLES / "qwen.jsonl", *PAYLOADS.glob("qwen.*.json")):
        shutil.copy(path, folder)
    done = run(tmp_path, code)
    assert done.returncode == 0, done.stdout[-3000:]
    assert outcome(done, "passed") > 18
    recording = folder / "qwen.jsonl"
    recording.write_text(recording.read_text("utf-8").replace("quotes were lost", "all is well"))
    (folder / "qwen.Stop.json").write_text("{}")
    broken = run(tmp_path, code)
    assert broken.returncode == 1
    assert outcome(broken, "failed") == 3, broken.stdout[-3000:]
