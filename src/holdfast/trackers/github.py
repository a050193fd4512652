"""GitHub, by REST: a comment known by its stored id, and by a hidden marker in its last line.

GitHub gives the ids out itself, so an answer that got lost leaves a comment with an unknown id.
Without a stored id we therefore look for the marker before we create, and look again afterwards:
of several that were made at once the oldest stays, and the writer of each other one removes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from holdfast.kernel import clock
from holdfast.kernel.digest import id_of
from holdfast.trackers import port
from holdfast.trackers.http import Answer, Key, request
from holdfast.trackers.port import (
    FAILED,
    NOT_FOUND,
    REFUSED,
    REPOSITORY,
    REPOSITORY_SHAPE,
    CommentReceipt,
    TrackerError,
    is_status,
    make_key_error,
    rate_limited,
    report_line,
    repository_and_number,
    web_address,
)

Thread = tuple[str, int]  # the repository and the issue's number in it


LIMIT_FAMILIES = ("x-ratelimit",)
ADDRESS = "https://api.github.com"
API_VERSION = "2022-11-28"
PAGE = 100
MOST_PAGES = 100
LONGEST_BODY = 65_536  # characters; beyond it GitHub answers 422
CUT = "\n\n(The rest did not fit.)"
RACE = 10 * clock.MINUTE  # how far back another writer's comment can be when ours is new
_STORED = re.compile(f"(?:(?P<repository>{REPOSITORY}):)?(?P<id>[1-9][0-9]{{0,18}})")
_ISSUE_ADDRESS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/issues/(?P<number>[0-9]{1,10})\Z")


def failure_of(answer: Answer) -> TrackerError:
    """The error to raise for an answer that is not the one hoped for."""
    status = answer.status
    if _is_limited(answer):
        resets = port.list_resets(answer.headers, LIMIT_FAMILIES, milliseconds=1000)
        return rate_limited(port.wait_seconds(answer.headers, resets))
    if status == 401:
        return make_key_error("GITHUB_TOKEN")
    if status >= 500:
        return TrackerError(f"HTTP {status}")
    if status < 300:
        return TrackerError(
            "the answer is not what was asked for" if answer.is_json else "the answer is not JSON"
        )
    said = _message(answer)
    cause = f"HTTP {status}: {report_line(said)}" if said else f"HTTP {status}"
    kinds = {404: NOT_FOUND, 408: FAILED}
    return TrackerError(cause, kind=kinds.get(status, REFUSED))


def _is_limited(answer: Answer) -> bool:
    """Both limits answer 403 or 429; the one for bursts may name no header, only itself."""
    if answer.status == 429:
        return True
    return answer.status == 403 and (
        "retry-after" in answer.headers
        or answer.headers.get("x-ratelimit-remaining", "").strip() == "0"
        or "secondary rate limit" in _message(answer).lower()
    )


def _message(answer: Answer) -> str:
    """The message, and what a validation found: `Validation Failed (body is too long)`."""
    document = answer.document
    if not isinstance(document, dict) or not isinstance(document.get("message"), str):
        return ""
    message: str = document["message"]
    errors = document.get("errors")
    if not isinstance(errors, list):
        return message
    details = [
        str(error.get("message") or error.get("code") or "") if isinstance(error, dict) else error
        for error in errors
    ]
    told = ", ".join(detail for detail in details if isinstance(detail, str) and detail)
    return f"{message} ({told})" if told else message


class GitHub:
    """The comments of the issues of GitHub repositories."""

    name = "GitHub"

    def __init__(self, key: Key, repository: str = "", address: str = ADDRESS) -> None:
        self._key = key
        self._repository = repository
        self._address = address.rstrip("/")

    def upsert(
        self, issue: str, body: str, *, comment: str, key: str, deadline: float
    ) -> CommentReceipt:
        """Edit the stored comment; where it is gone or was never stored, find it or make one."""
        home, number = repository_and_number(issue, self._repository)
        call = _Call(self._key, self._address, deadline)
        marker = marker_of(key)
        text = _add_marker(body, marker)
        stored = _STORED.fullmatch(comment)
        created, edited = False, None
        if stored:
            place = stored["repository"] or home
            known = call.comment(place, int(stored["id"]))
            if known is not None and _is_ours(call, known, marker, (home, number)):
                edited = call.update(place, int(stored["id"]), text)
        if edited is None:
            thread = call.parent((home, number)) or (home, number)
            edited = _edit_found(call, thread, text, marker)
            if edited is None:
                edited, created = _create(call, thread, text, marker)
        return _receipt(edited, issue, (home, number), created=created)


def _is_ours(call: _Call, comment: dict[str, Any], marker: str, asked: Thread) -> bool:
    """Return whether a stored id leads to the status comment of this issue, or of its parent: ours, or one
    that another tool made. Without this look it would overwrite any comment that the user's key may edit.
    """
    place = _thread(comment.get("issue_url"))
    if place is None or not (_has_marker(comment, marker) or is_status(comment.get("body"))):
        return False
    return _is_same(place, asked) or _is_same(place, call.parent(asked))


def _is_same(one: Thread, other: Thread | None) -> bool:
    return other is not None and (one[0].lower(), one[1]) == (other[0].lower(), other[1])


def marker_of(key: str) -> str:
    """The line, invisible on the page, by which a comment is found again."""
    return f"<!-- holdfast:{id_of(key)} -->"


def _add_marker(body: str, marker: str) -> str:
    room = LONGEST_BODY - len(marker) - 2
    if len(body) > room:
        body = body[: room - len(CUT)] + CUT
    return f"{body.rstrip()}\n\n{marker}"


def _edit_found(call: _Call, thread: Thread, text: str, marker: str) -> dict[str, Any] | None:
    """Edit the oldest marked comment that we may edit, and take our younger ones away."""
    found = call.find_marked(thread, marker)
    for position, candidate in enumerate(found):
        try:
            edited = call.update(thread[0], candidate["id"], text)
        except TrackerError as error:
            # A stranger can copy the marker into a comment, and theirs is not ours to edit.
            if error.kind == REFUSED:
                continue
            raise
        if edited is not None:
            for other in found[position + 1 :]:
                if _author(other) == _author(candidate):
                    call.delete(thread[0], other["id"])
            return edited
    return None


def _create(call: _Call, thread: Thread, text: str, marker: str) -> tuple[dict[str, Any], bool]:
    mine = call.create(thread, text)
    try:
        since = clock.stamp(clock.parse(str(mine.get("created_at"))) - RACE)
    except ValueError:
        since = ""
    older = [
        other
        for other in call.find_marked(thread, marker, since)
        if other["id"] < mine["id"] and _author(other) == _author(mine)
    ]
    for other in older:
        edited = call.update(thread[0], other["id"], text)
        if edited is not None:
            call.delete(thread[0], mine["id"])
            return edited, False
    return mine, True


def _author(comment: dict[str, Any]) -> object:
    user = comment.get("user")
    return user.get("id") if isinstance(user, dict) else None


def _receipt(
    comment: dict[str, Any], issue: str, asked: Thread, *, created: bool
) -> CommentReceipt:
    repository, number = _thread(comment.get("issue_url")) or asked
    at_home = repository.lower() == asked[0].lower()
    return {
        "comment": str(comment["id"]) if at_home else f"{repository}:{comment['id']}",
        "issue": issue if at_home and number == asked[1] else f"{repository}#{number}",
        "created": created,
        "url": web_address(comment.get("html_url")),
    }


def _thread(address: object) -> Thread | None:
    """Repository and number from an issue's address in the interface."""
    found = _ISSUE_ADDRESS.search(address) if isinstance(address, str) else None
    if not found or not REPOSITORY_SHAPE.fullmatch(found["repository"]):
        return None
    return found["repository"], int(found["number"])


