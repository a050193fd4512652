"""Write the file of compiled modules (`code_cache`), with what a process had to find by itself.

A hook shows no traceback and no help, so its code is kept lean: without line numbers, docstrings of functions,
annotations, and the classes behind `TYPE_CHECKING`. They are two fifths of the bytes, which each hook would read in vain.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib_external import SourceFileLoader
from marshal import dumps
from opcode import hasconst

from holdfast.kernel.code_cache import FUTURE, LENGTH, SIGNATURE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

    from holdfast.kernel.code_cache import CodeCache, Member

# Two for each package and interpreter of this user.
MOST_FILES = 16
# A module that speaks of these is compiled as it is: it reads its own annotations or docstrings.
READS_ITSELF = (b"__annotations__", b"__doc__", b"dataclass", b"NamedTuple")


def write(cache: CodeCache, libraries: dict[str, str]) -> None:
    """The file with the blocks that it has, those that the cache wants added, and the libraries by name and
    path."""
    unfinished = f"{cache.path}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = _open_in_new_folders(unfinished, flags)
    try:
        blocks = cache.read_blocks()
        for name, members in cache.added.items():
            compiled = [_compiled(cache, sys.modules[each]) for each in members]
            if all(compiled):
                blocks[name] = dumps(compiled)
        for name, path in libraries.items():
            status = os.stat(path)
            cache.libraries[name] = (path, status.st_mtime_ns, status.st_size)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_in_one(cache.root, blocks, cache.libraries))
            file.flush()
            # A file that a power cut leaves without its content would be run.
            os.fsync(descriptor)
        os.rename(unfinished, cache.path)
    except BaseException:
        os.unlink(unfinished)
        raise
    _remove_old(os.path.dirname(cache.path))


def _compiled(cache: CodeCache, module: ModuleType) -> Member | None:
    """The code of a module, if its source stayed the same while we looked."""
    name, source = module.__name__, str(module.__file__)
    before = os.stat(source)
    loader = SourceFileLoader(name, source)
    code = loader.get_code(name)
    if code is not None and cache.is_lean:
        code = lean_code(code, loader.get_data(source))
    after = os.stat(source)
    is_same = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    is_ours = source.startswith(f"{cache.root}/") or name == FUTURE
    if code is None or not is_same or not is_ours or code.co_filename != source:
        return None
    return name, hasattr(module, "__path__"), after.st_mtime_ns, after.st_size, code


def lean_code(code: CodeType, source: bytes) -> CodeType:
    """The code of a source without what only a reader of it needs."""
    if any(word in source for word in READS_ITSELF):
        return _lean(code, range(0), keeps_texts=True)
    return _lean(code, _type_checking_lines(source.decode()), keeps_texts=False)


def _type_checking_lines(source: str) -> range:
    """The lines that a type checker alone reads."""
    lines = source.split("\n")
    if "if TYPE_CHECKING:" not in lines:
        return range(0)
    start = lines.index("if TYPE_CHECKING:") + 1
    behind = (at for at, line in enumerate(lines[start:], start) if line and line[0] != " ")
    return range(start + 1, next(behind, len(lines)) + 1)


def _lean(code: CodeType, unused_lines: range, *, keeps_texts: bool) -> CodeType:
    constants: list[Any] = []
    for one in code.co_consts:
        if isinstance(one, type(code)):
            is_unused = one.co_firstlineno in unused_lines
            constants.append(
                None if is_unused else _lean(one, unused_lines, keeps_texts=keeps_texts)
            )
        else:
            constants.append(() if not keeps_texts and is_annotation(one) else one)
    if not keeps_texts and constants and isinstance(constants[0], str) and not _loads_first(code):
        constants[0] = None  # a docstring
    return code.replace(co_linetable=b"", co_consts=tuple(constants))


def is_annotation(constant: object) -> bool:
    """Whether a constant is the annotations of a function: names and types by turns, as texts."""
    return (
        isinstance(constant, tuple)
        and constant[-2:-1] == ("return",)
        and len(constant) % 2 == 0
        and all(isinstance(text, str) for text in constant)
    )


def _loads_first(code: CodeType) -> bool:
    """Whether the code uses its first constant, or perhaps does: of a longer number only the end is looked at."""
    return any(
        code.co_code[at] in hasconst and code.co_code[at + 1] == 0
        for at in range(0, len(code.co_code), 2)
    )


def _in_one(
    root: str, blocks: dict[str, bytes], libraries: dict[str, tuple[str, int, int]]
) -> bytes:
    """The content of the file. Places depend on the table's length, so it is measured with wide ones."""
    sizes = {name: (1 << 40, len(block)) for name, block in blocks.items()}
    table = dumps((root, sizes, libraries), 2)
    start = len(SIGNATURE) + LENGTH + len(table)
    placed = {}
    for name, block in blocks.items():
        placed[name] = (start, len(block))
        start += len(block)
    table = dumps((root, placed, libraries), 2).ljust(len(table), b"\0")
    head = [SIGNATURE, len(table).to_bytes(LENGTH, "little"), table]
    return b"".join([*head, *blocks.values()])


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


def _remove_old(folder: str) -> None:
    """Keep the files that were written last: others are of packages that are gone, or come again."""
    files = []
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        files.append((os.lstat(path).st_mtime_ns, path))
    for _, path in sorted(files, reverse=True)[MOST_FILES:]:
        os.unlink(path)
