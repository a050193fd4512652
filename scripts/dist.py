"""Build the wheel and the sdist, and try them out: `python -m scripts.dist [--no-trial]`.

Each is built twice, the second time from a copy of the tree with other times and rights, and both builds
must have the same bytes. Then the wheel is installed with its base dependencies alone into an empty
environment of each Python that we support and that this machine has, and plays the demo there. Last, twine looks at
the metadata and the description, and pipx and uv install the wheel as a person would.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.pythons import ROOT, VERSIONS, find

DIST = ROOT / "dist"
# What the wheel puts in the PATH, and the variables that say where the tools put it.
PROGRAMS = ("holdfast", "holdfast-agents")
PIPX_PLACES = ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR")
UV_PLACES = ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR")
# The demo's last line. A demo that fails ends with another exit code, but an empty one must fail as well.
LAST_WORDS = "In a repository of your own: holdfast resume"


def build(source: Path, target: Path, *, epoch: str) -> dict[str, str]:
    """The files that a build of `source` writes into `target`, each with its SHA-256."""
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    subprocess.run(
        [*command, "-d", str(target)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        capture_output=True,
    )
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(target.iterdir())
    }


def last_commit_time() -> str:
    """When the last commit was made, in seconds since 1970."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def copy_tracked_files(target: Path) -> None:
    """A copy of what git tracks, with new times and no rights for the group."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
            is_program = (ROOT / name).stat().st_mode & 0o100
            (target / name).chmod(0o700 if is_program else 0o600)


def try_out(wheel: Path, python: str) -> str:
    """Install the wheel with its base dependencies alone, and play the demo; say what went wrong."""
    with tempfile.TemporaryDirectory(prefix="holdfast-dist-") as folder:
        inside = Path(folder) / "venv" / "bin"
        steps = [
            [python, "-m", "venv", str(inside.parent)],
            [str(inside / "python"), "-m", "pip", "install", "--quiet", str(wheel)],
            [str(inside / "holdfast"), "--version"],
            [str(inside / "holdfast"), "demo", "--fast"],
        ]
        for step in steps:
            done = subprocess.run(step, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                return f"{' '.join(step[-3:])}: {done.stderr.strip()[-500:]}"
        return "" if LAST_WORDS in done.stdout else f"the demo ended with: {done.stdout[-200:]}"


def prepare_tools() -> Path:
    """Return the programs of an environment with twine, pipx and uv, which is made once."""
    folder = ROOT / "build" / "release-tools"
    ready = folder / ".ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", "twine", "pipx", "uv"], check=True)
        ready.touch()
    return folder / "bin"


def try_tools(files: list[Path], wheel: Path) -> Iterator[tuple[str, str]]:
    """Check the files with twine, and install the wheel with pipx and with uv; yield what went wrong with each."""
    tools = prepare_tools()
    with tempfile.TemporaryDirectory(prefix="holdfast-dist-") as folder:
        places = {name: f"{folder}/{name.lower()}" for name in (*UV_PLACES, *PIPX_PLACES)}
        environment = {**os.environ, **places}
        for name, words, inside in (
            ("twine", ["twine", "check", "--strict", *map(str, files)], ""),
            ("pipx", ["pipx", "install", "--python", sys.executable, str(wheel)], "PIPX_BIN_DIR"),
            ("uv", ["uv", "tool", "install", "--python", sys.executable, str(wheel)], "UV_TOOL_BIN_DIR"),
        ):  # fmt: skip
            steps = [[str(tools / words[0]), *words[1:]]]
            if inside:
                steps += [[f"{places[inside]}/{one}", "--version"] for one in PROGRAMS]
            done = [subprocess.run(each, env=environment, capture_output=True, text=True) for each in steps]  # fmt: skip
            wrong = [f"{one.stdout}{one.stderr}".strip()[-500:] for one in done if one.returncode]
            yield name, "; ".join(wrong)


def main(arguments: list[str]) -> int:
    epoch = last_commit_time()
    shutil.rmtree(DIST, ignore_errors=True)
    made = build(ROOT, DIST, epoch=epoch)
    with tempfile.TemporaryDirectory(prefix="holdfast-dist-") as folder:
        copy_tracked_files(Path(folder) / "source")
        again = build(Path(folder) / "source", Path(folder) / "dist", epoch=epoch)
    for name, digest in made.items():
        print(f"{name}  {DIST.joinpath(name).stat().st_size // 1024} KB  {digest}")
    if made != again:
        print(
            "A second build has other bytes. Are there files that git does not track?",
            file=sys.stderr,
        )
        return 1
    print("A second build, from a copy, has the same bytes.", flush=True)
    if "--no-trial" in arguments:
        return 0
    (wheel,) = DIST.glob("*.whl")
    failed = tried = 0
    for version in VERSIONS:
        python = find(version)
        if not python:
            print(f"Python {version}: not found, so not tried")
            continue
        wrong = try_out(wheel, python)
        tried, failed = tried + 1, failed + bool(wrong)
        print(f"Python {version}: {wrong or 'installed alone, and the demo plays'}", flush=True)
    for name, wrong in try_tools([*DIST.iterdir()], wheel):
        failed += bool(wrong)
        print(f"{name}: {wrong or 'content'}", flush=True)
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
