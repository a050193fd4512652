"""The suite of the journal, from outside of the tree: the example of its page passes, a store that forgets does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/how-to/own-store-or-client.md"


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_my_store.py").write_text(code)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_store.py"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def test_the_example_passes_and_a_store_that_forgets_fails(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = run(tmp_path, code)
    (count,) = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert done.returncode == 0
    assert int(count) > 100
    forgets = "    def read(self, *_, **__):\n        return []\n"
    broken = run(tmp_path, code.replace('    """Put your own class here."""\n', forgets))
    assert broken.returncode == 1
    assert "failed" in broken.stdout
