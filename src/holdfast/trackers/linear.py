"""Linear, by GraphQL: a comment with an id of our own choosing.

Linear takes a comment's id from the client. Ours follows from the key, so sixteen writers at
once, or one whose answer was lost, all mean the same comment:

    update -> not found -> create -> conflict -> update

A stored id counts where it is one of ours for this very issue, or where it leads to a status comment on it,
which another tool made. Any other may be a comment of the user's about something else.

When update says "not found" and create says "conflict", twice, a person has deleted the comment
and Linear does not give the id out again; the next generation's id is then tried.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from holdfast.kernel.digest import digest
from holdfast.trackers import port
from holdfast.trackers.http import Answer, Key, request
from holdfast.trackers.port import (
    NOT_FOUND,
    REFUSED,
    CommentReceipt,
    TrackerError,
    make_key_error,
    rate_limited,
    report_line,
    web_address,
)

LIMIT_FAMILIES = ("x-ratelimit-requests", "x-ratelimit-complexity", "x-ratelimit-endpoint-requests")
# The types of error, of those that Linear's SDK names, that pass by themselves.
PASSING_TYPES = frozenset(
    {"internal error", "lock timeout", "network error", "bootstrap error", "other", "unknown"}
)
ADDRESS = "https://api.linear.app/graphql"
GENERATIONS = 4  # so many are tried in one call
MOST_GENERATIONS = 100
ROUNDS = 2
OAUTH_PREFIX = "lin_oauth_"
ISSUE = """
query Issue($id: String!) { issue(id: $id) { id identifier parent { id identifier } } }
"""
CREATE = """
mutation Create($input: CommentCreateInput!) {
  commentCreate(input: $input) { success comment { id url issue { identifier } } }
}
"""
COMMENT = """
query Comment($id: String!) { comment(id: $id) { id body issue { id } } }
"""
UPDATE = """
mutation Update($id: String!, $input: CommentUpdateInput!) {
  commentUpdate(id: $id, input: $input) { success comment { id url issue { identifier } } }
}
"""


class Taken(TrackerError):
    """The chosen id is in use: another writer, or we ourselves, made the comment."""


def failure_of(answer: Answer) -> TrackerError:
    """The error to raise for an answer that holds no result."""
    errors = _errors(answer)
    if answer.status == 429 or any(_is_limit(error) for error in errors):
        resets = port.list_resets(answer.headers, LIMIT_FAMILIES, milliseconds=1)
        return rate_limited(port.wait_seconds(answer.headers, resets))
    if answer.status == 401 or any(_is_authentication(error) for error in errors):
        return make_key_error("LINEAR_API_KEY")
    if answer.status >= 500:
        return TrackerError(f"HTTP {answer.status}")
    for error in errors:
        return _from_body(error, answer.status)
    if answer.status == 404:
        return TrackerError("HTTP 404", kind=NOT_FOUND)
    if answer.status >= 300:
        return TrackerError(f"HTTP {answer.status}", kind=REFUSED)
    if not answer.is_json:
        return TrackerError("the answer is not JSON")
    return TrackerError("the answer is not what was asked for")


def _errors(answer: Answer) -> list[dict[str, Any]]:
    found = answer.document.get("errors") if isinstance(answer.document, dict) else None
    return [error for error in found if isinstance(error, dict)] if isinstance(found, list) else []


def _from_body(error: dict[str, Any], status: int) -> TrackerError:
    message = report_line(error.get("message", "")) or "no reason given"
    cause = message if status < 300 else f"HTTP {status}: {message}"
    lowered = message.lower()
    if lowered.startswith("entity not found"):
        return TrackerError(message, kind=NOT_FOUND)
    if lowered.startswith("conflict on insert of comment"):
        return Taken(message, kind=REFUSED)
    if _extension(error, "type") in PASSING_TYPES:
        return TrackerError(cause)
    return TrackerError(cause, kind=REFUSED)


def _is_limit(error: dict[str, Any]) -> bool:
    return (
        _extension(error, "code") == "ratelimited"
        or _extension(error, "type") == "ratelimited"
        or _extension(error, "statusCode") == "429"
    )


def _is_authentication(error: dict[str, Any]) -> bool:
    return (
        _extension(error, "code") == "authentication_error"
        or _extension(error, "type") == "authentication error"
    )


def _extension(error: dict[str, Any], name: str) -> str:
    extensions = error.get("extensions")
    return str(extensions.get(name, "")).lower() if isinstance(extensions, dict) else ""


class Linear:
    """The comments of a Linear workspace."""

    name = "Linear"

    def __init__(self, key: Key, address: str = ADDRESS) -> None:
        self._key = key
        self._address = address

    def upsert(
        self, issue: str, body: str, *, comment: str, key: str, deadline: float
    ) -> CommentReceipt:
        """Edit the stored comment; where it is gone or was never made, make one."""
        call = _LinearCall(self._key, self._address, body, deadline)
        target, identifier = call.target(issue)
        generations = _generations(key, target, comment)
        is_ours = comment == comment_id(key, target, generations[0])
        if is_ours or (comment and call.is_status_comment(comment, target)):
            edited = call.update(comment)
            if edited is not None:
                return _receipt(edited, issue, created=False)
        for generation in generations:
            chosen = comment_id(key, target, generation)
            for _ in range(ROUNDS):
                made = call.create(chosen, target)
                if made is not None:
                    return _receipt(made, identifier, created=True)
                edited = call.update(chosen)
                if edited is not None:
                    return _receipt(edited, identifier, created=False)
        raise TrackerError("Linear gives out none of the comment's ids")


def comment_id(key: str, issue: str, generation: int) -> str:
    """A UUID of version 4, as Linear wants it, that follows from whose comment it is."""
    text = "\0".join((key, issue, str(generation)))
    return str(uuid.UUID(bytes=digest(text.encode("utf-8", "replace"))[:16], version=4))


def _generations(key: str, issue: str, stored: str) -> range:
    """From the stored comment's generation on: the ones before it are gone already."""
    for generation in range(MOST_GENERATIONS):
        if comment_id(key, issue, generation) == stored:
            return range(generation, generation + GENERATIONS)
    return range(GENERATIONS)


