"""The code of the modules that short processes load, in one file of the user's cache.

A heartbeat loads 64 modules. To find, open and initialise one takes the interpreter thirteen system calls and
a walk through Python code: all of them together half a bare interpreter's time. Here an import reads one
block, which holds the module and all that it imports in turn, in the order in which they are executed. For
each of them one `stat` tells that its source is the one that was compiled. What the file lacks is loaded as
ever, and added for the next process. The file lives under `$XDG_CACHE_HOME`, may be deleted at any time, and
is read only if it and its folder belong to this user and no one else can write them: what stands in it is
run.

A hook executes this module before any other, without the interpreter's ways of finding one: it imports nothing
of this package, and not `__future__`.
"""

import os
import sys

# `importlib.machinery` has the same names and costs an import of its own.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (
    MAGIC_NUMBER,
    ExtensionFileLoader,
    PathFinder,
    SourceFileLoader,
)
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

    # Its name, whether it is a package, time and size of its source, its code.
    Member = tuple[str, bool, int, int, CodeType]

PACKAGE = "holdfast"
# What the modules of this package import and the interpreter has not loaded.
FUTURE = "__future__"
# The file begins with this and the length of the table; a table that is longer takes a second read.
SIGNATURE = b"holdfast\4" + MAGIC_NUMBER
LENGTH = 8
FIRST_READ = 16 * 1024
# What a file may weigh; a table of more is none of ours.
LARGEST_TABLE = 1024 * 1024
LONGEST_NAME = 120
_UNSAFE_MODE = 0o022
DAMAGED = (OSError, ValueError, EOFError, TypeError)


class CodeCache:
    """A finder of this package's modules, to stand first in `sys.meta_path`."""

    def __init__(self, root: str, path: str, *, is_lean: bool) -> None:
        self.root = root
        self.path = path
        # Whether code is kept without what only a reader of it needs.
        self.is_lean = is_lean
        # Place and length of the block that a first import of this module reads.
        self.blocks: dict[str, tuple[int, int]] = {}
        # Path, time and size of the libraries that modules are made of.
        self.libraries: dict[str, tuple[str, int, int]] = {}
        # The members of the blocks to write.
        self.added: dict[str, list[str]] = {}
        self._descriptor = -1
        self._tried: set[str] = set()
        # The members of the blocks that were read.
        self._members: dict[str, list[str]] = {}
        self._executed: list[str] = []
        self._depth = 0
        try:
            self._read_table()
        except DAMAGED:
            self.blocks, self.libraries = {}, {}

    def _read_table(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        folder = os.stat(self.path.rpartition("/")[0])
        if not (_is_private(os.fstat(descriptor)) and _is_private(folder)):
            os.close(descriptor)
            return
        self._descriptor = descriptor
        start = len(SIGNATURE) + LENGTH
        head = os.pread(descriptor, FIRST_READ, 0)
        length = int.from_bytes(head[len(SIGNATURE) : start], "little")
        if not head.startswith(SIGNATURE) or length > LARGEST_TABLE:
            return
        if len(head) < start + length:
            head = os.pread(descriptor, start + length, 0)
        root, blocks, libraries = loads(head[start : start + length])  # noqa: S302
        if root == self.root:
            self.blocks, self.libraries = blocks, libraries

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """The module, if the file has the code of its source as it is now."""
        if "threading" in sys.modules:
            return None  # the interpreter's locks keep threads from modules that are half executed
        if name in self.blocks and name not in self._tried:
            self._tried.add(name)
            code, is_package = self._execute_block(name)
            if code is not None:
                return _spec(name, code.co_filename, code, is_package, self)
        if name.partition(".")[0] == PACKAGE or name == FUTURE:
            return self._find_source(name, path)
        return self._find_library(name)

    def _execute_block(self, name: str) -> "tuple[CodeType | None, bool]":
        """Execute what a module imports. Its own code is left to the interpreter, which asked for it. None
        if a source has changed."""
        place, length = self.blocks[name]
        try:
            members: list[Member] = loads(os.pread(self._descriptor, length, place))  # noqa: S302
            for _, _, time, size, code in members:
                status = os.stat(code.co_filename)
                if status.st_mtime_ns != time or status.st_size != size:
                    return None, False
        except DAMAGED:
            return None, False
        self._members[name] = [member[0] for member in members]
        self._depth += 1
        try:
            for each, is_package, _, _, code in members[:-1]:
                if each not in sys.modules:
                    self._execute(each, code, is_package)
        except Exception:
            return None, False  # it is imported once more, and tells why
        finally:
            self._depth -= 1
        return members[-1][4], members[-1][1]

    def _execute(self, name: str, code: "CodeType", is_package: bool) -> None:
        """Import a module without the interpreter's ways of finding one."""
        module = type(sys)(name)
        spec = _spec(name, code.co_filename, None, is_package, self)
        module.__spec__, module.__loader__ = spec, spec.loader
        module.__file__ = code.co_filename
        parent, _, child = name.rpartition(".")
        module.__package__ = name if is_package else parent
        if is_package:
            module.__path__ = spec.submodule_search_locations or []
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)  # noqa: S102
        except BaseException:
            del sys.modules[name]
            raise
        self._executed.append(name)
        if parent:
            setattr(sys.modules[parent], child, module)

    def _find_source(self, name: str, path: "Sequence[str] | None") -> ModuleSpec | None:
        """As ever; but what it imports in turn is noted, for the block of the next process."""
        spec = PathFinder.find_spec(name, path)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _NotingLoader(spec.loader.name, spec.loader.path, self)
        return spec

    def _find_library(self, name: str) -> ModuleSpec | None:
        needs_stand_in = name == "apsw" and "collections" not in sys.modules
        made = _ApswLoader if needs_stand_in else ExtensionFileLoader
        try:
            path, time, size = self.libraries[name]
            status = os.stat(path)
            if status.st_mtime_ns == time and status.st_size == size:
                spec = ModuleSpec(name, made(name, path), origin=path)
                spec.has_location = True
                return spec
        except (KeyError, *DAMAGED):
            pass
        return _find_apsw() if needs_stand_in else None

    def run(self, module: "ModuleType", code: "CodeType | None", load: "Any") -> None:
        """Execute a module and note it behind those that it imported; `load` does it without code."""
        self._depth += 1
        try:
            if code is None:
                load(module)
            else:
                exec(code, module.__dict__)  # noqa: S102
        finally:
            self._depth -= 1
        self._executed.append(module.__name__)
        if self._depth:
            return
        name, executed, self._executed = module.__name__, self._executed, []
        known = self._members.get(name, [])
        if not set(executed) <= set(known):
            # What was loaded before needs nothing of what was not.
            self.added[name] = [each for each in known if each not in executed] + executed

    def add_loaded(self) -> None:
        """Add what this process had to find by itself, for the next one."""
        if sys.flags.optimize or sys.dont_write_bytecode:
            return
        libraries = {
            name: str(module.__file__)
            for name, module in list(sys.modules.items())
            if isinstance(getattr(module, "__loader__", None), ExtensionFileLoader)
            and self.libraries.get(name, ("",))[0] != module.__file__
        }
        if not self.added and not libraries:
            return
        try:
            from holdfast.kernel import code_cache_writer

            code_cache_writer.write(self, libraries)
        except (*DAMAGED, ImportError, KeyError):
            return  # without it, modules are found as ever

    def read_blocks(self) -> dict[str, bytes]:
        """The blocks of the file as it was found."""
        return {
            name: os.pread(self._descriptor, length, place)
            for name, (place, length) in self.blocks.items()
        }


