"""Write the plugins' trees: `python -m scripts.plugins [--check]`.

Commands, skill and hook are written once, in `plugins/holdfast` (for Claude Code, Codex and
Copilot CLI). From
there come the thin plugins with the protocols' own names, the extension for Gemini CLI, what opencode
reads, and the marketplace.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from holdfast.clients.claude import install as claude
from holdfast.clients.codex import install as codex
from holdfast.clients.copilot import install as copilot
from holdfast.clients.gemini import install as gemini
from holdfast.clients.qwen import install as qwen
from holdfast.clients.settings.parts import hook_group
from holdfast.processes.distribution import NAME
from holdfast.version import __version__

ROOT = Path(__file__).parent.parent
PLUGINS = ROOT / "plugins"
SOURCE = PLUGINS / "holdfast"
PORTABLE = PLUGINS / "portable"
SHIM = ROOT / "src" / "holdfast" / "hooks" / "opencode.js"

COMMANDS = ("checkpoint", "go", "gate", "status", "takeoff", "cockpit")
# A plugin's commands are `/plugin:command`, so the names that the protocols gave them need plugins.
THIN = {
    "ccc": ("checkpoint", "go"),
    "autopilot": ("takeoff", "cockpit"),
}
DESCRIPTIONS = {
    "holdfast": "What coding agents know about their work survives them: checkpoints, gates, budgets.",
    "ccc": "/ccc:checkpoint and /ccc:go, kept by holdfast.",
    "autopilot": "/autopilot:takeoff and /autopilot:cockpit, kept by holdfast.",
}
# OWNER is the account that publishes it there (docs/release.md).
REGISTRY_NAME = "io.github.OWNER/holdfast"
# The identifiers of its schemas; clients compare them and fetch nothing.
SPECIFICATION = "https://agent-plugins.org/schemas/1.0.0"
SERVER: dict[str, dict[str, dict[str, Any]]] = {
    "mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}
}


def written() -> dict[Path, str]:
    """Every generated file, and what it has to say."""
    files: dict[Path, str] = {
        ROOT / ".claude-plugin" / "marketplace.json": _json(_marketplace()),
        # Codex rejects a file of hooks with modules in it, so each client has a manifest of its own.
        SOURCE / ".codex-plugin" / "plugin.json": _json(_manifest("holdfast")),
        SOURCE / ".claude-plugin" / "plugin.json": _json(
            {**_manifest("holdfast"), "hooks": "./hooks/mod.json"}
        ),
        # Copilot CLI takes Claude Code's manifest where it finds no other, and would run no hook.
        SOURCE / ".github" / "plugin" / "plugin.json": _json(
            {**_manifest("holdfast"), "hooks": "./hooks/copilot.json"}
        ),
        SOURCE / "hooks" / "copilot.json": _json(_hooks(copilot.EVENTS, "CLAUDE_PLUGIN_ROOT")),
        SOURCE / "hooks" / "mod.json": _json({**_hooks_of_claude(), "modules": ["./register.js"]}),
        SOURCE / ".mcp.json": _json(SERVER),
        # For clients that follow the Agent Plugins specification: the portable parts, skill and server. In
        # a folder of its own: Codex runs no hook of a plugin with this manifest (openai/codex#39895).
        PORTABLE / "plugin.json": _json(_portable_manifest("holdfast")),
        PORTABLE / "mcp.json": _json(_portable_server()),
        PORTABLE / "skills" / "holdfast" / "SKILL.md": _skill(),
        # Where clients look for skills that belong to no vendor.
        ROOT / ".agents" / "skills" / "holdfast" / "SKILL.md": _skill(),
        ROOT / "server.json": _json(_registry_entry()),
        SOURCE / "hooks" / "hooks.json": _json(_hooks(codex.EVENTS, "CLAUDE_PLUGIN_ROOT")),
    }
    for name, commands in THIN.items():
        files[PLUGINS / name / ".claude-plugin" / "plugin.json"] = _json(_manifest(name))
        files[PLUGINS / name / "plugin.json"] = _json(_portable_manifest(name))
        for command in commands:
            files[PLUGINS / name / "commands" / f"{command}.md"] = _command(command)
    return {**files, **_gemini(), **_qwen(), **_opencode()}


def _registry_entry() -> dict[str, object]:
    """What the MCP registry lists. The server needs an extra, so that the package's name alone would not start it."""
    package = {
        "registryType": "pypi",
        "identifier": NAME,
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [
            {"type": "named", "name": "--from", "value": f"{NAME}[mcp]=={__version__}"}
        ],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "description": "Continue the last session of a coding agent, find past ones, record decisions, ask a person.",
        "version": __version__,
        "packages": [package],
    }