def _receipt(comment: dict[str, Any], issue: str, *, created: bool) -> CommentReceipt:
    found = comment.get("issue") or {}
    return {
        "comment": comment["id"],
        "issue": report_line(found.get("identifier") or issue),
        "created": created,
        "url": web_address(comment.get("url")),
    }


@dataclass(frozen=True)
class _LinearCall:
    """The requests of one upsert, which share their body and their deadline."""

    key: Key
    address: str
    body: str
    deadline: float

    def target(self, issue: str) -> tuple[str, str]:
        """Id and identifier of the issue that gets the comment: a sub-issue's parent."""
        answer = self._ask(ISSUE, {"id": issue})
        document = answer.document
        # With errors the data may be partial, and a parent that could not be read is not absent.
        if not isinstance(document, dict) or document.get("errors") or not document.get("data"):
            raise failure_of(answer)
        try:
            found = document["data"]["issue"]
            chosen = found["parent"] or found
            return str(chosen["id"]), str(chosen["identifier"])
        except (KeyError, TypeError):
            raise TrackerError("the answer is not what was asked for") from None

    def is_status_comment(self, id: str, issue: str) -> bool:
        """Return whether a comment that another tool stored is the status comment of this issue. Where Linear
        does not say, its answer to the update decides."""
        answer = self._ask(COMMENT, {"id": id})
        try:
            found = answer.document["data"]["comment"]
            return port.is_status(found["body"]) and found["issue"]["id"] == issue
        except (KeyError, TypeError):
            failure = failure_of(answer)
        if failure.retryable and (answer.status >= 300 or _errors(answer)):
            raise failure
        return failure.kind != NOT_FOUND

    def create(self, id: str, issue: str) -> dict[str, Any] | None:
        """The comment, or nothing when the id is taken."""
        wanted = {"id": id, "issueId": issue, "body": self.body, "doNotSubscribeToIssue": True}
        try:
            return self._change("commentCreate", CREATE, {"input": wanted})
        except Taken:
            return None

    def update(self, id: str) -> dict[str, Any] | None:
        """The comment, or nothing when there is none with this id."""
        try:
            return self._change("commentUpdate", UPDATE, {"id": id, "input": {"body": self.body}})
        except TrackerError as error:
            if error.kind == NOT_FOUND:
                return None
            raise

    def _change(self, name: str, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        answer = self._ask(query, variables)
        try:
            payload = answer.document["data"][name]
            comment = payload["comment"]
            # Errors beside a whole payload concern what we can do without, such as the link.
            if payload["success"] is True and isinstance(comment["id"], str) and comment["id"]:
                return dict(comment)
        except (KeyError, TypeError):
            pass
        raise failure_of(answer)

    def _ask(self, query: str, variables: dict[str, Any]) -> Answer:
        # A personal key stands alone; with "Bearer" in front Linear refuses it.
        scheme = "Bearer " if self.key.reveal().startswith(OAUTH_PREFIX) else ""
        return request(
            "POST",
            self.address,
            key=self.key,
            scheme=scheme,
            deadline=self.deadline,
            document={"query": query, "variables": variables},
        )
