"""Pictures beside a gate's question: how they are named, and which files are some."""

from __future__ import annotations

from typing import Any, TypedDict

from holdfast.kernel.text import one_line


class Picture(TypedDict):
    """A picture as the record names it; its bytes are kept under the `digest`."""

    name: str
    type: str
    digest: str
    bytes: int


# Of one gate. A person should be able to judge them in a minute.
MOST = 8
LARGEST = 5_000_000
# Beyond so many points browsers show a broken picture, however few bytes it has.
MOST_POINTS = 60_000_000
LONGEST_NAME = 120
DIGEST_LENGTH = 64
# By their bytes. Nothing that a browser could run: an SVG is a document, with scripts.
ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


def type_of(content: bytes) -> str | None:
    """The media type of a picture, by its first bytes; None for everything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None


def points_of(content: bytes) -> int:
    """How many points a PNG or a GIF says that it has; 0 where that takes more than a look."""
    if content.startswith(b"\x89PNG"):
        return int.from_bytes(content[16:20], "big") * int.from_bytes(content[20:24], "big")
    if content.startswith(b"GIF8"):
        return int.from_bytes(content[6:8], "little") * int.from_bytes(content[8:10], "little")
    return 0


def file_of(picture: Picture) -> str:
    return f"{picture['digest']}.{ENDINGS[picture['type']]}"


def is_digest(text: str) -> bool:
    return len(text) == DIGEST_LENGTH and all(letter in "0123456789abcdef" for letter in text)


def shorten(name: str) -> str:
    """A file's name as it is recorded; bytes that are no text become question marks."""
    return one_line(name.encode("utf-8", "replace").decode(), LONGEST_NAME)


def are_sound(pictures: Any) -> bool:
    """Whether these are pictures of a gate: they may come from a file that an agent can write."""
    return (
        isinstance(pictures, list)
        and len(pictures) <= MOST
        and all(isinstance(one, dict) and _is_sound(one) for one in pictures)
    )


def _is_sound(one: dict[str, Any]) -> bool:
    return (
        one.keys() == {"name", "type", "digest", "bytes"}
        and all(isinstance(one[part], str) for part in ("name", "type", "digest"))
        and one["type"] in ENDINGS
        and is_digest(one["digest"])
        and type(one["bytes"]) is int
        and 0 < one["bytes"] <= LARGEST
    )


def describe(picture: Picture) -> str:
    """`dashboard.png (PNG, 83 KB)`."""
    kind = picture["type"].rpartition("/")[2].upper()
    return f"{picture['name']} ({kind}, {max(1, picture['bytes'] // 1000)} KB)"
