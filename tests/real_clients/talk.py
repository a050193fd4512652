"""Talks with opencode's server as its interfaces do: `python talk.py PORT PROMPT ANSWERS`.

Begins a session, says PROMPT and waits until there are so many answers and nobody works any more.
Prints the answers.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from typing import Any

PATIENCE = 60.0


def ask(port: str, path: str, body: Any = None, patience: float = PATIENCE) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=patience) as response:
        return json.loads(response.read() or b"null")


def wait_for(port: str) -> None:
    end = time.monotonic() + PATIENCE
    why: Exception | None = None
    while time.monotonic() < end:
        try:
            ask(port, "/session", patience=5)
            return
        except OSError as error:
            why = error
            time.sleep(0.2)
    sys.exit(f"the server never listened: {why}")


def answers(port: str, session: str) -> list[str]:
    """What the model said so far."""
    said = []
    for message in ask(port, f"/session/{session}/message"):
        if message["info"]["role"] == "assistant" and message["info"]["time"].get("completed"):
            texts = [part["text"] for part in message["parts"] if part["type"] == "text"]
            said.append(" ".join(texts))
    return said


def main(port: str, prompt: str, wanted: int) -> None:
    wait_for(port)
    session = ask(port, "/session", {"title": "a talk"})["id"]
    ask(port, f"/session/{session}/message", {"parts": [{"type": "text", "text": prompt}]})
    end = time.monotonic() + PATIENCE
    # One more than is wanted would come within a moment of the last.
    quiet = 0
    while time.monotonic() < end and quiet < 10:
        quiet = quiet + 1 if len(answers(port, session)) >= wanted else 0
        time.sleep(0.2)
    print(json.dumps(answers(port, session)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
