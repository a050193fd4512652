"""Clients' questions on the page: those that wait, and one with the buttons to answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdfast.answers.answer import (
    ReplyRequest,
    find_question,
    list_open,
    read,
    refused_attempts,
    reply_to,
)
from holdfast.answers.rules import questions as rules
from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.workspace import worktrees
from holdfast.web.table import Ask, Page, PageChange, Pages
from holdfast.web.work_tree import compare_with_commit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.answers.rules.questions import Question
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.web.table import PageContext
    from holdfast.web.workspaces import ServedWorkspace

PATH = "/w/{workspace}/questions/{id}"


def gather(page: PageContext) -> dict[str, Any]:
    """Return one question: what is asked, for which request, and what changed so far."""
    question = find_question(page.place.workspace, page.words["id"], now=page.now)
    return _show(page, page.place, question)


def gather_newest(page: PageContext) -> dict[str, Any]:
    """Return the newest question of a session, in whichever workspace it is: notifications lead here."""
    found: list[tuple[ServedWorkspace, Question]] = []

    def take(place: ServedWorkspace) -> None:
        state = read(place.workspace)
        known = (*state["open"], *state["settled"])
        found.extend((place, one) for one in known if one["session"] == page.words["id"])

    page.read_all(take)
    if not found:
        raise NotFound(
            "No client waits for this answer here.",
            hint="Look at its own terminal, or at the board.",
        )
    place, question = max(found, key=lambda one: one[1]["at"])
    question = find_question(place.workspace, question["id"], now=page.now)
    return _show(page, place, question)


def _show(page: PageContext, place: ServedWorkspace, question: Question) -> dict[str, Any]:
    workspace = place.workspace
    return {
        **question,
        "workspace": place.key,
        "title": title_of(question["client"]),
        "shown": rules.digest_of(question),
        "outcome": rules.outcome_of(question),
        "request": _find_request(page, place, question["session"]),
        "changed": compare_with_commit(question["worktree"], worktrees(workspace)),
        "refused": refused_attempts(workspace, question["id"]),
    }


def _find_request(page: PageContext, place: ServedWorkspace, session: str) -> str:
    """Return what the person asked this session for last; empty before its transcript was read."""
    try:
        view = page.meter.session(place.root, session, recorded=False)
    except (HoldfastError, OSError):
        return ""
    seen = (view.observed or {}).get("seen", {}) if view is not None else {}
    return str((seen.get("request") or {}).get("text", ""))


def list_questions(place: ServedWorkspace, page: PageContext) -> list[dict[str, Any]]:
    """Return the questions of clients that wait and can be answered here."""
    return [
        {**one, "title": title_of(one["client"])} for one in list_open(place.workspace, page.now)
    ]


def answer_question(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    """`answer` is the button: `allow`, `deny` with a note that says why, `choose`, `choose-N`, or `leave`. `shown` is the digest of
    what the page showed."""
    now = clock.parse(person["at"])
    verdict, _, option = words.get("answer", "").partition("-")
    note = words.get("note", "").replace("\r\n", "\n").strip()
    question = find_question(workspace, words["id"], now=now)
    if verdict == rules.DENY and not note:
        raise Usage("Why not?", hint="Write it into the field: the agent reads it.")
    request = ReplyRequest(
        question=question["id"],
        verdict=verdict,
        text=note if verdict == rules.DENY else "",
        chosen=_read_chosen(question, words, option) if verdict == rules.CHOOSE else (),
        person=person,
        shown=words.get("shown", ""),
    )
    answered = reply_to(workspace, request, now=now)
    return PATH.format(workspace=quote(words["workspace"], safe=""), id=answered["id"])


def _read_chosen(question: Question, words: Mapping[str, str], option: str) -> list[list[str]]:
    """Return what the form says for each of the agent's questions: the `option` of the button, the fields of those that
    were chosen, by their numbers, or the person's own words."""
    chosen = []
    for number, choice in enumerate(question["choices"]):
        wanted = {words.get(f"choice-{number}", option)}
        wanted |= {
            str(at) for at in range(len(choice["options"])) if f"choice-{number}-{at}" in words
        }
        labels = [one["label"] for at, one in enumerate(choice["options"]) if str(at) in wanted]
        own = words.get(f"own-{number}", "").strip()
        chosen.append([own] if own and not option else labels)
    return chosen


PAGES = Pages(
    pages=(Page("question", PATH, gather), Page("waiting", "/waits/{id}", gather_newest)),
    changes=(PageChange(PATH, rules.purpose_of("{id}"), answer_question),),
    asks=(Ask("questions", list_questions, rank=5),),
)