@dataclass(frozen=True)
class _Call:
    """The requests of one upsert, which share their deadline."""

    key: Key
    address: str
    deadline: float

    def parent(self, thread: Thread) -> Thread | None:
        """The issue that this one is a sub-issue of; servers without sub-issues say 404 too."""
        answer = self._ask("GET", f"/repos/{thread[0]}/issues/{thread[1]}/parent")
        if answer.status in (404, 410):
            return None
        found = _thread(self._object(answer, 200).get("url"))
        if found is None:
            raise TrackerError("the answer is not what was asked for")
        return found

    def comment(self, repository: str, id: int) -> dict[str, Any] | None:
        """The comment as it is now, or nothing when there is none with this id."""
        answer = self._ask("GET", f"/repos/{repository}/issues/comments/{id}")
        return None if answer.status in (404, 410) else self._comment(answer, 200)

    def update(self, repository: str, id: int, text: str) -> dict[str, Any] | None:
        """The comment, or nothing when there is none with this id."""
        answer = self._ask("PATCH", f"/repos/{repository}/issues/comments/{id}", {"body": text})
        try:
            return self._comment(answer, 200)
        except TrackerError as error:
            if error.kind == NOT_FOUND:
                return None
            raise

    def create(self, thread: Thread, text: str) -> dict[str, Any]:
        """A new comment on the issue."""
        path = f"/repos/{thread[0]}/issues/{thread[1]}/comments"
        return self._comment(self._ask("POST", path, {"body": text}), 201)

    def delete(self, repository: str, id: int) -> None:
        """Take a comment away; one that is gone already is as good."""
        answer = self._ask("DELETE", f"/repos/{repository}/issues/comments/{id}")
        if answer.status not in (204, 404):
            raise failure_of(answer)

    def find_marked(self, thread: Thread, marker: str, since: str = "") -> list[dict[str, Any]]:
        """The comments that end with the marker, oldest first."""
        found: list[dict[str, Any]] = []
        path = f"/repos/{thread[0]}/issues/{thread[1]}/comments?per_page={PAGE}"
        if since:
            path += f"&since={since}"
        for page in range(1, MOST_PAGES + 1):
            answer = self._ask("GET", f"{path}&page={page}")
            if answer.status != 200 or not isinstance(answer.document, list):
                raise failure_of(answer)
            found += [
                one for one in answer.document if _is_comment(one) and _has_marker(one, marker)
            ]
            if 'rel="next"' not in answer.headers.get("link", ""):
                return sorted(found, key=lambda one: int(one["id"]))
        # Not "none found": creating one now could be the second.
        raise TrackerError("the issue has too many comments to look through", kind=REFUSED)

    def _comment(self, answer: Answer, status: int) -> dict[str, Any]:
        document = self._object(answer, status)
        if not _is_comment(document):
            raise TrackerError("the answer is not what was asked for")
        return document

    def _object(self, answer: Answer, status: int) -> dict[str, Any]:
        if answer.status != status or not isinstance(answer.document, dict):
            raise failure_of(answer)
        return answer.document

    def _ask(self, method: str, path: str, document: object = None) -> Answer:
        return request(
            method,
            self.address + path,
            key=self.key,
            scheme="Bearer ",
            deadline=self.deadline,
            headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION},
            document=document,
        )


def _is_comment(value: object) -> bool:
    return isinstance(value, dict) and type(value.get("id")) is int


def _has_marker(comment: dict[str, Any], marker: str) -> bool:
    body = comment.get("body")
    return isinstance(body, str) and body.rstrip().endswith(f"\n{marker}")
