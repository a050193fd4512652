"""Run a smoke set on each Python that we support: `python -m scripts.pythons [--others]`.

Hooks, kernel, journal and the basics of the command line, on all interpreters at once. Each gets an
environment under `build/`, with what the smoke set needs and no more, at the versions of
requirements/dev.lock. The Python of this environment needs no other; `--others` leaves it out, for a
machine that has run all tests on it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from holdfast.kernel.text import split_words

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
LOCK = ROOT / "requirements" / "dev.lock"
NEEDED = ("hatchling", "editables", "pytest", "pytest-xdist", "hypothesis", "graphql-core")
SMOKE = split_words(
    "tests/hooks/test_entry.py tests/hooks/test_beat.py tests/hooks/test_start.py "
    "tests/hooks/test_stop_gate.py tests/hooks/test_end.py "
    "tests/hooks/test_status_line.py tests/kernel tests/journal/conformance "
    "tests/cli/test_frame.py tests/cli/test_processes.py tests/cli/test_verbs.py "
    "tests/git/test_head.py tests/git/test_commit.py tests/test_library.py"
)


def find(version: str) -> str:
    """A Python of this version that runs: in PATH, or one that pyenv keeps; empty without one."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(kept))):
        asked = "import sys; print('%d.%d' % sys.version_info[:2])"
        if candidate:
            done = subprocess.run([candidate, "-c", asked], capture_output=True, text=True)
            if done.stdout.strip() == version:
                return candidate
    return ""


def prepare(version: str, python: str) -> Path:
    """The Python of an environment that has what the smoke set needs."""
    if version == THIS:
        return Path(sys.executable)
    folder = ROOT / "build" / f"python-{version}"
    ready, inside = folder / ".ready", folder / "bin" / "python"
    newest = max(path.stat().st_mtime for path in (LOCK, ROOT / "pyproject.toml", Path(__file__)))
    if ready.exists() and ready.stat().st_mtime > newest:
        return inside
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    install = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["-c", str(LOCK)]
    subprocess.run([*install, *NEEDED], check=True)
    # All journals are imported, so psycopg is needed; a server of PostgreSQL is not.
    subprocess.run([*install, "--no-build-isolation", "-e", f"{ROOT}[postgres]"], check=True)
    ready.touch()
    return inside


def start(python: Path) -> subprocess.Popen[str]:
    """The smoke set, on one interpreter."""
    words = [str(python), "-m", "pytest", "-k", "not postgres", "-m", "not proof", *SMOKE]
    return subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def main(arguments: list[str]) -> int:
    wanted = [version for version in VERSIONS if arguments != ["--others"] or version != THIS]
    found = {version: find(version) for version in wanted}
    for version, python in found.items():
        print(f"Python {version}: {python or 'not found, so not tested'}", flush=True)
    ready = {version: prepare(version, python) for version, python in found.items() if python}
    begun = time.monotonic()
    running = {version: start(python) for version, python in ready.items()}
    failed = []
    for version, process in running.items():
        said = process.communicate()[0]
        print(f"Python {version}: ended after {time.monotonic() - begun:.0f} s\n{said}", flush=True)
        if process.returncode:
            failed.append(version)
    if failed:
        print(f"The smoke set fails on Python {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed or not any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
