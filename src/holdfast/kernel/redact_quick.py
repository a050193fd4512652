"""The quick test of redaction: which literals of the rules occur in a text.

It runs on every record. Clean text ends here, and loads no regular expression.
"""

from __future__ import annotations

from holdfast.kernel.redact_rules import (
    BESIDE_BARS,
    CONTEXT_ENDS,
    CONTEXT_GATES,
    CONTEXT_LITERALS,
    CONTEXT_NAMES,
    CONTEXT_TAGS,
    KEYS,
    LONGEST_END,
    RULES,
    WEAK_NAMES,
    WITH_PASS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.redact_rules import Rule

# Where the rules of each literal stand in the list.
_PLACES: dict[str, list[int]] = {}
for _place, (_, _literals, _) in enumerate(RULES):
    for _literal in _literals:
        _PLACES.setdefault(_literal, []).append(_place)
# The literals again, as the quick test wants them; to look for a word in 2 KB takes half a microsecond, for a letter
# a twentieth of it. Names are looked for before each `=` and `:`: a name, its ending, a quote and three
# blanks, which JSON spells in six letters each, take no more than that. Options are looked for behind each `-`,
# and keys at the beginnings of long words. The others stand behind a sign or a word that most texts lack.
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
    "|": ("echo ", "printf ", '|| \\"', *BESIDE_BARS),
    "identified": ("identified by",),
    **CONTEXT_GATES,
}
# The last letters of what stands before a sign.
_TAIL = 3
_TAILS = {
    sign: frozenset([end[-_TAIL:] for end in ends])
    for sign, ends in (*CONTEXT_ENDS.items(), *CONTEXT_TAGS.items())
}
_ENDS_BY_MARKER = (("(", CONTEXT_ENDS), ("</", CONTEXT_TAGS))
_TAILS_OF_NAMES = frozenset([name[-_TAIL:] for name in CONTEXT_NAMES])
# What follows on `pass`, and the literals that are looked for then.
_PASS: dict[str, tuple[str, ...]] = {
    "w": (
        "password ",
        "password\t",
        "password(",
        "password',",
        'password",',
        "passwd ",
        "passwort ",
        "login",
        "machine ",
        "htpasswd ",
        *WITH_PASS,
    ),
    "p": ("passphrase ", "passphrase"),
    " ": ("requirepass ",),
}
# The same literal as a URL or JSON spells it.
_SPELLINGS = {"%3a%2f%2f": "://", "bearer%20": "bearer ", '|| \\"': '|| "'}
_NAMED: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("secret", "token", "credential", "mnemonic", "cookie")},
    "key": KEYS,
    "pass": ("passw", "passphrase", "passcode"),
    "auth": ("authorization", "oauth:"),
    "pw": ("pwd",),
    "psk": (),
    "private-lines": ("private-lines:",),
    "sig": ("signature", "sig"),
    "phrase": ("seed phrase", "seed_phrase", "recovery phrase"),
    "432": (":5432:", ":6432:"),
}
_PROGRAMS = (
    "curl",
    "wget",
    "http",
    "sshpass",
    "mysql",
    "mariadb",
    " login",
    "redis-cli",
    "ldap",
    "7z",
    "zip ",
    "mongo",
    "sqlcmd",
    "bcp ",
    "smbclient",
    "security ",
    "cqlsh",
    "influx",
    "openssl",
    "secret set",
    "altool",
    "ipmitool",
    "lftp",
    "az ",
    "--user",
    " -u",
)
_SHORT_OPTIONS = (" -u", " -p", " -a", " -w", " -P", " -U", " -b", " -k", " -A")
_PRIVATE_KEY = ("-----begin", "---- begin")
_BEFORE_LONG_WORDS = ("bearer ", "basic ", "key ", "secret ", "token ")
_HOSTS = {
    "hook": (
        "hooks.slack.com/",
        "webhook.office.com/",
        "hooks.zapier.com/",
        "hooks/",
        "hook/",
    ),
    "logic.azure": ("logic.azure.com",),
    "discord": ("discord.com/api/", "discordapp.com/api/"),
    "chat.google": ("chat.googleapis.com/",),
}
# Two letters, with those that follow: the data centre at the end of a key, and the beginning of one.
_CONTINUED = {"-us": "0123456789", "SK": "0123456789abcdef"}
# In the middle of a key: a mark in 84 letters.
_IN_BLOBS, _BLOB = "JQQJ9", 80
# A key of parts of a known length with dots between.
DOTTED = "."
_ANYWHERE = {"/": "1//0", "~": "8Q~", ":": ":AA"}
_OPTIONS: dict[str, list[str]] = {}
# The other literals by their first three letters, a shorter one by all of them; `sk-` by two.
_HEADS: dict[str, list[str]] = {}
_BEFORE_DOTS: dict[str, list[str]] = {}
_BEHIND_DOTS: dict[str, list[str]] = {}
for _literal in sorted(
    set(_PLACES).difference(
        *_GATES.values(),
        *_PASS.values(),
        *_NAMED.values(),
        *_HOSTS.values(),
        CONTEXT_LITERALS,
        WEAK_NAMES,
        _SHORT_OPTIONS,
        _PRIVATE_KEY,
        _BEFORE_LONG_WORDS,
        _ANYWHERE.values(),
        (DOTTED,),
    )
):
    if _literal in _CONTINUED:
        for _letter in _CONTINUED[_literal]:
            _HEADS[_literal.strip("-") + _letter] = [_literal]
    elif _literal.startswith("-"):
        _OPTIONS.setdefault(_literal[1:4], []).append(_literal)
    elif _literal.startswith("."):
        _BEHIND_DOTS.setdefault(_literal[1:6], []).append(_literal)
    elif _literal.endswith("."):
        _BEFORE_DOTS.setdefault(_literal[-3:-1], []).append(_literal)
    elif not _literal.startswith(_IN_BLOBS):
        _HEADS.setdefault(_literal[:3].rstrip("_-"), []).append(_literal)
