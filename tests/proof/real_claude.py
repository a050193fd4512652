"""Runs Claude Code itself against a stub of its model, in a network of its own.

`python real_claude.py CLAUDE PROJECT HOME` is started under `unshare --net`: there is nothing but a
loopback interface, so the client can reach the stub and nobody else. Prints what the stub was sent.
"""

from __future__ import annotations

import fcntl
import http.server
import json
import socket
import struct
import subprocess
import sys
import threading
from typing import Any

IFF_UP, SIOCSIFFLAGS = 1, 0x8914
EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Done."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
]


class Model(http.server.BaseHTTPRequestHandler):
    """Answers every message with one word, in the stream that the client expects."""

    protocol_version = "HTTP/1.1"
    requests: list[str] = []

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "count_tokens" in self.path:
            self._answer("application/json", b'{"input_tokens": 10}')
            return
        Model.requests.append(body.decode(errors="replace"))
        stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in EVENTS)
        self._answer("text/event-stream", stream.encode())

    def _answer(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main(claude: str, project: str, home: str) -> None:
    raise_loopback()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "dummy",
        "IS_SANDBOX": "1",
    }
    words = ["-p", "hello", "--output-format", "json", "--dangerously-skip-permissions"]
    done = subprocess.run(
        [claude, *words],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    print(json.dumps({"code": done.returncode, "out": done.stdout, "requests": Model.requests}))


if __name__ == "__main__":
    main(*sys.argv[1:4])