class _NotingLoader(SourceFileLoader):
    """The interpreter's own loader, whose modules are noted, perhaps with the code at hand."""

    def __init__(
        self, name: str, path: str, cache: CodeCache, code: "CodeType | None" = None
    ) -> None:
        self.name, self.path = name, path
        self._cache, self._code = cache, code

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # here, so that it is not looked for in four classes

    def exec_module(self, module: "ModuleType") -> None:
        code, self._code = self._code, None  # a reload reads the source
        self._cache.run(module, code, super().exec_module)


def _spec(
    name: str, source: str, code: "CodeType | None", is_package: bool, cache: CodeCache
) -> ModuleSpec:
    spec = ModuleSpec(name, _NotingLoader(name, source, cache, code), origin=source)
    spec.has_location = True
    # Otherwise the interpreter works out the name of a file that is not read.
    spec.cached = cache.path
    if is_package:
        spec.submodule_search_locations = [source.rpartition("/")[0]]
    return spec


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _UNSAFE_MODE


# apsw imports `collections` for one class, which the interpreter has loaded already under another name.
# To import all of it takes a sixth of a bare interpreter's time.


class _ApswLoader(ExtensionFileLoader):
    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        try:
            with _StandIn():
                return super().create_module(spec)
        except (ImportError, AttributeError):
            # A version that wants more of `collections` gets all of it.
            return super().create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        with _StandIn():
            super().exec_module(module)


class _StandIn:
    """Let `collections.abc` be found without `collections`. No other thread can ask for it meanwhile: who
    starts threads has loaded it."""

    def __enter__(self) -> None:
        import _collections_abc

        sys.modules["collections"] = sys.modules["collections.abc"] = _collections_abc

    def __exit__(self, *_: object) -> None:
        del sys.modules["collections"], sys.modules["collections.abc"]


def _find_apsw() -> ModuleSpec | None:
    spec = PathFinder.find_spec("apsw")
    if spec is not None and isinstance(spec.loader, ExtensionFileLoader):
        spec.loader = _ApswLoader(spec.loader.name, spec.loader.path)
    return spec


def cache_folder() -> str:
    """`$XDG_CACHE_HOME/holdfast`, by default `~/.cache/holdfast`; empty for a user without a home."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(folder):  # the specification: a relative one is to be ignored
        return f"{folder}/holdfast"
    home = os.environ.get("HOME", "")
    return f"{home}/.cache/holdfast" if os.path.isabs(home) else ""


def use_code_cache(face: str) -> CodeCache | None:
    """Load the modules of this package from the cache from now on, as far as it has them. Each face has a
    file of its own: what a module imports depends on what was loaded before it."""
    folder = cache_folder()
    if not folder:
        return None
    root = __file__.rpartition(f"/{PACKAGE}/")[0]
    # As editors name their copies: the place of the package, and the interpreter.
    name = f"{root.replace('/', '%')[-LONGEST_NAME:]}.{sys.implementation.cache_tag}.{face}"
    cache = CodeCache(root, f"{folder}/{name}", is_lean=face == "hooks")
    sys.meta_path.insert(0, cache)
    return cache
