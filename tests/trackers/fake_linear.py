"""Linear on this machine: graphql-core over the slice of Linear's own schema.

Requests are validated against the schema and answers are completed by it, so neither side can
say what Linear's types do not allow. Errors have the envelopes that Linear sends.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, execute, parse, validate
from graphql.execution import ExecutionResult

from tests.trackers.fake_server import FakeServer, Reply, Request

# Put together here so that nothing that looks for leaked keys stumbles over the file.
LINEAR_KEY = "lin_api_" + "0123456789abcdef" * 2
LINEAR_OAUTH_TOKEN = "lin_oauth_" + "0123456789abcdef" * 2
SCHEMA = Path(__file__).parent / "schemas" / "linear.graphql"
NOW = "2026-11-15T19:11:30.000Z"


@dataclass
class Comment:
    """A comment as Linear keeps it."""

    id: str
    issue: str
    body: str


class FakeLinear(FakeServer):
    """Issues, some with a parent, and their comments."""

    def __init__(self) -> None:
        self.issues: dict[str, str] = {}
        self.comments: dict[str, Comment] = {}
        self.deleted: set[str] = set()
        self.writes: list[tuple[str, str]] = []
        self.deleted_ids_are_free = False
        self.error_status = 200
        self.key = LINEAR_KEY
        self.add_issue("ENG-12")
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self.origin}/graphql"

    def settings(self) -> dict[str, Any]:
        """The settings that lead a tracker here."""
        return {"tracker.kind": "auto", "tracker.linear_url": self.url}

    def environment(self) -> dict[str, str]:
        """The variables that let it in."""
        return {"LINEAR_API_KEY": self.key}

    def add_issue(self, identifier: str, *, parent: str = "") -> None:
        self.issues[identifier] = parent

    def delete_comment(self, id: str) -> None:
        """As a person does it in the app."""
        del self.comments[id]
        self.deleted.add(id)

    def on(self, issue: str) -> list[Comment]:
        """The comments of an issue."""
        with self.lock:
            return [comment for comment in self.comments.values() if comment.issue == issue]

    def word(self, request: Request) -> str:
        query = str((request.document or {}).get("query", ""))
        words = ("commentCreate", "commentUpdate", "issue")
        return next((word for word in words if word in query), "")

    def answer(self, request: Request) -> Reply:
        if request.method != "POST" or request.path != "/graphql":
            return Reply(404)
        bearer = "Bearer " if self.key.startswith("lin_oauth_") else ""
        if request.headers.get("authorization") != bearer + self.key:
            error = _error(
                "Authentication required", "authentication error", "AUTHENTICATION_ERROR"
            )
            return Reply(401, {"errors": [error.formatted]})
        tree = parse(request.document["query"])
        errors = validate(schema(), tree)
        assert not errors, errors
        root = {
            "issue": self._issue,
            "comment": self._comment,
            "commentCreate": self._create,
            "commentUpdate": self._update,
        }
        result = execute(schema(), tree, root, variable_values=request.document["variables"])
        assert isinstance(result, ExecutionResult)
        for problem in result.errors or ():
            assert problem.extensions, problem  # ours have a code; the schema's complaints none
        return Reply(self.error_status if result.errors else 200, result.formatted)

    def _issue(self, info: object, id: str) -> dict[str, Any]:
        for identifier, parent in self.issues.items():
            if id in (identifier, issue_uuid(identifier)):
                return {
                    "id": issue_uuid(identifier),
                    "identifier": identifier,
                    "title": f"The work of {identifier}",
                    "url": f"https://linear.app/example/issue/{identifier}",
                    "parent": self._issue(info, parent) if parent else None,
                }
        raise _error("Entity not found: Issue")

    def _create(self, info: object, input: dict[str, Any]) -> dict[str, Any]:
        issue = self._issue(info, input["issueId"])["identifier"]
        id = input.get("id") or str(uuid.uuid4())
        parsed = uuid.UUID(id)
        if parsed.version != 4 or str(parsed) != id:
            raise _error("Argument Validation Error", code="INVALID_INPUT")
        if id in self.comments or (id in self.deleted and not self.deleted_ids_are_free):
            raise _error("conflict on insert of Comment")
        self.comments[id] = Comment(id, issue, input["body"])
        self.writes.append(("create", id))
        return self._payload(info, id)

    def _update(self, info: object, id: str, input: dict[str, Any]) -> dict[str, Any]:
        if id not in self.comments:
            raise _error("Entity not found: Comment")
        self.comments[id].body = input["body"]
        self.writes.append(("update", id))
        return self._payload(info, id)

    def _comment(self, info: object, id: str) -> dict[str, Any]:
        if id not in self.comments:
            raise _error("Entity not found: Comment")
        comment = self.comments[id]
        return {
            "id": id,
            "body": comment.body,
            "url": f"https://linear.app/example/issue/{comment.issue}#comment-{id[:8]}",
            "issue": self._issue(info, comment.issue),
            "createdAt": NOW,
            "updatedAt": NOW,
        }

    def _payload(self, info: object, id: str) -> dict[str, Any]:
        shown = self._comment(info, id)
        return {"success": True, "lastSyncId": float(len(self.writes)), "comment": shown}


@cache
def schema() -> GraphQLSchema:
    """The slice, built once: it costs as much as thirty requests."""
    return build_schema(SCHEMA.read_text("utf-8"))


def issue_uuid(identifier: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, identifier))


def _error(message: str, type: str = "invalid input", code: str = "INPUT_ERROR") -> GraphQLError:
    extensions = {
        "type": type,
        "code": code,
        "statusCode": 400,
        "userError": True,
        "userPresentableMessage": message,
    }
    return GraphQLError(message, extensions=extensions)
