"""A client's process, as far as its hooks are concerned: `python client.py NAME SESSION [forks]`.

Reads one event a line, as JSON, runs the hook in a child of its own as the client would, and prints the
answer. With `forks` the child is a fork, which leaves no other process behind and is told who its client is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from holdfast.hooks.run import command, run
from holdfast.processes import agent_process, relaunch


def start(client: str, event: str, payload: bytes) -> bytes:
    """What the hook printed."""
    return subprocess.run(command(client, event), input=payload, capture_output=True).stdout


def fork(client: str, event: str, payload: bytes) -> bytes:
    """The same. The payload is smaller than a pipe's buffer."""
    hears, says = os.pipe()
    given, give = os.pipe()
    os.write(give, payload)
    os.close(give)
    child = os.fork()
    if not child:
        os.dup2(given, 0)
        os.dup2(says, 1)
        for one in (hears, says, given):
            os.close(one)
        os.environ[agent_process.VARIABLE] = str(os.getppid())
        relaunch.leave = lambda words: True
        run([client, event])
    for one in (says, given):
        os.close(one)
    with open(hears, "rb") as out:
        answer = out.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    return answer


def main(client: str, session: str, *forks: str) -> None:
    run_hook = fork if forks else start
    for line in sys.stdin:
        asked = json.loads(line)
        payload = json.dumps({"session_id": session, **asked}).encode()
        answer = run_hook(client, asked["event"], payload)
        print(json.dumps(json.loads(answer or b"{}")), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
