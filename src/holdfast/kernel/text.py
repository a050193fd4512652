"""Text of others as people and agents may read it: what nobody would see is pictured, what a program would
take for a command or an end of a quotation is quoted."""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
# Letters that people do not see and a model reads: tags, marks of direction and of format, blanks and fillers
# of no width, selectors of a variant, separators of lines that are none to most programs. First and last.
_UNSEEN = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x70F, 0x70F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0D),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# A joiner stays between two letters of a script that needs it, or between two emoji; a selector for the look
# of an emoji stays behind a sign, and a mark of direction behind a letter that is written from right to left.
# Alone, twice and behind other letters they are unseen too.
JOINERS, SELECTORS, DIRECTIONS = "\u200c\u200d", "\ufe0e\ufe0f", "\u200e\u200f\u061c"
KEPT = JOINERS + SELECTORS + DIRECTIONS
_JOINED = (
    "\u0600-\u061b\u061d-\u06ff\u0710-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\u1b00-\u1bff\ua800-\uabff\ufb50-\ufdff"
    "\ufe70-\ufefc\u2190-\u2bff\U00010a00-\U000110ff\U00011100-\U00011cff\U0001f000-\U0001faff"
)
_LEFTWARD = "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_SIGNS = "0-9#*\u00a9\u00ae\u203c-\u205f\u2100-\u3163\u3165-\u33ff\U0001f000-\U0001faff"
_HIDDEN = (
    f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _UNSEEN)}]"
    f"|(?<![{_SIGNS}])[{SELECTORS}]|(?<![{_LEFTWARD}])[{DIRECTIONS}]"
    f"|(?<![{_JOINED}])(?<![{_SIGNS}]\ufe0f)[{JOINERS}]|[{JOINERS}](?![{_JOINED}])"
)
_ONE_HIDDEN = compile_later(_HIDDEN)
_RUN_HIDDEN = compile_later(f"(?:{_HIDDEN})+")
_suspects: set[str] = set()


def visible(text: str, mark: str = UNKNOWN) -> str:
    """The text with one mark for each run of letters that nobody would see."""
    return text if is_plain(text) else _RUN_HIDDEN.sub(mark, text)


def is_plain(text: str) -> bool:
    """A quick look before the pattern: most texts, also those with accents and dashes, hold no suspect."""
    if text.isascii():
        return True
    if not _suspects:
        _suspects.update(KEPT)
        for first, last in _UNSEEN:
            _suspects.update(map(chr, range(first, last + 1)))
    return _suspects.isdisjoint(text)


def safe(text: str) -> str:
    """Text from agents is data: no escape sequence of theirs reaches the terminal."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" or letter in KEPT else _shown(letter)
        for letter in visible(text)
    )


def _shown(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)  # a picture of the control character
    return UNKNOWN


# Escape and its like.
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


def harmless(text: str) -> str:
    """A document that is safe to show with `cat`, and to give to an agent. Every letter of every language
    stays."""
    text = visible(text).translate(_CONTROLS)
    if "\r" not in text:
        return text
    ends = text.replace("\r\n", "\0")  # a return alone would write over its own line
    return ends.replace("\r", "\N{SYMBOL FOR CARRIAGE RETURN}").replace("\0", "\r\n")


# JSON escapes the first 32 by itself.
_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x20}


def harmless_json(text: str) -> str:
    """The same for a JSON text: what is unseen is escaped, so that it means what it meant."""
    if text.isascii() and "\x7f" not in text:
        return text
    if not is_plain(text):
        text = _ONE_HIDDEN.sub(lambda match: _escape(match[0]), text)
    return text.translate(_ESCAPES)


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def without_nul(text: str) -> str:
    """A text for a store that has no place for NUL: PostgreSQL, files that shells read."""
    return text.replace("\0", UNKNOWN)


def one_line(text: str, most: int = 0) -> str:
    """A text on one line, with single spaces. A text of several lines could look like a part of what
    surrounds it. Of one with more than `most` characters the beginning stays; 0 is no limit."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1] + "…"


def nearest(name: str, known: Collection[str], otherwise: str | None = None) -> str:
    """`Did you mean X?`, for the known name that is most like a name; where none is, `otherwise`, or all that are
    known."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    return f"Known are: {', '.join(known)}." if otherwise is None else otherwise


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text: names, or the options of a command, without a line for each."""
    return tuple(text.split())


def quoted(text: str, most: int = 240) -> str:
    """A text of others as a literal inside a sentence of ours: one line in quotation marks, which it cannot
    close, of at most so many characters."""
    line = one_line(harmless(text).replace('"', "'").replace("`", "'"), most)
    return f'"{line}"'


def literal(name: str, most: int = 200) -> str:
    """A name as it is, if it is one word such as a path; otherwise quoted: it could be a sentence."""
    is_word = all(letter.isalnum() or letter in "_./@+:,~=#%-" for letter in name)
    return name if name and is_word and len(name) <= most else quoted(name, most)


# The letters of a word that no shell takes for anything else, as `shlex.quote` has them: a hook has no time
# for its import.
_PLAIN = frozenset("%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


def quote(word: str) -> str:
    """A value as one word of a command that a person or an agent may run as it is printed."""
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def command(*words: str) -> str:
    """The command `holdfast` with these words."""
    return " ".join(["holdfast", *map(quote, words)])


def code(command: str) -> str:
    """A command inside a sentence: between backticks, of which it holds none so long."""
    return f"`{command}`" if "`" not in command else f"`` {command} ``"


# What a client would read a file for, anywhere in a prompt, and a letter that looks like it.
AT_SIGN, WIDE_AT_SIGN = "@", "\N{FULLWIDTH COMMERCIAL AT}"
# How the first prompt of a handover begins; the request follows.
HANDED_OVER = "Continue this work: "
ABOUT_SIGNS = f"\n({WIDE_AT_SIGN} stands for the at sign here.)"


def defuse(text: str) -> str:
    """A text of others for a prompt that a client reads before its model does: `@path` names no file there.
    Gemini CLI and Qwen Code take it for one in the middle of a word, too."""
    return text.replace(AT_SIGN, WIDE_AT_SIGN)


def without_order(request: str) -> str:
    """Return a request without the words with which a handover asks for it."""
    return request.removeprefix(HANDED_OVER)


def undo_defuse(text: str) -> str:
    return text.replace(WIDE_AT_SIGN, AT_SIGN)


def width(text: str) -> int:
    """How many columns a text takes; some letters take two, and some none."""
    return len(text) if text.isascii() else sum(letter_width(letter) for letter in text)


def letter_width(letter: str) -> int:
    if letter.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    if combining(letter) or letter in KEPT:
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def fit(text: str, columns: int) -> str:
    """The beginning of a text that fits into so many columns."""
    if width(text) <= columns:
        return text
    kept, taken = "", 1
    for letter in text:
        taken += letter_width(letter)
        if taken > columns:
            break
        kept += letter
    return f"{kept.rstrip()}…" if columns > 0 else ""


def plural(count: int, one: str, many: str = "") -> str:
    """A number of things: `1 hook`, `2 hooks`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
