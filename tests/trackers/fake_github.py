"""GitHub on this machine: request and answer are checked against GitHub's own OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.trackers import openapi
from tests.trackers.fake_server import FakeServer, Reply, Request

GITHUB_TOKEN = "ghp_" + "0123456789abcdef" * 2 + "0123"
REPOSITORY = "example/widgets"
DOCUMENTATION = "https://docs.github.com/rest"
OURSELVES, A_STRANGER = 1, 2


@dataclass
class Comment:
    """A comment as GitHub keeps it."""

    id: int
    repository: str
    issue: int
    body: str
    author: int


class FakeGitHub(FakeServer):
    """One repository with issues and comments; others with `add_issue`."""

    def __init__(self) -> None:
        self.issues: dict[tuple[str, int], tuple[str, int] | None] = {(REPOSITORY, 12): None}
        self.gone: set[tuple[str, int]] = set()
        self.comments: dict[int, Comment] = {}
        self.writes: list[tuple[str, int]] = []
        self.has_sub_issues = True
        self._last_id = 1000
        super().__init__()

    @property
    def url(self) -> str:
        return self.origin

    def settings(self) -> dict[str, Any]:
        """The settings that lead a tracker here."""
        return {
            "tracker.kind": "auto",
            "tracker.github_url": self.url,
            "tracker.github_repository": REPOSITORY,
        }

    def environment(self) -> dict[str, str]:
        """The variables that let it in."""
        return {"GITHUB_TOKEN": GITHUB_TOKEN}

    def add_issue(
        self, number: int, repository: str = REPOSITORY, *, parent: tuple[str, int] | None = None
    ) -> None:
        self.issues[repository, number] = parent

    def add_comment(self, number: int, body: str, author: int = A_STRANGER) -> Comment:
        """As a person does it on the page."""
        with self.lock:
            self._last_id += 1
            comment = Comment(self._last_id, REPOSITORY, number, body, author)
            self.comments[comment.id] = comment
            return comment

    def on(self, number: int, repository: str = REPOSITORY) -> list[Comment]:
        """The comments of an issue, oldest first."""
        with self.lock:
            return [
                comment
                for comment in self.comments.values()
                if (comment.repository, comment.issue) == (repository, number)
            ]

    def answer(self, request: Request) -> Reply:
        address = urlsplit(request.path)
        found = openapi.operation(request.method, address.path)
        if found is None:
            return Reply(404, _basic("Not Found"))
        operation, parameters = found
        if request.headers.get("authorization") != f"Bearer {GITHUB_TOKEN}":
            return Reply(401, _basic("Bad credentials"))
        assert request.headers.get("accept") == "application/vnd.github+json"
        assert request.headers.get("user-agent"), "GitHub refuses requests without one"
        assert request.headers.get("x-github-api-version") == "2022-11-28"
        self._check_query(operation, parse_qs(address.query))
        if "requestBody" in operation:
            self._check(request.document, openapi.content_schema(operation["requestBody"]))
        repository = f"{parameters['owner']}/{parameters['repo']}"
        if "comment_id" in parameters:
            reply = self._one(request, repository, int(parameters["comment_id"]))
        else:
            reply = self._many(request, (repository, int(parameters["issue_number"])))
        answers = operation["responses"]
        # GitHub's document lists fewer errors than GitHub sends; those have the common shape.
        schema = openapi.resolved(openapi.document()["components"]["schemas"]["basic-error"])
        if str(reply.status) in answers:
            schema = openapi.content_schema(answers[str(reply.status)]) or {}
        if reply.document is not None:
            self._check(reply.document, schema)
        return reply

    def _one(self, request: Request, repository: str, id: int) -> Reply:
        comment = self.comments.get(id)
        if comment is None or comment.repository != repository:
            return Reply(404, _basic("Not Found"))
        if request.method != "GET" and comment.author != OURSELVES:
            return Reply(403, _basic("Must have admin rights to Repository."))
        if request.method == "DELETE":
            del self.comments[id]
            self.writes.append(("delete", id))
            return Reply(204)
        if request.method == "PATCH":
            comment.body = request.document["body"]
            self.writes.append(("update", id))
        return Reply(200, self._shown(comment))

    def _many(self, request: Request, issue: tuple[str, int]) -> Reply:
        if issue in self.gone:
            return Reply(410, _basic("This issue was deleted"))
        if issue not in self.issues:
            return Reply(404, _basic("Not Found"))
        if urlsplit(request.path).path.endswith("/parent"):
            return self._parent(self.issues[issue])
        if request.method == "GET":
            return self._page(request, issue)
        body = request.document["body"]
        if len(body) > 65_536 or not body.strip():
            error = {"resource": "IssueComment", "code": "unprocessable", "field": "body"}
            document = {"documentation_url": DOCUMENTATION, "errors": [error]}
            return Reply(422, {"message": "Validation Failed", **document})
        self._last_id += 1
        comment = Comment(self._last_id, *issue, body, OURSELVES)
        self.comments[comment.id] = comment
        self.writes.append(("create", comment.id))
        return Reply(201, self._shown(comment))

    def _page(self, request: Request, issue: tuple[str, int]) -> Reply:
        query = parse_qs(urlsplit(request.path).query)
        size, page = (int(query.get(name, ["1"])[0]) for name in ("per_page", "page"))
        found = self.on(issue[1], issue[0])
        shown = [self._shown(one) for one in found[(page - 1) * size : page * size]]
        more = f'<{self.origin}/another>; rel="next"' if page * size < len(found) else ""
        return Reply(200, shown, (("Link", more),) if more else ())

    def _parent(self, parent: tuple[str, int] | None) -> Reply:
        if parent is None or not self.has_sub_issues:
            return Reply(404, _basic("Not Found"))
        repository, number = parent
        document = {
            "id": number,
            "node_id": f"I_{number}",
            "number": number,
            "title": "The larger work",
            "state": "open",
            "url": f"{self.origin}/repos/{repository}/issues/{number}",
            "repository_url": f"{self.origin}/repos/{repository}",
            "html_url": f"https://github.com/{repository}/issues/{number}",
        }
        return Reply(200, document)

    def _shown(self, comment: Comment) -> dict[str, Any]:
        place = f"{self.origin}/repos/{comment.repository}/issues"
        page = f"https://github.com/{comment.repository}/issues/{comment.issue}"
        return {
            "id": comment.id,
            "node_id": f"IC_{comment.id}",
            "url": f"{place}/comments/{comment.id}",
            "html_url": f"{page}#issuecomment-{comment.id}",
            "issue_url": f"{place}/{comment.issue}",
            "body": comment.body,
            "user": _user(comment.author),
            "created_at": "2026-11-15T19:11:30Z",
            "updated_at": "2026-11-15T19:11:30Z",
            "author_association": "OWNER",
        }

    def _check_query(self, operation: dict[str, Any], query: dict[str, list[str]]) -> None:
        listed = [openapi.resolved(one) for one in operation["parameters"]]
        allowed = {one["name"]: one["schema"] for one in listed if one["in"] == "query"}
        for name, [text] in query.items():
            assert name in allowed, f"there is no parameter {name}"
            self._check(int(text) if text.isdigit() else text, allowed[name])

    @staticmethod
    def _check(value: Any, schema: dict[str, Any] | None) -> None:
        found = list(openapi.problems(value, schema or {}))
        assert not found, found


def _basic(message: str) -> dict[str, Any]:
    return {"message": message, "documentation_url": DOCUMENTATION, "status": "4xx"}


def _user(id: int) -> dict[str, Any]:
    addresses = (
        "avatar events followers following gists html organizations received_events repos "
        "starred subscriptions"
    )
    return {
        "id": id,
        "login": f"user-{id}",
        "node_id": f"U_{id}",
        "gravatar_id": "",
        "type": "User",
        "site_admin": False,
        "url": f"https://github.com/user-{id}",
        **{f"{name}_url": f"https://github.com/user-{id}/{name}" for name in addresses.split()},
    }
