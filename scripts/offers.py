"""The stub of `holdfast.offers`: what features give to an open workspace, with its types, for type checkers."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from holdfast import registry

STUB = Path(__file__).parent.parent / "src" / "holdfast" / "offers.pyi"
BEGINNING = """\
# Written by `make docs`; do not edit.
from collections.abc import Callable
from typing import Any

{imports}

class Offers:
    place: Workspace
    actor: str
    def __init__(self, place: Workspace, actor: str) -> None: ...
    @property
    def away(self) -> str: ...
    def reachable(self, operation: Callable[..., Any]) -> Workspace: ...
"""


def stub() -> str:
    """Return the text of the stub."""
    imports, members = {"from holdfast.kernel.workspace import Workspace"}, []
    for feature in registry.features():
        for name, target in feature.api.items():
            module, _, attribute = target.partition(":")
            tree = ast.parse(Path(_path_of(module)).read_text(encoding="utf-8"))
            found = next(one for one in tree.body if getattr(one, "name", "") == attribute)
            if isinstance(found, ast.ClassDef):
                members.append(f"    @property\n    def {name}(self) -> {attribute}: ...\n")
                imports.add(f"from {module} import {attribute}")
                continue
            assert isinstance(found, ast.FunctionDef)
            found.args.args[0] = ast.arg("self")
            assert found.returns is not None
            says = f"({ast.unparse(found.args)}) -> {ast.unparse(found.returns)}"
            says = says.replace("'", '"').replace("=", " = ")  # as the formatter writes it
            members.append(f"    def {name}{says}: ...\n")
            imports |= set(_imports(tree, module, found))
    return BEGINNING.format(imports="\n".join(sorted(imports))) + "".join(members)


def _imports(tree: ast.Module, module: str, function: ast.FunctionDef) -> Iterator[str]:
    """Return what brings the types of a function into the stub."""
    used = {one.id for one in ast.walk(function.args) if isinstance(one, ast.Name)}
    used |= {one.id for one in ast.walk(function.returns or tree) if isinstance(one, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in used:
            yield f"from {module} import {node.name}"
        elif isinstance(node, ast.ImportFrom):
            names = [one.name for one in node.names if one.name in used]
            yield from (f"from {node.module} import {name}" for name in names)


def _path_of(module: str) -> str:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return found.origin
