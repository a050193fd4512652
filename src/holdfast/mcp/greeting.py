"""What an MCP client asks when it starts, answered without the SDK, which takes fifty times a bare interpreter to load.

A client waits for its servers before its first turn. `greeting.json` holds what the SDK answers to these questions, by
feature; `make docs` writes it and a test compares it. The first message that is not such a question goes to the SDK,
after those that made the session.
"""

from __future__ import annotations

import os
import sys

from holdfast import registry
from holdfast.kernel import canonical_json
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Literal

FILE = "greeting.json"
# What belongs to no feature.
CORE = "mcp"
INTERRUPTED = 130
PREFIX = "io.modelcontextprotocol/"
LONGEST_LINE = 16 * 1024 * 1024
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class Greeting:
    """The start of one session.

    Attributes:
        source: the client's messages; the standard input of child processes is empty.
        replay: the messages that the SDK has to read before the rest.
        begun: the one of this process.
        answered: the id of the first of them, whose answer the client has already.
    """

    begun: Greeting | None = None

    def __init__(self, prepared: dict[str, Any]) -> None:
        self.source = claim_stdin()
        self.replay: list[bytes] = []
        self.answered: int | str | None = None
        self._prepared = prepared
        # After `initialize`, until the client has confirmed it, only the SDK answers.
        self._era: Literal["", "begun", "session", "stateless"] = ""

    def run(self) -> bool:
        """Answer until the client asks for more, or ends. Return whether it ended."""
        while line := self.source.readline(LONGEST_LINE):
            answer = self._answer(line)
            if answer is None:
                self.replay.append(line)
                return False
            if answer:
                text = canonical_json.line(answer)
                sys.stdout.buffer.write(text.encode() + b"\n")
                sys.stdout.buffer.flush()
        return True

    def _answer(self, line: bytes) -> dict[str, Any] | None:
        """Return the answer to a message, empty for a notification; None where the SDK has to answer."""
        try:
            message = canonical_json.loads(line.decode())
        except ValueError:
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return None
        method, params, id = message.get("method"), message.get("params", {}), message.get("id")
        if not isinstance(params, dict):
            return None
        if method == "notifications/initialized" and self._era == "begun" and "id" not in message:
            self.replay.append(line)
            self._era = "session"
            return {}
        if not isinstance(id, int | str) or isinstance(id, bool):
            return None
        opens = not self._era
        result = self._begin(params) if method == "initialize" else self._result(method, params)
        if result is None:
            return None
        if opens:
            self.replay, self.answered = [line], id
        return {"jsonrpc": "2.0", "id": id, "result": result}

    def _begin(self, params: dict[str, Any]) -> dict[str, Any] | None:
        wanted = params.get("protocolVersion")
        if self._era or not isinstance(wanted, str) or not _is_client(params, ""):
            return None
        self._era = "begun"
        known = self._prepared["versions"]
        agreed = wanted if wanted in known else known[-1]
        return {**self._prepared["offer"], "protocolVersion": agreed, "serverInfo": _server_info()}

    def _result(self, method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
        meta = params.get("_meta", {})
        if params.keys() - {"_meta"} or not isinstance(meta, dict):
            return None
        if self._era == "session":
            return {} if method == "ping" else self._list(method)
        versions = self._prepared["stateless"]
        version = meta.get(f"{PREFIX}protocolVersion")
        if self._era == "begun" or version not in versions or not _is_client(meta, PREFIX):
            return None
        found = self._list(method)
        if method == "server/discover":
            found = {**self._prepared["offer"], "supportedVersions": versions}
        if found is None:
            return None
        self._era = "stateless"
        return {
            **found,
            **self._prepared["around"],
            "_meta": {f"{PREFIX}serverInfo": _server_info()},
        }

    def _list(self, method: Any) -> dict[str, Any] | None:
        if method not in LISTS:
            return None
        name = LISTS[method]
        return {name: [one for offer in self._prepared["features"] for one in offer.get(name, ())]}


def greet() -> bool:
    """Answer the start of a session, and keep it for `holdfast mcp`. Return whether the client has ended."""
    try:
        os.getcwd()
    except OSError:
        return False  # it was removed, which the command reports
    prepared = _read_prepared()
    if prepared is None:
        return False
    Greeting.begun = Greeting(prepared)
    try:
        return Greeting.begun.run()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


def _read_prepared() -> dict[str, Any] | None:
    """Read the answers; None where the SDK is missing, another feature may have tools, or a person started this."""
    has_sdk = any(os.path.isdir(os.path.join(folder, "mcp", "server")) for folder in sys.path)
    if sys.stdin is None or sys.stdin.isatty() or not has_sdk:
        return None
    with open(os.path.join(os.path.dirname(__file__), FILE), encoding="utf-8") as file:
        prepared: dict[str, Any] = canonical_json.loads(file.read())
    here, offers = {*registry.built_in(), CORE}, prepared["features"]
    if here - offers.keys() or registry.has_others():
        return None
    prepared["features"] = [offer for name, offer in offers.items() if name in here]
    return prepared


def _is_client(said: dict[str, Any], prefix: str) -> bool:
    """Return whether the client names itself and its capabilities in the form that the SDK takes."""
    client = said.get(f"{prefix}clientInfo")
    capabilities = "clientCapabilities" if prefix else "capabilities"
    return (
        isinstance(client, dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
        and isinstance(said.get(f"{prefix}{capabilities}"), dict)
    )


def _server_info() -> dict[str, str]:
    return {"name": "holdfast", "version": __version__}


def claim_stdin() -> BinaryIO:
    """Take standard input away from child processes, such as git: theirs is empty."""
    try:
        source: Any = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except OSError:
        return sys.stdin.buffer  # the caller closed it: nothing comes in
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source  # type: ignore[no-any-return]
