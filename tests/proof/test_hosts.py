"""Three hosts with a network between them that is cut: nobody is ever owned twice, nothing is lost.

`HOLDFAST_PROOF_SECONDS` bounds the random part, `HOLDFAST_PROOF_SEED` replays which host is cut, how,
for how long, and who takes over.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from holdfast.journal.chain import verify
from holdfast.kernel import canonical_json
from tests.proof.forwarders import holder_of
from tests.proof.hosts import PATIENCE, WORKSPACE, Host, Hosts, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.journal.interface import Record, Refusal
    from holdfast.journal.postgres.journal import PostgresJournal
    from tests.proof.hosts import How

# Read once: every test takes HOLDFAST_* out of its environment.
SECONDS = float(os.environ.get("HOLDFAST_PROOF_SECONDS", "90"))
SEED = int(os.environ.get("HOLDFAST_PROOF_SEED", "11"))
NAMES = ("ada", "bob", "cyd")
AGENTS = ("Secondary-A", "Secondary-B", "Secondary-C")
HOWS: tuple[How, ...] = ("unplugged", "pulled", "swallowed")
# What a life that is over leaves on its stream without a fence: kept words that change nothing.
KEPT_ONLY = {"late"}


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    reason = why_not()
    if reason:
        pytest.skip(f"THREE HOSTS WERE NOT CUT OFF FROM EACH OTHER: {reason}")
    # PostgreSQL does not run as root, and the folder of a test is root's alone.
    with tempfile.TemporaryDirectory(prefix="holdfast-hosts-") as folder:
        Path(folder).chmod(0o755)
        with Hosts(Path(folder), NAMES, options="?connect_timeout=3") as made:
            with ThreadPoolExecutor() as pool:
                started = pool.map(_start, made.hosts, AGENTS, range(1, 4))
            assert [answer.code for answer in started] == [0, 0, 0]
            yield made


def _start(host: Host, agent: str, number: int) -> Any:
    return host.holdfast("agent", "start", agent, "--feature", f"feature_0{number}_part")


def _stream(agent: str) -> str:
    return f"agent:{agent.lower().replace('-', '_')}"


def _everybody(hosts: Hosts, action: Callable[[Host], Any]) -> list[Any]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(action, hosts.hosts))


class Upstream(NamedTuple):
    """What the server has."""

    records: list[Record]
    refusals: list[Refusal]
    broken: list[Any]


def _upstream(hosts: Hosts) -> Upstream:
    def read(journal: PostgresJournal) -> Upstream:
        return Upstream(
            journal.since(0, limit=1_000_000),
            journal.refusals(),
            [finding for finding in verify(journal) if finding["broken"]],
        )

    found: Upstream = hosts.ask(read)
    return found


def refuse_second_owners(records: list[Record]) -> None:
    """On each agent's stream the fences only rise: of a life that was taken over, nothing comes after."""
    held: dict[str, int] = {}
    for record in records:
        stream, fence = record["stream"], record["fence"]
        if not stream.startswith("agent:"):
            continue
        if fence is None:
            # As a text: pytest shortens a record, and what such an edit says is what one has to know.
            assert record["kind"] in KEPT_ONLY, canonical_json.dumps(record)
            continue
        assert fence >= held.get(stream, 0), (held, record)
        if fence > held.get(stream, 0):
            assert record["kind"] in ("started", "ended", "resumed"), record
        held[stream] = fence


def beaten(upstream: Upstream) -> tuple[Counter[str], Counter[str]]:
    """How often each step stands in a record, and in what was refused."""
    landed = Counter(
        str(record["body"]["set"].get("current_step", ""))
        for record in upstream.records
        if record["kind"] == "beat"
    )
    refused = Counter(
        step
        for refusal in upstream.refusals
        for draft in refusal["drafts"]
        for step in _steps(draft)
    )
    return landed, refused


def _steps(draft: Any) -> list[str]:
    body = draft["body"]
    said = body.get("set") or body.get("command", {}).get("set") or {}
    return [str(said["current_step"])] if "current_step" in said else []