# Where a key or a text in base64 may be: so many letters, digits, `_` and `-` in a row.
_RUN = b"a" * 16
_WORD_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_RUNS = bytes([97 if code in _WORD_LETTERS else 32 for code in range(256)])
_KINDS = bytes(
    [48 if 48 <= code < 58 else 97 if chr(code).isalpha() else 32 for code in range(256)]
)
# How many letters of a word may belong to an escape that these begin.
_ESCAPES = {ord("\\"): 1, ord("%"): 2}
_AROUND_NAMES = ("\\n", *" \t\n\r\"'`\\")
_ENDINGS_OF_NAMES = ("", "value", "data")
_KINDS_OF_MANIFEST = ("kind: secret", 'kind": "secret"', 'kind":"secret"', 'kind\\": \\"secret\\"')
# How far before a word that looks random its name may stand on the line.
NEAR_LETTERS, SHORTEST_NEAR, _NEAR_IN_JSON = 60, 20, 180
NEAR_NAMES = ("token", "secret", "password", "credential", "apikey", "api key", "api_key", "passwd")
BASE64 = "base64"
COLUMN = "column"
MANIFEST = "manifest"
NEAR = "near-name"
_FUNCTIONS = (BASE64, COLUMN, MANIFEST, NEAR)  # of `redact_search`, where others are patterns
_BESIDE_COLUMNS = (
    "password,",
    ",password",
    ", password",
    "password;",
    ";password",
    "password\\t",
    "password |",
    "| password",
    "\\tpassword",
    "password\t",
    "\tpassword",
    'password"',
    'password\\"',
    "password`",
    "password)",
)


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
# In base64 of plain text, each fourth letter is one of these.
_FOURTH_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"


def literals_in(text: str) -> set[str]:
    """Every literal of the rules that occurs in a text, or in the JSON spelling of one."""
    # A line that goes on, also as JSON spells it.
    if "\\" in text and (("\n" in text and "\\\n" in text) or "\\\\\\n" in text):
        text = text.replace("\\\\\\n", "").replace("\\\n", "")
    lowered = text.lower()
    if "%" in text and "%25" in text:  # encoded twice
        text, lowered = text.replace("%25", "%"), lowered.replace("%25", "%")
    found: set[str] = set()
    for gate, literals in _GATES.items():
        if gate in lowered:
            found.update([literal for literal in literals if literal in lowered])
            if gate in "%|":
                found.update([_SPELLINGS[literal] for literal in _SPELLINGS if literal in found])
    for marker, ends_by_sign in _ENDS_BY_MARKER:
        if marker not in lowered:
            continue
        plain_quotes = lowered.replace('\\"', '"')
        for sign, ends in ends_by_sign.items():
            fronts = plain_quotes.split(sign)
            fronts.pop()
            if not _TAILS[sign].isdisjoint([front[-_TAIL:] for front in fronts]):
                joined = "\0".join([*[front[-LONGEST_END:] for front in fronts], ""])
                found.update([end + sign for end in ends if f"{end}\0" in joined])
    if "kind" in lowered:
        found.update([MANIFEST for kind in _KINDS_OF_MANIFEST if kind in lowered])
    if "pass" in lowered:
        following = [piece[:1] for piece in lowered.split("pass")]
        for letter, literals in _PASS.items():
            if letter in following:
                found.update([literal for literal in literals if literal in lowered])
        if "w" in following and any(literal in lowered for literal in _BESIDE_COLUMNS):
            found.add(COLUMN)
    signs = lowered.replace("=", ":") if "=" in lowered else lowered
    if "%" in lowered and "%3" in lowered:
        signs = signs.replace("%3d", ":").replace("%3a", ":")
    pieces = signs.split(":")
    pieces.pop()
    names = "\0".join([piece[-BEFORE_SIGN:] for piece in pieces])
    for name, literals in _NAMED.items():
        if name in names:
            found.update([literal for literal in literals if literal.strip(":") in names])
            if name in WEAK_NAMES and _ends_a_piece(name, names):
                found.add(name)
    if not _TAILS_OF_NAMES.isdisjoint([piece[-_TAIL:] for piece in pieces]):
        found.update(
            [literal for name, literal in CONTEXT_NAMES.items() if f"{name}\0" in f"{names}\0"]
        )
    _find_options(text, lowered, found)
    plain = text.encode("latin-1", "replace")  # a byte for each letter
    runs = plain.translate(_RUNS)
    if _RUN in runs:
        _find_keys(text, plain, runs, found)
    if "AKIA" in found and "secret access key" in lowered:
        found.add(COLUMN)
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


