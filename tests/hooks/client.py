"""A client's process, as far as its hooks are concerned: `python client.py NAME SESSION`.

Reads one event a line, as JSON, runs the hook as the client would, and prints its answer.
"""

from __future__ import annotations

import json
import subprocess
import sys

from holdfast.hooks.run import command


def main(client: str, session: str) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        payload = {"session_id": session, **asked}
        done = subprocess.run(
            command(client, asked["event"]), input=json.dumps(payload).encode(), capture_output=True
        )
        print(json.dumps(json.loads(done.stdout or b"{}")), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
