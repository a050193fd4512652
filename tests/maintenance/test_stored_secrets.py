"""What was stored before a rule of redaction existed is found by `doctor`, and redacted by `doctor --fix`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock, config, failures, trust
from holdfast.kernel.redact import Redactor
from holdfast.kernel.streams import rules_of
from holdfast.kernel.workspace import discover
from holdfast.kernel.writer import Writer
from tests.cli.conftest import Holdfast
from tests.kernel.secret_forms import GITHUB, MIXED

pytestmark = pytest.mark.usefixtures("repository")

SECRET = MIXED[:36]


class OlderRules(Redactor):
    """As a version redacted that did not know these secrets."""

    def value(self, body: Any, serialised: str) -> Any:
        return body

    def text(self, text: str) -> str:
        return text


def write_under_older_rules(stream: str, command: Any) -> None:
    workspace = discover()
    Writer(workspace, rules_of, OlderRules()).execute(stream, command, actor="ada", now=clock.now())
    workspace.close()


def files_with_the_secret() -> list[Path]:
    discover().close()
    return [
        file
        for file in Path().rglob("*")
        if file.is_file() and SECRET.encode() in file.read_bytes()
    ]


def find_check(holdfast: Holdfast, *words: str) -> dict[str, str]:
    answered = holdfast("doctor", "--json", *words)
    assert SECRET not in answered.out + answered.err, "doctor never shows the secret"
    (check,) = (one for one in answered.data["checks"] if one["id"] == "secrets")
    return dict(check)


def test_a_note_from_before_the_rule_is_found_and_redacted(
    holdfast: Holdfast,
) -> None:
    write_under_older_rules("note:default", {"add": f"deploy with {GITHUB} today", "by": "ada"})
    holdfast("note", "harmless")
    failures.note(discover(), "stop", "could not read HERE", clock.now())
    (file,) = Path().rglob(failures.NAME)
    file.write_text(file.read_text().replace("HERE", GITHUB))
    assert files_with_the_secret()

    found = find_check(holdfast)
    assert found["status"] == "warning"
    assert "github-token" in found["what"]
    assert found["fix"] == "holdfast doctor --fix"
    assert files_with_the_secret(), "without --fix nothing changes"

    fixed = find_check(holdfast, "--fix")
    assert fixed["status"] == "ok"
    assert "redacted" in fixed["fixed"]
    assert files_with_the_secret() == []
    assert "deploy with [redacted:github-token] today" in Path(".notes/default.md").read_text()
    assert "harmless" in Path(".notes/default.md").read_text()
    assert holdfast("verify").code == 0
    assert "erased" in holdfast("history").out
    assert find_check(holdfast)["what"] == "What is stored was redacted with the rules of today"
    assert holdfast("note", "goes on").code == 0
    assert "goes on" in Path(".notes/default.md").read_text()


def test_a_clean_journal_is_looked_at_once(holdfast: Holdfast) -> None:
    holdfast("note", "harmless")
    assert find_check(holdfast)["what"] == "Nothing that is stored looks like a secret"
    assert find_check(holdfast)["what"] == "What is stored was redacted with the rules of today"


def test_a_rule_of_the_users_own_makes_doctor_look_again(holdfast: Holdfast) -> None:
    holdfast("note", "badge 123456 of ada")
    find_check(holdfast)
    Path("holdfast.toml").write_text("[redact.rules]\nbadge = 'badge [0-9]{6}'\n")
    workspace = discover()
    words = trust.words_of(config.untrusted_in(workspace, config.from_file(workspace, None)))
    trust.trust(workspace, words, clock.precise(clock.now()))
    found = find_check(holdfast)
    assert found["status"] == "warning"
    assert "badge 1" in found["what"]


def test_what_people_decided_waits_for_a_person(holdfast: Holdfast) -> None:
    write_under_older_rules(
        "stop:workspace", {"do": "stop", "reason": f"leaked {GITHUB}", "by": "ada"}
    )
    assert find_check(holdfast, "--fix")["status"] == "warning"
    assert "Only a person" in find_check(holdfast, "--fix")["why"]
    assert files_with_the_secret()
