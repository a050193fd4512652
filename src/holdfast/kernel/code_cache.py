"""The code of the modules that short processes load, in one file of the user's cache.

A heartbeat loads 64 modules. To find and open one takes the interpreter thirteen system calls, and all of
them a quarter of a bare interpreter's time. Here a module is one `stat`, which tells that its source is the
one that was compiled, and one `pread`. What the file lacks is loaded as ever, and added for the next
process. It lives under `$XDG_CACHE_HOME`, may be deleted at any time, and is read only if it belongs to this
user and no one else can write it: what stands in it is run.
"""

from __future__ import annotations

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
from marshal import dumps, loads

from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

    # Whether it is a package, time and size of its source, place and length of its code.
    Entry = tuple[bool, int, int, int, int]

PACKAGE = "holdfast"
# The file begins with this and the length of the table; a table that is longer takes a second read.
SIGNATURE = b"holdfast\1" + MAGIC_NUMBER + __version__.encode()[:32].ljust(32)
LENGTH = 8
FIRST_READ = 16 * 1024
# What a file may weigh; a table of more is none of ours.
LARGEST_TABLE = 1024 * 1024
LONGEST_NAME = 120
# One for each package and interpreter of this user.
MOST_FILES = 8
_UNSAFE_MODE = 0o022


class CodeCache:
    """A finder of this package's modules, to stand first in `sys.meta_path`."""

    def __init__(self, root: str, path: str) -> None:
        self.root = root
        self.path = path
        self.table: dict[str, Entry] = {}
        self._descriptor = -1
        self._loaded_before = set(sys.modules)
        self._served: set[str] = set()
        try:
            self._read_table()
        except (OSError, ValueError, EOFError, TypeError):
            self.table = {}

    def _read_table(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & _UNSAFE_MODE:
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
        root, table = loads(head[start : start + length])  # noqa: S302
        if root == self.root:
            self.table = table

    def source_of(self, name: str, *, is_package: bool) -> str:
        return f"{self.root}/{name.replace('.', '/')}{'/__init__.py' if is_package else '.py'}"

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if the file has the code of its source as it is now."""
        entry = self.table.get(name)
        if entry is None:
            return _find_apsw() if name == "apsw" and "collections" not in sys.modules else None
        is_package, time, size, place, length = entry
        source = self.source_of(name, is_package=is_package)
        try:
            status = os.stat(source)
            if status.st_mtime_ns != time or status.st_size != size:
                return None
            code = loads(os.pread(self._descriptor, length, place))  # noqa: S302
        except (OSError, ValueError, EOFError, TypeError):
            return None
        spec = ModuleSpec(name, _CachedLoader(name, source, code), origin=source)
        spec.has_location = True
        # Otherwise the interpreter works out the name of a file that is not read.
        spec.cached = self.path
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        self._served.add(name)
        return spec

    def add_loaded(self) -> None:
        """Add the modules that this process had to find by itself, for the next one."""
        added = [
            name
            for name in list(sys.modules)
            if name.startswith(f"{PACKAGE}.")
            and name not in self._served
            and name not in self._loaded_before
        ]
        if not added or sys.flags.optimize or sys.dont_write_bytecode:
            return
        try:
            self._write(added)
            _remove_old(os.path.dirname(self.path))
        except (OSError, ValueError, ImportError):
            return  # without it, modules are found as ever

    def _write(self, added: list[str]) -> None:
        unfinished = f"{self.path}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = _open_in_new_folders(unfinished, flags)
        try:
            codes = {name: self._kept(name) for name in self.table if name not in added}
            for name in added:
                code = self._compiled(sys.modules[name])
                if code is not None:
                    codes[name] = code
            with os.fdopen(descriptor, "wb") as file:
                file.write(_in_one(self.root, codes))
                file.flush()
                # A file that a power cut leaves without its content would be run.
                os.fsync(descriptor)
            os.rename(unfinished, self.path)
        except BaseException:
            os.unlink(unfinished)
            raise

    def _kept(self, name: str) -> tuple[bool, int, int, bytes]:
        is_package, time, size, place, length = self.table[name]
        return is_package, time, size, os.pread(self._descriptor, length, place)

    def _compiled(self, module: ModuleType) -> tuple[bool, int, int, bytes] | None:
        """The code of a module, if its source stayed the same while we looked."""
        name, is_package = module.__name__, hasattr(module, "__path__")
        source = self.source_of(name, is_package=is_package)
        loader = module.__loader__
        if module.__file__ != source or not isinstance(loader, SourceFileLoader):
            return None
        before = os.stat(source)
        code: Any = loader.get_code(name)
        after = os.stat(source)
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            return None
        return is_package, after.st_mtime_ns, after.st_size, dumps(code)


class _CachedLoader(SourceFileLoader):
    """The interpreter's own loader, with the code at hand."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # here, so that it is not looked for in four classes

    def exec_module(self, module: ModuleType) -> None:
        code, self._code = self._code, None
        if code is None:  # a reload
            super().exec_module(module)
        else:
            exec(code, module.__dict__)  # noqa: S102


def _remove_old(folder: str) -> None:
    """Keep the files that were written last: others are of packages that are gone, or come again."""
    files = []
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        files.append((os.lstat(path).st_mtime_ns, path))
    for _, path in sorted(files, reverse=True)[MOST_FILES:]:
        os.unlink(path)


def _in_one(root: str, codes: dict[str, tuple[bool, int, int, bytes]]) -> bytes:
    """The content of the file. Places depend on the table's length, so it is measured with wide ones."""
    sizes = {name: (*facts, 1 << 40, len(code)) for name, (*facts, code) in codes.items()}
    table = dumps((root, sizes), 2)
    start = len(SIGNATURE) + LENGTH + len(table)
    placed = {}
    for name, (*facts, code) in codes.items():
        placed[name] = (*facts, start, len(code))
        start += len(code)
    table = dumps((root, placed), 2).ljust(len(table), b"\0")
    blocks = [SIGNATURE, len(table).to_bytes(LENGTH, "little"), table]
    return b"".join([*blocks, *(code for *_, code in codes.values())])


def _open_in_new_folders(path: str, flags: int) -> int:
    """Open a file whose folder may be missing. A home that is missing is not made."""
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        for each in (os.path.dirname(folder), folder):
            if not os.path.isdir(each):
                os.mkdir(each, 0o700)
        return os.open(path, flags, 0o600)


# apsw imports `collections` for one class, which the interpreter has loaded already under another name.
# To import all of it takes a sixth of a bare interpreter's time.


class _ApswLoader(ExtensionFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            with _StandIn():
                return super().create_module(spec)
        except (ImportError, AttributeError):
            # A version that wants more of `collections` gets all of it.
            return super().create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
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


def use_code_cache() -> CodeCache | None:
    """Load the modules of this package from the cache from now on, as far as it has them."""
    folder = cache_folder()
    if not folder:
        return None
    root = __file__.rpartition(f"/{PACKAGE}/")[0]
    # As editors name their copies: the place of the package, and the interpreter.
    name = f"{root.replace('/', '%')[-LONGEST_NAME:]}.{sys.implementation.cache_tag}"
    cache = CodeCache(root, f"{folder}/{name}")
    sys.meta_path.insert(0, cache)
    return cache