def _gemini() -> dict[Path, str]:
    folder = PLUGINS / "gemini"
    hooks = _hooks(gemini.EVENTS, "extensionPath", name="holdfast")
    files = _extension(folder / "gemini-extension.json", hooks)
    for group, commands in {"holdfast": COMMANDS, **THIN}.items():
        for command in commands:
            files[folder / "commands" / group / f"{command}.toml"] = _toml(command)
    return files


def _qwen() -> dict[Path, str]:
    """An extension of Qwen Code's own form: a portable plugin brings no hooks there."""
    folder = PLUGINS / "qwen"
    hooks = _hooks(qwen.EVENTS, "CLAUDE_PLUGIN_ROOT", "qwen")
    files = _extension(folder / "qwen-extension.json", hooks)
    for group, commands in {"holdfast": COMMANDS, **THIN}.items():
        for command in commands:
            files[folder / "commands" / group / f"{command}.md"] = _command(command)
    return files


def _extension(manifest: Path, hooks: dict[str, object]) -> dict[Path, str]:
    """What the extensions of Gemini CLI and Qwen Code have in common."""
    folder = manifest.parent
    facts = {"name": "holdfast", "version": __version__, **_described("holdfast"), **SERVER}
    return {
        manifest: _json(facts),
        folder / "hooks" / "hooks.json": _json(hooks),
        folder / "hooks" / "run": (SOURCE / "hooks" / "run").read_text(encoding="utf-8"),
        folder / "skills" / "holdfast" / "SKILL.md": _skill(),
    }


def _opencode() -> dict[Path, str]:
    folder = PLUGINS / "opencode"
    files = {
        folder / "plugins" / "holdfast.js": SHIM.read_text(encoding="utf-8"),
        folder / "skills" / "holdfast" / "SKILL.md": _skill(),
    }
    # Commands of a folder are `/folder/command` here.
    for group, commands in {"holdfast": COMMANDS, **THIN}.items():
        for command in commands:
            files[folder / "commands" / group / f"{command}.md"] = _command(command)
    return files


def _marketplace() -> dict[str, object]:
    plugins = [
        {"name": name, "source": f"./plugins/{name}", **_described(name)}
        for name in ("holdfast", *THIN)
    ]
    owner = {"owner": {"name": "Holdfast"}, "plugins": plugins}
    return {"name": "holdfast", **_described("holdfast"), **owner}


def _manifest(name: str) -> dict[str, object]:
    rest = {"author": {"name": "Holdfast"}, "license": "MIT"}
    return {"name": name, "version": __version__, **_described(name), **rest}


def _portable_manifest(name: str) -> dict[str, object]:
    """Agent Plugins 1.0.0: a closed set of fields, and `plugin.json` at the plugin's root."""
    return {"$schema": f"{SPECIFICATION}/plugin.schema.json", **_manifest(name)}


def _portable_server() -> dict[str, object]:
    """The same server as in `.mcp.json`; here a server has to name its transport."""
    servers = {name: {"type": "stdio", **how} for name, how in SERVER["mcpServers"].items()}
    return {"$schema": f"{SPECIFICATION}/mcp.schema.json", "mcpServers": servers}


def _described(name: str) -> dict[str, str]:
    return {"description": DESCRIPTIONS[name]}


def _hooks(
    limits: dict[str, int], root: str, client: str = "", *, name: str = ""
) -> dict[str, object]:
    """Each as a shell's command line: Codex has no other form, and would leave out the arguments of Claude
    Code's. `root` is the client's variable for the plugin's folder."""
    hooks = {}
    for event, limit in limits.items():
        line = f'sh "${{{root}}}/hooks/run" {event} {client}'.rstrip()
        hooks[event] = [hook_group(line, limit, name=name)]
    return {"hooks": hooks}


def _hooks_of_claude() -> dict[str, object]:
    """The events that Codex does not know, in the file that only Claude Code reads."""
    limits = {event: limit for event, limit in claude.EVENTS.items() if event not in codex.EVENTS}
    return _hooks(limits, "CLAUDE_PLUGIN_ROOT")


def _command(name: str) -> str:
    return (SOURCE / "commands" / f"{name}.md").read_text(encoding="utf-8")


def _skill() -> str:
    return (SOURCE / "skills" / "holdfast" / "SKILL.md").read_text(encoding="utf-8")


def _toml(name: str) -> str:
    """Gemini's form: the description and the prompt, with its own word for the arguments."""
    _, head, body = _command(name).split("---\n", 2)
    description = next(line for line in head.splitlines() if line.startswith("description: "))
    prompt = body.strip().replace("$ARGUMENTS", "{{args}}")
    assert "'''" not in prompt
    return f"description = {json.dumps(description[13:])}\nprompt = '''\n{prompt}\n'''\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(words: list[str]) -> int:
    stale = []
    for path, text in written().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in words:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in words:
        print(f"out of date, run `make docs`: {', '.join(map(str, stale))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
