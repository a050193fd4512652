"""A client's question answered on the page: from the button to the end of the client's hook, beside a local HTTP round
trip; and what a permission's hook costs while no page is open."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import time
from collections.abc import Mapping
from urllib.parse import urlencode

from scripts.page_server import Serving

from bench.harness import Contender, Plan, Process, Row, python, repository, take_turns, timed_row
from holdfast.answers.answer import list_open
from holdfast.clients.claude.events import ATTENDED
from holdfast.hooks.run import command
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.note.write import write_note
from holdfast.people import page_open

TAP, ROUND_TRIP, SECOND = "from the button to the client", "a local round trip", 1000.0
QUIET, FLOOR = "a permission's hook, no page open", "python -c pass"
# As another hook that starts Python and keeps what a client asks.
BAR = 4.0
FORM = "application/x-www-form-urlencoded"


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "answers")
    asked = {
        "session_id": "bench",
        "cwd": folder,
        "tool_name": "Bash",
        "tool_input": {"command": "npm publish"},
    }
    hook = [*command("claude", "PermissionRequest")]
    workspace = discover(folder)
    write_note(workspace, "There is a journal.", actor="bench", now=clock.now())
    quiet = Process(folder, hook, json.dumps(asked))
    contenders: dict[str, Contender] = {QUIET: quiet, FLOOR: Process(folder, python("-c", "pass"))}
    samples = take_turns("answers: no page", contenders, plan.rounds(100, 10))
    rows = [timed_row(QUIET, samples, ours=QUIET, base=FLOOR, bar=BAR)]
    if quiet.answer:
        raise RuntimeError(f"without a page the hook said {quiet.answer!r}")
    with Serving([folder]) as serving:
        person = _Person(serving, folder)
        taps: dict[str, Contender] = {
            TAP: lambda: person.tap(hook, asked),
            ROUND_TRIP: person.round_trip,
        }
        samples = take_turns("answers: a tap", taps, plan.rounds(50, 5))
    workspace.close()
    row = timed_row(TAP, samples, ours=TAP, base=ROUND_TRIP, bar=1.0)
    row.peers = {ROUND_TRIP: row.base / SECOND}
    row.base, row.base_name = SECOND, "one second"
    row.spread = None
    return [*rows, row]


class _Person:
    """Somebody who is signed in, and sends a form."""

    def __init__(self, serving: Serving, folder: str) -> None:
        self._netloc, self._origin = serving.address.netloc, serving.address.origin
        self._cookie = serving.cookie()
        self._connection = http.client.HTTPConnection("127.0.0.1", serving.address.port)
        self._folder = folder

    def round_trip(self) -> float:
        start = time.perf_counter()
        self._ask("GET", "/static/holdfast.svg")
        return time.perf_counter() - start

    def tap(self, hook: list[str], payload: Mapping[str, object]) -> float:
        """Seconds from the button to the end of the hook, which the client waits for."""
        workspace = discover(self._folder)
        page_open.note_open(workspace)
        process = subprocess.Popen(
            hook,
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A person looks at the client, whose own dialogue is open beside the hook.
            env={**os.environ, ATTENDED: "1"},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload))
        process.stdin.close()
        process.stdin = None
        while not (found := list_open(workspace, clock.now())):
            if process.poll() is not None:
                raise RuntimeError("the hook did not wait")
            time.sleep(0.01)
        path = f"/w/{os.path.basename(self._folder)}/questions/{found[0]['id']}"
        workspace.close()
        shown = self._ask("GET", path)
        names = ("csrf", "shown")
        fields = {one: re.findall(f'name="{one}" value="([^"]+)"', shown)[-1] for one in names}
        body = urlencode({**fields, "answer": "allow"})
        start = time.perf_counter()
        self._ask("POST", path, body)
        said, _ = process.communicate()
        taken = time.perf_counter() - start
        if '"allow"' not in said:
            raise RuntimeError(f"the client was told {said!r}")
        return taken

    def _ask(self, method: str, path: str, body: str = "") -> str:
        headers = {"Host": self._netloc, "Cookie": self._cookie, "Origin": self._origin}
        headers |= {"Content-Type": FORM} if body else {}
        self._connection.request(method, path, body, headers)
        return self._connection.getresponse().read().decode()
