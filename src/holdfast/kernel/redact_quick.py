"""The quick test of redaction: which literals of the rules occur in a text.

It runs on every record. Clean text ends here, and loads no regular expression.
"""

from __future__ import annotations

from holdfast.kernel.redact_rules import KEYS, RULES, WEAK_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.redact_rules import Rule

# Where the rules of each literal stand in the list.
_PLACES: dict[str, list[int]] = {}
for _place, (_, _literals, _) in enumerate(RULES):
    for _literal in _literals:
        _PLACES.setdefault(_literal, []).append(_place)
# The literals again, as the quick test wants them; to look for a word in 2 KB takes a microsecond, for a letter
# a twentieth of it. Names are looked for before each `=` and `:`: a name, its ending, a quote and three
# blanks, which JSON spells in six letters each, take no more than that. Options are looked for behind each `-`,
# and keys where a long word is. The others stand behind a sign or a word that most texts lack.
BEFORE_SIGN = 40
BEFORE_RUN = 20
# What must occur, and the literals that are looked for then.
_GATES: dict[str, tuple[str, ...]] = {
    "@": ("://", "sqlplus ", "thin:"),
    "$": (
        "access_token$",
        "$1$",
        "$2a$",
        "$2b$",
        "$2y$",
        "$5$",
        "$6$",
        "$y$",
        "$apr1$",
        "$argon2",
        "$pbkdf2",
    ),
    "%": ("%3a%2f%2f", "bearer%20"),
    "*": (":*:",),
    ">": ("password>", "passwd>", "passphrase>", "token>", "secret>", "key>", "pwd>"),
    "|": ("echo ", "printf "),
    "passw": (
        "password ",
        "password\t",
        "password(",
        "password',",
        'password",',
        "passwd ",
        "login",
        "machine ",
    ),
    "passp": ("passphrase ", "passphrase"),
    "requirepass": ("requirepass ",),
    "identified": ("identified by",),
}
_PERCENT = {"%3a%2f%2f": "://", "bearer%20": "bearer "}
_NAMED: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("secret", "token", "pwd", "credential", "mnemonic")},
    "pass": ("passw", "passphrase", "passcode"),
    "key": KEYS,
    "cookie": ("cookie",),
    "authorization": ("authorization",),
    "sig": ("signature", "sig"),
    "phrase": ("seed phrase", "seed_phrase", "recovery phrase"),
    "432": (":5432:", ":6432:"),
}
_PROGRAMS = (
    *("curl", "wget", "http", "sshpass", "mysql", "mariadb", " login", "redis-cli", "ldap", "7z"),
    *("zip ", "mongo", "sqlcmd", "bcp ", "smbclient", "security ", "cqlsh", "influx", "openssl"),
)
_SHORT_OPTIONS = (" -u", " -p", " -a", " -w", " -P", " -U", " -b", " -k")
_PRIVATE_KEY = ("-----begin", "---- begin")
_BEFORE_LONG_WORDS = (
    *("bearer ", "basic ", "oauth:", "private-lines:", "key ", "secret ", "token ", "://"),
)
_HOSTS = (
    *("hooks.slack.com/", "webhook.office.com/", "logic.azure.com", "hooks.zapier.com/"),
    *("chat.googleapis.com/", "discord.com/api/", "discordapp.com/api/"),
)
_OPTIONS: dict[str, list[str]] = {}
_PREFIX_TAILS: dict[str, dict[str, list[str]]] = {sign: {} for sign in "_-."}
_IN_LONG_WORDS: list[str] = []
for _literal in sorted(
    set(_PLACES).difference(
        *_GATES.values(),
        *_NAMED.values(),
        WEAK_NAMES,
        _SHORT_OPTIONS,
        _PRIVATE_KEY,
        _BEFORE_LONG_WORDS,
        _HOSTS,
    )
):
    if _literal[-1] in "_-." and not any(_sign in _literal[:-1] for _sign in "_-."):
        _PREFIX_TAILS[_literal[-1]].setdefault(_literal[-3:-1], []).append(_literal[:-1])
    elif _literal.startswith("-") and _literal != "-us":
        _OPTIONS.setdefault(_literal[1:4], []).append(_literal)
    else:
        _IN_LONG_WORDS.append(_literal)
_LOWER_IN_LONG_WORDS = [_literal for _literal in _IN_LONG_WORDS if _literal == _literal.lower()]
# Where a key or a text in base64 may be: so many letters, digits, `_` and `-` in a row.
_RUN = "a" * 16
_RUNS = {code: "a" if chr(code).isalnum() or chr(code) in "_-" else " " for code in range(128)}
_WEAK_ENDS = frozenset(
    ending
    for name in WEAK_NAMES
    for ending in (name[-2:], *(name[-1] + one for one in " \t\n\"'`\\s"))
) | frozenset(f"{one}{other}" for one in "\\ \"'ntr" for other in " \"'`ntr")
_AROUND_NAMES = " \t\n\r\"'`\\"
BASE64 = "base64"