def test_a_host_that_is_cut_off_is_taken_over_and_joins_again(hosts: Hosts) -> None:
    ada, bob, _ = hosts.hosts
    agent = AGENTS[0]
    assert "failed" not in ada.hook("beat", agent, step="before")
    # Whoever reaches the server brings what waits first.
    assert ada.holdfast("agent", "beat", agent, "--step", "also before").code == 0
    ada.cut()
    for step in ("cut off", "still cut off"):
        assert "failed" not in ada.hook("beat", agent, step=step), "its agent goes on"
    taken = bob.holdfast("agent", "takeover", agent, "--by", agent, "--yes", "--json")
    fence = taken.data["fence"]
    assert bob.hook("beat", agent, step="taken over")["fence"] == fence
    refused = ada.holdfast("agent", "takeover", AGENTS[1], "--by", AGENTS[1], "--yes")
    assert refused.code == 75, "what must be agreed cannot be, and that is said"
    ada.join()
    late = ada.holdfast("agent", "beat", agent, "--step", "late")
    assert (late.code, "taken over" in late.err) == (5, True), late
    assert "write no more" in ada.hook("beat", agent, step="later")["failed"]
    assert bob.holdfast("agent", "beat", agent, "--step", "goes on").code == 0

    upstream = _upstream(hosts)
    assert upstream.broken == []
    refuse_second_owners(upstream.records)
    landed, kept = beaten(upstream)
    steps = ("before", "also before", "taken over", "goes on")
    assert [landed[step] for step in steps] == [1, 1, 1, 1]
    assert [kept[step] for step in ("cut off", "still cut off", "late")] == [1, 1, 1]
    assert not landed.keys() & kept.keys()
    owner = [record for record in upstream.records if record["stream"] == "feature:feature_01_part"]
    assert owner[-1]["body"]["agent"] == agent


# A writer in the middle of its commit: of what it asks the server, the end is still to be sent.
HALF_A_COMMIT = """
import sys
from holdfast.journal.postgres import rows
from holdfast.journal.postgres.journal import PostgresJournal
journal = PostgresJournal(sys.argv[1], sys.argv[2], "ada")
number, session = journal.register(), journal.session()
with session.pipeline(), session.transaction():
    given = {"count": 1, "grants": 0, "workspace": number, "epoch": session.epoch}
    session.execute(rows.COUNT, given).fetchone()
    print("holds the row", flush=True)
    sys.stdin.read()
"""


