"""A model that says what the test wrote down, and remembers everything that it was asked."""

from __future__ import annotations

import http.server
import json
import threading
import time
import zlib
from typing import Any

from tests.real_clients.dialects import Answer, Reply, has_tools, reply

# A copy of a session is asked without tools.
LAST_QUESTION = "This is the last question to this session"
SILENCE: Answer = {"text": "Done."}
# Zstandard is what Codex would send to its own vendor; to a stub it sends plain JSON.
_GZIP = 31


class Stub(http.server.ThreadingHTTPServer):
    """Answers in the order of the script; when that is over, with one word."""

    daemon_threads = True
    # Each client runs in a network of its own, so the port is nobody else's.
    PORT = 18080

    def __init__(self, script: list[Answer]) -> None:
        super().__init__(("127.0.0.1", self.PORT), _Listener)
        self.requests: list[dict[str, Any]] = []
        self._script = list(script)
        self._turn = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def asked(self) -> int:
        """How often an agent asked, without what its client asks besides."""
        with self._turn:
            return sum(1 for request in self.requests if request["agent"])

    def _next(self, body: Any) -> Answer:
        if not self._script:
            return SILENCE
        first = self._script[0]
        # Clients do not wait for a server: its tools come with the first request that finds it up.
        if "meanwhile" in first and not _can_call(first, body):
            return dict(first["meanwhile"])
        return self._script.pop(0)

    def answer(self, path: str, body: Any) -> tuple[int, Reply]:
        with self._turn:
            is_agent = has_tools(body) or LAST_QUESTION in json.dumps(body)
            self.requests.append({"path": path, "agent": is_agent, "body": body})
            number = len(self.requests)
            chosen = self._next(body) if is_agent else SILENCE
        if "silent" in chosen:
            time.sleep(float(chosen["silent"]))
        if "status" in chosen:
            error = {"type": "api_error", "message": "stub", **chosen.get("error", {})}
            said = json.dumps({"type": "error", "error": error}).encode()
            refused = Reply("application/json", said, chosen.get("headers", {}))
            return int(chosen["status"]), refused
        answered = reply(path, body, chosen, number)
        if answered is None:
            return 404, Reply("application/json", b"{}")
        return 200, answered._replace(headers=chosen.get("headers"))


def _can_call(order: Answer, body: Any) -> bool:
    """Whether the model was shown the tool: among its tools or, where it has to search, in a result."""
    if "searched" not in order:
        return json.dumps(order["tool"]) in json.dumps(body["tools"])
    results = [json.dumps(one) for one in body["messages"] if one.get("role") == "tool"]
    return any(order["searched"] in result and "properties" in result for result in results)


class _Listener(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(*self.server.answer(self.path, None))

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            content = zlib.decompress(content, _GZIP)
        try:
            body = json.loads(content or b"null")
        except ValueError:
            body = content.decode(errors="replace")
        self._send(*self.server.answer(self.path, body))

    def _send(self, status: int, said: Reply) -> None:
        self.send_response(status)
        self.send_header("content-type", said.kind)
        self.send_header("content-length", str(len(said.content)))
        for name, value in (said.headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(said.content)
        except OSError:  # the client has gone, which is its right
            pass