# The beginnings of secrets in base64, each at its three places among the letters.
_STEMS_LINES = """
LS0tLS1CRUdJT 0tLS0tQkVHSU tLS0tLUJFR0lO QUtJQ FLSU BS0lB Z2hwX docF naHBf Z2l0aHViX3BhdF
dpdGh1Yl9wYXRf naXRodWJfcGF0X Z2xwYXQt dscGF0L nbHBhdC c2stYW50L NrLWFudC zay1hbnQt c2stcHJvai
NrLXByb2ot zay1wcm9qL c2tfbGl2ZV NrX2xpdmVf za19saXZlX eG94Yi hveGIt 4b3hiL eG94cC hveHAt 4b3hwL
QUl6Y FJem BSXph bnBtX 5wbV ucG1f cHlwaS B5cGkt weXBpL ZXlKaGJHY2 V5SmhiR2Np leUpoYkdja cGFzc3dvcm
Bhc3N3b3Jk wYXNzd29yZ UEFTU1dPUk BBU1NXT1JE QQVNTV09SR c2VjcmV0 NlY3Jld zZWNyZX U0VDUkVU NFQ1JFV
TRUNSRV dG9rZW Rva2Vu 0b2tlb VE9LRU RPS0VO UT0tFT YXBpX2tle FwaV9rZX hcGlfa2V5 QVBJX0tFW FQSV9LRV
BUElfS0VZ cG9zdGdyZXM6 Bvc3RncmVzO wb3N0Z3Jlcz bXlzcWw6 15c3FsO teXNxbD bW9uZ29kY 1vbmdvZG
tb25nb2Ri cmVkaXM6 JlZGlzO yZWRpcz
"""
_BASE64_STEMS = tuple(_STEMS_LINES.split())


def literals_in(text: str) -> set[str]:
    """Every literal of the rules that occurs in a text, or in the JSON spelling of one."""
    if "\\" in text and (
        "\\\n" in text or "\\\\\\n" in text
    ):  # a line that goes on, also as JSON spells it
        text = text.replace("\\\\\\n", "").replace("\\\n", "")
    lowered = text.lower()
    found: set[str] = set()
    for gate, literals in _GATES.items():
        if gate in lowered:
            found.update([literal for literal in literals if literal in lowered])
            if gate == "%":
                found.update([_PERCENT[literal] for literal in _PERCENT if literal in found])
    signs = lowered.replace("=", ":") if "=" in lowered else lowered
    if "%" in lowered and "%3" in lowered:
        signs = signs.replace("%3d", ":").replace("%3a", ":")
    pieces = signs.split(":")
    pieces.pop()
    names = "\0".join([piece[-BEFORE_SIGN:] for piece in pieces])
    for name, literals in _NAMED.items():
        if name in names:
            found.update([literal for literal in literals if literal in names or literal[0] == ":"])
    for piece in pieces:
        if piece[-2:] in _WEAK_ENDS and piece[-8:].rstrip(_AROUND_NAMES).endswith(WEAK_NAMES):
            found.update([weak for weak in WEAK_NAMES if weak in piece[-8:]])
    _find_options(text, lowered, found)
    runs = text.translate(_RUNS)
    if _RUN in runs:
        _find_keys(text, lowered, runs, found)
    return found


def _find_options(text: str, lowered: str, found: set[str]) -> None:
    """Find the literals that begin with a dash."""
    has_dashes = has_options = False
    before = ""
    for piece in lowered.split("-"):
        start = piece[:3]
        if start in _OPTIONS:
            found.update(
                [literal for literal in _OPTIONS[start] if f"-{piece[:16]} ".startswith(literal)]
            )
        if not piece:
            has_dashes = True
        elif start[0] in "upawbk" and before[-1:] == " ":
            has_options = True
        before = piece
    if has_dashes:
        found.update([literal for literal in _PRIVATE_KEY if literal in lowered])
    if has_options and any(program in lowered for program in _PROGRAMS):
        found.update([option for option in _SHORT_OPTIONS if option in text])


def _find_keys(text: str, lowered: str, runs: str, found: set[str]) -> None:
    """Find the literals of keys in the long words, and what may be base64."""
    words = set()
    start = runs.find(_RUN)
    while start >= 0:
        end = runs.find(" ", start)
        word = text[start:end] if end >= 0 else text[start:]
        parts = word.replace("-", "_").split("_")
        # Words joined by signs, without a digit, are a name.
        if not "".join(parts).isalpha() or len(max(parts, key=len)) >= len(_RUN):
            words.add(text[max(0, start - BEFORE_RUN) : start] + word)
        start = runs.find(_RUN, end) if end >= 0 else -1
    if not words:
        return
    joined = "\0".join(words)
    small = joined.lower()
    found.update([literal for literal in _BEFORE_LONG_WORDS if literal in small])
    if "://" in lowered:
        found.update([literal for literal in _HOSTS if literal in lowered])
    for sign, tails in _PREFIX_TAILS.items():
        for piece in joined.split(sign):
            if piece[-2:] in tails:
                prefixes = tails[piece[-2:]]
                found.update([prefix + sign for prefix in prefixes if _ends_in(piece, prefix)])
    if joined == small:
        found.update([literal for literal in _LOWER_IN_LONG_WORDS if literal in joined])
        return
    found.update([literal for literal in _IN_LONG_WORDS if literal in joined])
    for stem in _BASE64_STEMS:
        if stem in joined:
            found.add(BASE64)
            break


def _ends_in(text: str, word: str) -> bool:
    """Whether it ends in the word, and not merely in the end of a longer one.

    In JSON, the letter before it may be the end of an escape, such as the n of a line break.
    """
    if not text.endswith(word):
        return False
    before = text[: -len(word)]
    return (
        not before[-1:].isalnum()
        or before[-2:-1] == "\\"
        or before[-6:-4] == "\\u"
        or before[-3:-2] == "%"
    )


def suspects(found: set[str]) -> list[Rule]:
    """The rules of which a literal was found, each with those that were."""
    suspects: list[Rule] = []
    places = {place for literal in found if literal != BASE64 for place in _PLACES[literal]}
    for place in sorted(places):
        name, literals, pattern = RULES[place]
        suspects.append((name, tuple([each for each in literals if each in found]), pattern))
    if BASE64 in found:
        suspects.append((BASE64, (), ""))
    return suspects
