"""What programs give to the library is checked at its border: each mistake is a `Usage` with the argument's name."""

from __future__ import annotations

from functools import wraps

from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")


def _is_list(value: Any) -> bool:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return False
    return not isinstance(value, list | tuple) or all(isinstance(one, str) for one in value)


# By the annotation of an argument, which is text: what it must be, in words and as a test. What is not here
# is checked by its operation.
_TESTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: type(value) is int),
    "float": ("a number", lambda value: type(value) in (int, float)),
    "Sequence[str]": ("a list of texts", _is_list),
    "Iterable[str]": ("a list of texts", _is_list),
    "Mapping[str, str]": ("a dictionary of texts", lambda value: hasattr(value, "items")),
    "Mapping[str, bool]": ("a dictionary", lambda value: hasattr(value, "items")),
}
_OR_NONE = " | None"
_VARIADIC = 0x08  # of a code object: it takes `**names`


def checks_arguments(owner: type[T]) -> type[T]:
    """Check what the public methods of a class are called with."""
    for name, method in list(vars(owner).items()):
        if not name.startswith("_") and type(method).__name__ == "function":
            setattr(owner, name, _checked(method))
    return owner


def _checked(method: Any) -> Any:
    code, defaults = method.__code__, method.__defaults__ or ()
    positional = code.co_varnames[1 : code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    optional = {*positional[len(positional) - len(defaults) :], *(method.__kwdefaults__ or ())}
    required = [name for name in (*positional, *keywords) if name not in optional]
    known = {name: method.__annotations__.get(name, "") for name in (*positional, *keywords)}
    is_open = False
    if code.co_flags & _VARIADIC:
        more = _names_of(method, code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        is_open, known = more is None, {**known, **(more or {})}

    @wraps(method)
    def check(self: Any, *given: Any, **named: Any) -> Any:
        if len(given) > len(positional):
            raise Usage(f"{method.__name__} takes at most {len(positional)} without a name.")
        for name, value in (*zip(positional, given, strict=False), *named.items()):
            if name in known:
                _refuse_wrong(name, value, known[name])
            elif not is_open:
                raise Usage(
                    f"{method.__name__} has no argument {name}.", hint=_nearest(name, known)
                )
        for name in required[len(given) :]:
            if name not in named:
                raise Usage(f"{name} is missing.", hint=f"{method.__name__}({name}=...)")
        return method(self, *given, **named)

    return check


def _names_of(method: Any, variadic: str) -> Mapping[str, str] | None:
    """The names that `**terms: Unpack[Terms]` allows; None where any name is one."""
    annotation = str(method.__annotations__.get(variadic, ""))
    if not annotation.startswith("Unpack["):
        return None
    terms = method.__globals__[annotation[len("Unpack[") : -1]].__annotations__
    return {name: getattr(one, "__forward_arg__", one) for name, one in terms.items()}


def _refuse_wrong(name: str, value: Any, annotation: str) -> None:
    if value is None and annotation.endswith(_OR_NONE):
        return
    found = _TESTS.get(annotation.removesuffix(_OR_NONE))
    if found is not None and not found[1](value):
        raise Usage(f"{name} must be {found[0]}, not {value!r:.40}.")


def _nearest(name: str, known: Mapping[str, str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"It has: {', '.join(known)}."
