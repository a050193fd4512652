"""A person's SSH signature, with the real ssh-keygen: what counts, and what does not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.budgets import alerts
from holdfast.budgets.check import Budget
from holdfast.gates import lookup
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.kernel import clock, latch
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.rules import Person
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace, discover
from tests.cli.conftest import Holdfast
from tests.gates.person import QUESTION, Seen, Terminal
from tests.trusting import trust_settings

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None,
    reason="There is no ssh-keygen: signed answers were NOT tried.",
)
LOOK = ("gate", "verify", "--built", "Dashboard", "--how", "Cards show data")
PASSPHRASE = "correct horse"


class Keys:
    """A signer, a key that is none, and the settings that ask for signatures."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder = folder
        self.repository = repository
        self.own = self.make("own")
        self.signers = folder / "allowed_signers"
        public = self.own.with_suffix(".pub").read_text().split()
        self.signers.write_text(f'ada namespaces="holdfast" {public[0]} {public[1]}\n')
        self.use(self.own)

    def make(self, name: str, passphrase: str = "") -> Path:
        path = self.folder / name
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(path)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        return path

    def allow(self, key: Path) -> None:
        public = key.with_suffix(".pub").read_text().split()
        with self.signers.open("a") as file:
            file.write(f"{key.name} {public[0]} {public[1]}\n")

    def use(self, key: Path) -> None:
        text = f'[gate]\nsigners = "{self.signers}"\nkey = "{key}"\n'
        (self.repository / "holdfast.toml").write_text(text)
        trust_settings(discover(str(self.repository)))


@pytest.fixture
def keys(tmp_path: Path, repository: Path) -> Keys:
    folder = tmp_path / "keys"
    folder.mkdir()
    return Keys(folder, repository)


@pytest.fixture
def workspace(repository: Path) -> Workspace:
    return discover(str(repository))


def person(*words: str, then: bytes = b"") -> Seen:
    terminal = Terminal(*words)
    terminal.type_back()
    if then:
        terminal.type(then)
    return terminal.leave()


def forged(workspace: Workspace, id: str, who: Person, text: str = "approved") -> None:
    """A record that an attacker makes with our own code: well-formed, in the chain, from no person."""
    command = {"do": "answer", "answer": text, "no": False, "note": "", "saw": "", "person": who}
    order = Order(rules.stream_of(id), command)
    commit(open_writer(workspace), [order], actor="ada", now=clock.now())


def is_open(id: str) -> bool:
    return rules.is_open(lookup.read(discover(), id))


