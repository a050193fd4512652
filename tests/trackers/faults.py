"""What a service can do to us, one fault each.

A fault stands in front of the service, behind it, or in the way of its answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

BEFORE, LOST, HANG, TRICKLE, TRICKLE_ALL, SLOW = (
    "before",
    "lost",
    "hang",
    "trickle",
    "trickle_all",
    "slow",
)


@dataclass(frozen=True)
class Fault:
    """One way to fail; `how` says where, and the rest what is sent."""

    how: str
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def status(code: int, message: str = "", **headers: str) -> Fault:
    """An answer with this status in place of the service's; `retry_after="40"` is a header."""
    body = json.dumps({"message": message or f"status {code}"}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(BEFORE, code, body, {"Content-Type": "application/json", **named})


def linear_errors(
    code: int, message: str, extensions: Mapping[str, object], **headers: str
) -> Fault:
    """GraphQL's envelope with one error, at any status; the service is not asked."""
    document = {"errors": [{"message": message, "extensions": extensions}], "data": None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(BEFORE, code, json.dumps(document).encode(), named)


def linear_rate_limit(code: int = 400, **headers: str) -> Fault:
    """Linear's way to say 429."""
    extensions = {"type": "ratelimited", "code": "RATELIMITED", "statusCode": 429}
    return linear_errors(code, "Rate limit exceeded", extensions, **headers)


def raw(body: bytes, code: int = 200, kind: str = "application/json") -> Fault:
    """Exactly these bytes."""
    return Fault(BEFORE, code, body, {"Content-Type": kind})


def malformed() -> Fault:
    """JSON that ends in the middle."""
    return raw(b'{"data": {"issue": ')


def web_page(code: int = 502) -> Fault:
    """What a load balancer sends."""
    return raw(b"<html><body><h1>Bad Gateway</h1></body></html>", code, "text/html")


def huge() -> Fault:
    """More than anybody wants to read."""
    return raw(b'"' + b"x" * (9 * 1024 * 1024) + b'"')


def redirect(location: str, code: int = 307) -> Fault:
    """Sent elsewhere."""
    return Fault(BEFORE, code, b"{}", {"Location": location})


def lost_answer() -> Fault:
    """The service does what it was asked, and the connection is closed without a word."""
    return Fault(LOST)


def hang() -> Fault:
    """The connection is taken, and nothing is ever said."""
    return Fault(HANG)


def trickle(*, headers_too: bool = False) -> Fault:
    """A byte now and then, always within the timeout of a single read."""
    return Fault(TRICKLE_ALL if headers_too else TRICKLE, seconds=0.05)


def slow(seconds: float) -> Fault:
    """The right answer, late."""
    return Fault(SLOW, seconds=seconds)