def _ends_a_piece(name: str, names: str) -> bool:
    """Return whether a name stands right before a sign, or before quotes and blanks."""
    for around in _AROUND_NAMES:
        if around in names:
            names = names.replace(around, "")
    names = f"{names}\0"
    for ending in _ENDINGS_OF_NAMES:  # noqa: SIM110  # for each record
        if f"{name}{ending}\0" in names:
            return True
    return False


def _find_keys(text: str, plain: bytes, runs: bytes, found: set[str]) -> None:
    """Find the literals of keys in and before the long words, and what may be base64."""
    words, before, starts = _list_long_words(text, plain, runs)
    if not words:
        return
    front = "\0".join(before)
    small = front.lower()
    found.update([literal for literal in _BEFORE_LONG_WORDS if literal in small])
    if "//" in text:
        lowered = text.lower()
        for gate, literals in _HOSTS.items():
            if gate in lowered:
                found.update([literal for literal in literals if literal in lowered])
    found.update(
        [literal for gate, literal in _ANYWHERE.items() if gate in front and literal in text]
    )
    if "." in front:
        _find_beside_dots(text, found)
        dotted = [one for one in before if one[-1:] == "."]
        if any(one[-8:-7] == "." or one[-18:-15] == "pat" for one in dotted):
            found.add(DOTTED)
    joined = " ".join(words)
    pieces = joined.replace("-", " ").replace("_", " ").split(" ")
    for head in _HEADS.keys() & {piece[:3] for piece in pieces}:
        found.update([literal for literal in _HEADS[head] if literal in joined])
    if joined == joined.lower():
        return
    near = [
        text[start - _NEAR_IN_JSON if start > _NEAR_IN_JSON else 0 : start]
        for word, start in zip(words, starts, strict=True)
        if len(word) >= SHORTEST_NEAR and not word.islower() and not word.isupper()
    ]
    if near:
        small = "\0".join(near).lower()
        found.update([NEAR for name in NEAR_NAMES if name in small])
    if _IN_BLOBS in joined and len(max(words, key=len)) >= _BLOB:
        found.update([literal for literal in _PLACES if literal.startswith(_IN_BLOBS)])
    texts = [word for word in words if not word[::4].strip(_FOURTH_LETTERS)]
    if texts and _is_encoded(texts):
        found.add(BASE64)


def _is_encoded(words: list[str]) -> bool:
    """Return whether words begin as secrets do in base64, or in base64 of base64."""
    import binascii

    encoded = [word[: len(word) & ~3].replace("-", "+").replace("_", "/") for word in words]
    inner = [binascii.a2b_base64(word).decode("latin-1") for word in encoded]
    joined = " ".join([*words, *inner])
    return any(stem in joined for stem in _BASE64_STEMS)


def _list_long_words(
    text: str, plain: bytes, runs: bytes
) -> tuple[list[str], list[str], list[int]]:
    """Return the long words, except names without a digit, what stands before each, and where each begins."""
    kinds = plain.translate(_KINDS)
    words, before, starts = [], [], []
    start = runs.find(_RUN)
    while start >= 0:
        end = runs.find(b" ", start)
        if end < 0:
            end = len(text)
        if kinds.find(b"0", start, end) >= 0 or kinds.find(_RUN, start, end) >= 0:
            words.append(text[start:end])
            starts.append(start)
            skipped = _ESCAPES.get(plain[start - 1])
            if skipped:  # without the end of an escape of JSON or of a URL
                words.append(text[start + (5 if text[start] == "u" else skipped) : end])
                starts.append(start)
            before.append(text[start - BEFORE_RUN if start > BEFORE_RUN else 0 : start])
        start = runs.find(_RUN, end)
    return words, before, starts


def _find_beside_dots(text: str, found: set[str]) -> None:
    """Find the literals that end or begin with a dot."""
    pieces = text.split(".")
    for ending in _BEFORE_DOTS.keys() & {piece[-2:] for piece in pieces}:
        found.update([literal for literal in _BEFORE_DOTS[ending] if literal in text])
    for beginning in _BEHIND_DOTS.keys() & {piece[:5] for piece in pieces}:
        found.update([literal for literal in _BEHIND_DOTS[beginning] if literal in text])


def suspects(found: set[str]) -> list[Rule]:
    """The rules of which a literal was found, each with those that were."""
    suspects: list[Rule] = []
    places = {place for literal in found if literal in _PLACES for place in _PLACES[literal]}
    for place in sorted(places):
        name, literals, pattern = RULES[place]
        suspects.append((name, tuple([each for each in literals if each in found]), pattern))
    suspects += [(name, (), "") for name in _FUNCTIONS if name in found]
    return suspects
