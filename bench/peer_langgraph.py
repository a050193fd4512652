"""LangGraph's SqliteSaver, as its own documentation uses it."""

from __future__ import annotations

import sqlite3
from typing import Any


class Saver:
    """One thread of checkpoints, each the child of the one before."""

    def __init__(self, path: str) -> None:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._empty = empty_checkpoint
        self._connection = sqlite3.connect(path, check_same_thread=False)
        self._saver = SqliteSaver(self._connection)
        self._saver.setup()
        self._config: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        self._step = 0

    def put(self, values: dict[str, Any]) -> None:
        self._step += 1
        versions = dict.fromkeys(values, self._step)
        checkpoint = self._empty()
        checkpoint["channel_values"] = values
        checkpoint["channel_versions"] = versions
        metadata = {"source": "loop", "step": self._step, "parents": {}}
        self._config = self._saver.put(self._config, checkpoint, metadata, versions)

    def close(self) -> None:
        self._connection.close()