def test_a_signed_answer_counts_and_is_kept(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast(*LOOK, "--name", "dash").code == 0
    seen = person("gate", "answer", "dash", "approved")
    assert seen.code == 0, seen.screen
    answer = lookup.read(workspace, "dash")["answer"]
    assert answer is not None
    assert answer["person"] is not None
    assert answer["person"]["signer"] == "ada"
    assert answer["person"]["signature"].startswith("-----BEGIN SSH SIGNATURE-----")
    assert "Cards show data" in answer["person"]["signed"], "the question as it was shown"
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 0
    assert holdfast("verify").code == 0


def test_a_key_behind_a_passphrase_asks_on_the_terminal(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    locked = keys.make("locked", PASSPHRASE)
    keys.allow(locked)
    keys.use(locked)
    assert holdfast(*LOOK, "--name", "dash").code == 0
    terminal = Terminal("gate", "answer", "dash", "approved")
    terminal.type_back()
    terminal.read_until(re.compile(rb"passphrase"))
    terminal.type(PASSPHRASE.encode() + b"\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert not is_open("dash")

    assert holdfast(*LOOK, "--name", "other").code == 0
    terminal = Terminal("gate", "answer", "other", "approved")
    terminal.read_until(QUESTION)
    terminal.type_back()
    terminal.read_until(re.compile(rb"passphrase"))
    terminal.type(b"wrong\n")
    assert terminal.leave().code == 4
    assert is_open("other")


def test_a_key_that_is_no_signers_answers_nothing(keys: Keys, holdfast: Holdfast) -> None:
    keys.use(keys.make("stranger"))
    assert holdfast(*LOOK, "--name", "dash").code == 0
    seen = person("gate", "answer", "dash", "approved")
    assert seen.code == 4
    assert "not one of the signers" in seen.screen
    assert is_open("dash")


def test_an_answer_without_a_signature_counts_for_no_reader(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast(*LOOK, "--name", "dash").code == 0
    who = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at="2026-11-15T12:00:00Z")
    forged(workspace, "dash", who)
    assert is_open("dash")
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 8
    assert "does not count" in holdfast("gate", "show", "dash").out
    (_, gate) = list(lookup.every_gate(workspace)), lookup.read(workspace, "dash")
    assert gate["answer"] is None
    assert lookup.answered_since(workspace, "", limit=5) == []
    # Asked again, it is a new gate, which a person can answer.
    assert holdfast(*LOOK, "--name", "dash").code == 0
    assert person("gate", "answer", "dash", "approved").code == 0
    assert not is_open("dash.2")


def test_a_signature_is_not_replayed_for_another_gate_or_answer(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    for name in ("dash", "other"):
        assert holdfast(*LOOK, "--name", name).code == 0
    assert person("gate", "answer", "dash", "The sidebar is gone").code == 0
    answer = lookup.read(workspace, "dash")["answer"]
    assert answer is not None
    stolen = Person(answer["person"] or {})
    forged(workspace, "other", stolen, "The sidebar is gone")
    assert is_open("other"), "the same question, but another gate"
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 9
    assert holdfast(*LOOK, "--name", "dash").code == 0
    forged(workspace, "dash.2", stolen, "approved")
    assert is_open("dash.2"), "the same gate's next round, and another answer"


def test_a_question_that_was_changed_is_not_what_was_signed(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast(*LOOK, "--name", "dash").code == 0
    assert person("gate", "answer", "dash", "approved").code == 0
    state = lookup.read_recorded(workspace, "dash")
    assert lookup.drop_uncounted(workspace, state)["answer"] is not None
    assert state["content"] is not None
    changed = {**state, "content": {**state["content"], "title": "Delete the production data"}}
    assert lookup.drop_uncounted(workspace, changed)["answer"] is None  # type: ignore[arg-type]
    answer = state["answer"]
    assert answer is not None
    other = {**state, "answer": {**answer, "verdict": "yes", "text": "and deploy it"}}
    assert lookup.drop_uncounted(workspace, other)["answer"] is None  # type: ignore[arg-type]
    keys.signers.write_text("")
    assert lookup.drop_uncounted(workspace, state)["answer"] is None, "a signer who was taken out"


def test_a_release_needs_a_signature(keys: Keys, holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("estop", "--reason", "enough").code == 0
    who = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at="2026-11-15T12:00:00Z")
    order = Order("stop:workspace", {"do": "release", "reason": "", "by": who})
    commit(open_writer(workspace), [order], actor="ada", now=clock.now())
    latch.release(workspace)
    assert holdfast("status").code == 0
    assert latch.read(workspace) is not None, "the stop holds, and its latch is back"
    seen = person("release")
    assert seen.code == 0, seen.screen
    assert latch.read(workspace) is None
    assert holdfast("status").code == 0
    assert latch.read(workspace) is None


def test_an_acknowledgment_and_a_lifted_stop_need_a_signature(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    who = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at="2026-11-15T12:00:00Z")
    budget = Budget(workspace, actor="x")
    budget.execute(
        {"do": "ack", "type": "cost", "until": None, "by": who, "session": "s1"}, now=clock.now()
    )
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    assert "cost" in budget.state()["pending"]
    seen = person("guard", "ack", "cost", then=b"ack\n")
    assert seen.code == 0, seen.screen
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 0

    assert holdfast("guard", "check", "--cost", "52", "--session", "s1").code == 7
    reset = {"do": "reset", "by": who, "given": {"stop": {"cost": 900.0}}, "forgiven": {}}
    budget.execute(reset, now=clock.now())
    latch.release(workspace)
    assert budget.in_force().limits["stop"]["cost"] == 50
    assert holdfast("guard", "check", "--cost", "53", "--session", "s1").code == 7
    assert latch.read(workspace) is not None
    seen = person("guard", "reset", "--limit", "stop.cost=80")
    assert seen.code == 0, seen.screen
    assert budget.in_force().limits["stop"]["cost"] == 80
    assert holdfast("guard", "check", "--cost", "53", "--session", "s1").code == 8


@pytest.mark.parametrize("way", ["removed", "another file", "no settings at all"])
def test_an_agent_that_takes_the_setting_out_changes_nothing(
    keys: Keys, holdfast: Holdfast, workspace: Workspace, repository: Path, way: str
) -> None:
    """The user's own folder remembers that people sign here."""
    for name in ("dash", "later"):
        assert holdfast(*LOOK, "--name", name).code == 0
    assert person("gate", "answer", "dash", "approved").code == 0
    assert "gate.signers" not in holdfast("status").out
    settings = repository / "holdfast.toml"
    other = keys.folder / "agents"
    other.write_text("")
    if way == "removed":
        settings.write_text("[session]\nstale_hours = 7\n")
    elif way == "another file":
        settings.write_text(f'[gate]\nsigners = "{other}"\n')
    else:
        settings.unlink()
    forged(workspace, "later", Person(name="ada", channel="terminal", terminal="x", at=""))
    assert rules.is_open(lookup.read(discover(), "later")), "it counts for no reader"
    assert lookup.read(discover(), "dash")["answer"] is not None, "what was signed counts"
    assert "gate.signers was changed by no person" in holdfast("status").out
    assert str(keys.signers) in holdfast("trust", "--show").out
    assert holdfast("trust").code == 4, "no agent says so"
    assert person("trust").code == 0
    assert "gate.signers" not in holdfast("status").out
    assert rules.is_open(lookup.read(discover(), "later")) == (way == "another file")


def test_the_page_and_a_dialogue_cannot_sign(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    from holdfast.gates.answer import AnswerRequest, answer
    from holdfast.kernel.errors import NotAllowed
    from tests.gates.person import at_page

    assert holdfast(*LOOK, "--name", "dash").code == 0
    request = AnswerRequest(gate="dash", text="approved", person=at_page("x", now=clock.now()))
    with pytest.raises(NotAllowed, match="only a terminal can make one") as refused:
        answer(GateContext(workspace, "x", clock.now()), request)
    assert "type: holdfast gate answer dash approved" in refused.value.hint


def test_an_agent_with_a_home_of_its_own_is_asked_for_the_same_signatures(
    keys: Keys, holdfast: Holdfast, workspace: Workspace, tmp_path: Path
) -> None:
    assert holdfast(*LOOK, "--name", "first").code == 0
    assert person("gate", "answer", "first", "approved").code == 0
    assert holdfast(*LOOK, "--name", "second").code == 0
    who = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at="2026-11-15T12:00:00Z")
    forged(workspace, "second", who)
    own = {name: str(tmp_path / "agent") for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    for environment in (own, {**own, "HOLDFAST_GATE_SIGNERS": ""}):
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "gate", "wait", "second", "--timeout", "0"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 8, done.stdout


def test_an_acknowledgment_without_a_signature_frees_no_agent(
    keys: Keys, holdfast: Holdfast, workspace: Workspace
) -> None:
    """Its record ends the alert's file; the next command sets it again."""
    assert holdfast("guard", "check", "--cost", "30", "--session", "s1").code == 8
    who = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at="2026-11-15T12:00:00Z")
    command = {"do": "ack", "type": "cost", "until": None, "by": who, "session": "s1"}
    Budget(workspace, actor="ada").execute(command, now=clock.now())
    assert not alerts.read(workspace, "s1")
    holdfast("status")
    assert alerts.read(workspace, "s1")
