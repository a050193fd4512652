"""Sessions of the Claude Agent SDK, where Holdfast looks for sessions: `HoldfastSessionStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.contrib.claude_sdk.store import HoldfastSessionStore

__all__ = ["HoldfastSessionStore"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"{__name__} has no {name}")
    from holdfast.contrib.claude_sdk import store

    return getattr(store, name)
