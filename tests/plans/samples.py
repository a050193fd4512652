"""Plan files to test with: the protocol's own example, and small ones made by their parts."""

from __future__ import annotations

from typing import Any

from holdfast.plans.rules import document
from holdfast.plans.rules.model import Document, Plan

AUTO = """\
<task type="auto">
  <name>Build {number}</name>
  <action>Build part {number}</action>
  <run>true</run>
</task>
"""
INTEGRATION = """\
---
phase: 3
plan: 06
wave: 3
autonomous: false
checkpoint:
  type: human-verify
  after_task: 4
  what: "Integration tests pass, dashboard functional"
depends_on: ["04", "05"]
---
""" + "".join(AUTO.format(number=number) for number in range(1, 7))
DECISION = """\
<task type="checkpoint:decision" gate="blocking"{attributes}>
  <decision>Where sessions are kept</decision>
  <context>Sign-in needs them.</context>
  <options>
    <option id="redis"><name>Redis</name><pros>Fast</pros><cons>One more server</cons></option>
    <option id="table"><name>A table</name><pros>Nothing new</pros><cons>Slower</cons></option>
  </options>
  <resume-signal>Select: redis or table</resume-signal>
</task>
"""


def text(body: str = "", *, tasks: int = 1, **fields: Any) -> str:
    """A plan file. Fields are YAML as it is to stand there; `None` leaves one out."""
    head = {"phase": "1", "plan": "01", "autonomous": "true", **fields}
    lines = [f"{name}: {value}" for name, value in head.items() if value is not None]
    written = body or "".join(AUTO.format(number=number) for number in range(1, tasks + 1))
    return "\n".join(["---", *lines, "---", "", written])


def plan(body: str = "", **fields: Any) -> Plan:
    return document.read(text(body, **fields), "plan.md")


def examined(body: str = "", *, path: str = "plan.md", **fields: Any) -> Document:
    return document.examine(text(body, **fields), path)
