"""The files and the names of code that a text mentions. Pure, and quick: every output is looked through."""

from __future__ import annotations

from functools import lru_cache

from holdfast.clients.conversation import CUT
from holdfast.kernel.patterns import compile_later
from holdfast.kernel.text import split_words

MOST_NAMES_OF_A_TEXT = 300
LONGEST_SCAN = 16_000
_ENDINGS = frozenset(
    split_words(
        "go py pyi ts tsx js jsx mjs cjs md mdx rst json jsonl sh bash toml yaml yml mod sum txt rs "
        "sql html css scss c h cc cpp hpp java kt rb php swift proto lua ex exs zig vue svelte tf cfg "
        "ini xml ipynb lock csv gradle"
    )
)
_SHAPE = compile_later(rb"[a-z][A-Z]|_|[0-9]")
_NO_NAME = compile_later(rb"[0-9]|[0-9a-f]{7,}$|_+$|toolu_|call_|\w*\d[A-Za-z]+\d+[A-Za-z]+\d")
# What clients call their own tools and figures.
_OF_CLIENTS = frozenset(
    split_words(
        "apply_patch exec_command write_stdin update_plan spawn_agent wait_agent exit_code "
        "duration_seconds duration_ms timeout_ms total_tokens tool_uses tool_use_error agent_id agentId "
        "reasoning_effort fork_context agent_type node_modules TodoWrite TaskCreate TaskUpdate "
        "AskUserQuestion"
    )
)
_WORDS_ONLY = bytes(
    code if (chr(code).isalnum() and code < 128) or code == 95 else 32 for code in range(256)
)
_OF_PATHS = bytes(
    code if (chr(code).isalnum() and code < 128) or chr(code) in "_./@+-$" else 32
    for code in range(256)
)
# A temporary folder's name is made by chance.
_TEMPORARY = compile_later(r"/(?:tmp|var/folders/[^/\s]+/[^/\s]+/T)/[^/\s\"'`:,;)\]]*")
_ESCAPES = compile_later(r"\\(?:[nrt]|u[0-9a-fA-F]{4})")
_LITERAL_CUT = "".join(f"\\{letter}" if letter in "[.]" else letter for letter in CUT)
_TORN = compile_later(rf"\S*{_LITERAL_CUT}\S*")


def whole_words(text: str) -> str:
    """The beginning of a text, without words that were cut in two."""
    if len(text) > LONGEST_SCAN:
        text = text[: max(text.rfind(" ", 0, LONGEST_SCAN), text.rfind("\n", 0, LONGEST_SCAN))]
    return _TORN.sub("\n", text) if CUT in text else text


def paths_in(text: str) -> list[str]:
    """What looks like a file of source or text, by its ending."""
    found = []
    words = _unescaped(text).encode("ascii", "replace").translate(_OF_PATHS).split()
    for word in dict.fromkeys([word for word in words if b"." in word]):
        if len(word) < 250:
            path = word.decode().rstrip(".")
            stem, _, ending = path.rpartition(".")
            if ending in _ENDINGS and stem[-1:] not in ("", "/", ".") and "$" not in path:
                found.append(path)
    return found


def _unescaped(text: str) -> str:
    """Text without escapes, whose letters would be taken for the beginning of a word."""
    return _ESCAPES.sub(" ", text) if "\\" in text else text


def names_in(text: str) -> list[str]:
    """The identifiers of code in a text: those that could not be plain words."""
    if not text:
        return []
    if "/tmp/" in text or "/var/folders/" in text:  # noqa: S108
        text = _TEMPORARY.sub(" ", text)
    words = _unescaped(text).encode("ascii", "replace").translate(_WORDS_ONLY).split()
    long = dict.fromkeys([word for word in words if 6 < len(word) < 52])
    return [name for name in map(_name_of, long) if name][:MOST_NAMES_OF_A_TEXT]


@lru_cache(maxsize=8192)
def _name_of(word: bytes) -> str:
    name = word.decode() if _SHAPE.search(word) and not _NO_NAME.match(word) else ""
    return "" if name in _OF_CLIENTS else name