@pytest.mark.proof
@pytest.mark.parametrize("how", HOWS)
def test_what_a_host_held_when_it_was_cut_off_is_free_before_others_lose_patience(
    hosts: Hosts, how: How
) -> None:
    ada, bob, _ = hosts.hosts
    url = ada.environment["HOLDFAST_URL"]
    writer = ada.start(sys.executable, "-P", "-c", HALF_A_COMMIT, url, WORKSPACE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "holds the row\n"
    ada.cut(how)
    taken = bob.holdfast("agent", "takeover", AGENTS[0], "--by", AGENTS[0], "--yes")
    assert taken.code == 0, taken
    ada.join()
    writer.communicate(timeout=PATIENCE)


class Life(threading.Thread):
    """An agent's work on one host: it beats until it hears that it was taken over."""

    def __init__(self, host: Host, agent: str, number: int, seed: int) -> None:
        super().__init__(name=f"{agent} on {host.name}")
        self.host, self.agent, self.number = host, agent, number
        self.acknowledged: list[str] = []
        self.unanswered: list[str] = []
        self.failures: Counter[str] = Counter()
        self.is_lost = False
        self.ended = threading.Event()
        self._chance = random.Random(f"{seed} {number}")
        self.start()

    def run(self) -> None:
        beat = 0
        while not self.ended.wait(self._chance.uniform(0, 0.2)):
            beat += 1
            step = f"{self.number} of {self.agent} on {self.host.name}: {beat}"
            by_command = self._chance.random() < 0.15
            failed = self._say(step) if by_command else self._hook(step)
            if not failed:
                self.acknowledged.append(step)
                continue
            self.unanswered.append(step)
            self.failures[failed.partition(" at 2")[0]] += 1
            if "write no more" in failed:
                self.is_lost = True
                return

    def _hook(self, step: str) -> str:
        return str(self.host.hook("beat", self.agent, step=step).get("failed", ""))

    def _say(self, step: str) -> str:
        """As a command: cut off, it may be told to try again."""
        answer = self.host.holdfast("agent", "beat", self.agent, "--step", step)
        assert answer.code in (0, 5, 75), answer
        return answer.err if answer.code else ""

    def beats_again(self, times: int) -> None:
        """Until it has been answered so often from now on, or is over."""
        enough = len(self.acknowledged) + times
        deadline = time.monotonic() + PATIENCE
        while len(self.acknowledged) < enough and self.is_alive():
            assert time.monotonic() < deadline, f"{self.name} stands still"
            time.sleep(0.02)


class Siege:
    """Random cuts, takeovers and joins for a while."""

    def __init__(self, hosts: Hosts, seed: int) -> None:
        self.hosts, self.seed = hosts, seed
        self.chance = random.Random(seed)
        self._numbers = count(1)
        self.past: list[Life] = []
        self.owners = {
            agent: self._live(host, agent) for host, agent in zip(hosts.hosts, AGENTS, strict=True)
        }
        self.takeovers = self.late = 0
        self.cuts: Counter[str] = Counter()
        self.troubles: Counter[str] = Counter()

    @property
    def lives(self) -> list[Life]:
        return [*self.past, *self.owners.values()]

    def _live(self, host: Host, agent: str) -> Life:
        return Life(host, agent, next(self._numbers), self.seed)

    def round(self) -> None:
        agent = self.chance.choice(AGENTS)
        owner = self.owners[agent]
        how = self.chance.choice(HOWS)
        self.cuts[how] += 1
        owner.host.cut(how)
        try:
            owner.beats_again(self.chance.randint(1, 4))
            self._trouble(owner.host)
            if self.chance.random() < 0.75:
                self._take_over(owner, agent)
        finally:
            owner.host.join()
        if self.owners[agent] is not owner:
            owner.join(PATIENCE)
            assert not owner.is_alive(), f"{owner.name} never heard that it was taken over"

    def _trouble(self, host: Host) -> None:
        """Sometimes the forwarder of the host that is cut off dies as well, or the server."""
        what = self.chance.choice(("nothing", "nothing", "forwarder", "server"))
        if what == "server":
            self.hosts.server.stop(signal.SIGQUIT)
            self.hosts.start_server()
        elif what == "forwarder":
            forwarder = holder_of(host.environment["HOLDFAST_HOME"] + "/forward")
            if forwarder is None:
                return
            os.kill(forwarder, signal.SIGKILL)
        self.troubles[what] += 1

    def _take_over(self, owner: Life, agent: str) -> None:
        """Sometimes the cable is put in again while another host is about to take over."""
        others = [host for host in self.hosts.hosts if host is not owner.host]
        taker = self.chance.choice(others)
        hurry = None
        if self.chance.random() < 0.5:
            hurry = threading.Timer(self.chance.uniform(0, 0.8), owner.host.join)
            hurry.start()
        taken = taker.holdfast("agent", "takeover", agent, "--by", agent, "--yes", "--json")
        if hurry is not None:
            hurry.join()
        if hurry is not None and taken.code == 5:
            # Its beats came first: whoever was about to take it over sees that it lives.
            assert taken.envelope["error"]["kind"] == "agent_lives", taken
            self.late += 1
            return
        assert taken.code == 0, taken
        self.takeovers += 1
        self.past.append(owner)
        self.owners[agent] = self._live(taker, agent)

    def end(self) -> None:
        for life in self.lives:
            life.ended.set()
        for life in self.lives:
            life.join(PATIENCE)
            assert not life.is_alive(), life.name


@pytest.mark.proof
def test_random_cuts_and_takeovers(hosts: Hosts) -> None:
    siege = Siege(hosts, SEED)
    deadline = time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            siege.round()
    finally:
        siege.end()
    # Whoever reaches the server brings what waits, before it reads.
    answers = _everybody(hosts, lambda host: host.holdfast("status", "--json"))
    assert [answer.code for answer in answers] == [0, 0, 0], answers

    upstream = _upstream(hosts)
    assert upstream.broken == []
    refuse_second_owners(upstream.records)
    by_hand = [one for one in upstream.records if one["kind"] == "edited_outside"]
    assert by_hand == [], "nobody edited a file"
    landed, kept = beaten(upstream)
    acknowledged = [step for life in siege.lives for step in life.acknowledged]
    unanswered = [step for life in siege.lives for step in life.unanswered]
    print(
        f"\nseed {SEED}: {siege.cuts.total()} cuts {dict(siege.cuts)} with {dict(siege.troubles)} "
        f"killed, {siege.takeovers} takeovers and {siege.late} that came too late, "
        f"{len(acknowledged)} beats acknowledged, {landed.total()} landed, "
        f"{kept.total()} refused and kept; "
        f"failures {dict(sum((life.failures for life in siege.lives), Counter()))}"
    )
    assert len(acknowledged) == len(set(acknowledged)) > 20
    assert siege.takeovers > 0
    counts = [(step, landed[step], kept[step]) for step in acknowledged]
    assert [each for each in counts if each[1] + each[2] != 1] == []
    assert [step for step in unanswered if landed[step] + kept[step] > 1] == []
    for agent, owner in siege.owners.items():
        assert not owner.is_lost, agent
        assert [step for step in owner.acknowledged if landed[step] != 1] == []
