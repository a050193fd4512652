"""LangGraph's checkpoints in the journal: `HoldfastSaver`. Nothing here is loaded until a program asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.contrib.langgraph.interrupts import ask_person
    from holdfast.contrib.langgraph.saver import HoldfastSaver

__all__ = ["HoldfastSaver", "ask_person"]
MODULES = {"HoldfastSaver": "saver", "ask_person": "interrupts"}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"{__name__} has no {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
