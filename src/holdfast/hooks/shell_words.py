"""The words of a shell's line, as far as a fence needs them: quotes, and where a command begins."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BREAKS = ";&|()`\n\r"
# What a shell does more with than pass it on, outside of all quotes.
_SPECIAL = "<>{}$*?#!~[]"
# Within double quotes.
_LIVE = "$`"
_KEYWORDS = frozenset(
    ("!", "{", "}", "if", "then", "elif", "else", "fi", "do", "done", "while", "until")
)


class ShellLine:
    """`commands` are the simple commands of a line, each as its words. It `is_plain` when it is one
    command of which a shell makes nothing else, and `is_clear` when we can tell its commands at all."""

    def __init__(self, text: str) -> None:
        self.commands: list[list[str]] = []
        self.is_plain = True
        self.is_clear = True
        self._read(text)
        self.is_plain = self.is_plain and len(self.commands) == 1

    def _read(self, text: str) -> None:
        words: list[str] = []
        word: str | None = None
        letters = iter(text)
        for letter in letters:
            if letter in " \t" or letter in _BREAKS:
                if word is not None:
                    words.append(word)
                    word = None
                if letter in _BREAKS:
                    self.is_plain = False
                    self._end(words)
                    words = []
            elif letter in "'\"":
                word = (word or "") + self._quoted(letters, letter)
            elif letter == "\\":
                self.is_plain = False
                following = next(letters, "")
                # Before the end of a line it joins that line to the next.
                word = word if following == "\n" else (word or "") + following
            else:
                self.is_plain = self.is_plain and letter not in _SPECIAL
                # What stands below `<<` is the input of a command, and no line of ours.
                self.is_clear = self.is_clear and letter != "<"
                word = (word or "") + letter
        if word is not None:
            words.append(word)
        self._end(words)

    def _quoted(self, letters: Iterator[str], quote: str) -> str:
        taken = ""
        for letter in letters:
            if letter == quote:
                return taken
            if quote == '"' and letter == "\\":
                self.is_plain = False
                taken += next(letters, "")
                continue
            if quote == '"' and letter in _LIVE:
                # Perhaps a command within the quotes.
                self.is_plain = self.is_clear = False
            taken += letter
        self.is_plain = self.is_clear = False  # quotes without an end
        return taken

    def _end(self, words: list[str]) -> None:
        while words and (words[0] in _KEYWORDS or _is_assignment(words[0])):
            self.is_plain = False
            words = words[1:]
        if words:
            self.commands.append(words)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum()
