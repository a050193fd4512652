"""Whether what a rule of redaction found is a secret: not a path, code, prose or a placeholder."""

from __future__ import annotations

import binascii
from itertools import pairwise

from holdfast.kernel.redact_quick import BEFORE_SIGN
from holdfast.kernel.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

SHORTEST_SECRET = 8
SHORTEST_COLUMN = 6
LONGEST_WORD = 12  # a shorter value of lower-case letters is a word such as "disabled"
# How far before an option its program may stand.
LONGEST_COMMAND = 400

_PLACEHOLDERS = (
    *split_words("/ ./ ../ ~ http:// https:// os. env. process. ... *** = |"),
    *split_words("xxx XXX your YOUR secrets. vars. self. this. file: env: op://"),
    "arn:",
    "data:",
    "projects/",
    "\\",
    "*",
    "%(",
    "%s",
    "&",
    "$",
)
_PASSWORD_IS_P = (
    *("sshpass", " login", "mongo", "7z", "cqlsh", "influx", "altool", "security ", "az ", "twine"),
)
_OPTIONS_OF_USERS = (" -u ", " -u=", " --user", " -user", " --username", " -username")
# How far before its value the name of a default value may stand.
BEFORE_DEFAULT = 60
_SIGNS_INSIDE = str.maketrans("", "", "_-/+~=")
_LETTERS_OF_OPTIONS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_SECRET_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "key",
    "cred",
    "auth",
    "pwd",
    "pass",
)


def decode(run: str) -> str:
    """The text of a run of base64, or nothing where it holds none."""
    letters = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    letters += "=" * (-len(letters) % 4)
    try:
        text = binascii.a2b_base64(letters).decode("ascii")
    except ValueError:
        return ""
    return text if all(letter.isprintable() or letter in "\r\n\t" for letter in text) else ""


def is_mixed(text: str) -> bool:
    """Whether capitals stand among small letters as they do by chance, not as in a name."""
    changes = sum(a.islower() != b.islower() for a, b in pairwise(text))
    return len(text) >= 8 and changes * 3 >= len(text)


def is_free(value: str) -> bool:
    """Whether a value can be a secret at all: no path, variable, template or mark."""
    return not value.startswith(_PLACEHOLDERS) and "[redacted:" not in value and "${" not in value


def _is_plain_word(value: str) -> bool:
    return value.isalpha() and value.islower()


def _is_code(value: str) -> bool:
    """Whether a value is a name from a program, such as `raw.BearerToken` or `api_key`."""
    parts = value.rstrip(".").split(".")
    if not all(part.isidentifier() for part in parts) or any(one.isdigit() for one in value):
        return False
    last = parts[-1]
    return len(parts) > 1 or (last[0].islower() and last.lower().endswith(_SECRET_WORDS))


def _has_digit_and_letter(value: str) -> bool:
    return any(one.isdigit() for one in value) and any(one.isalpha() for one in value)


def _longest_run(value: str) -> str:
    for sign in "_-./+~=:":
        value = value.replace(sign, " ")
    return max(value.split(), key=len, default="")


def _is_random(value: str, shortest: int) -> bool:
    """Whether a value holds a long enough run of letters and digits among each other."""
    run = _longest_run(value)
    digits = sum(one.isdigit() for one in run)
    if len(run) >= shortest and (2 <= digits <= len(run) - 2 or is_mixed(run)):
        return True
    joined = value.translate(_SIGNS_INSIDE)
    return joined.isalnum() and len(joined) >= shortest + 8 and is_mixed(joined)


def is_generated(value: str) -> bool:
    """Return whether a program made up a value: its kinds of letters change more often than in names."""
    run = _longest_run(value)
    if len(run) < 20 or run.lower() == run or run == run.upper() or run.isalpha():
        return False
    kinds = ["9" if one.isdigit() else "a" if one.islower() else "A" for one in run]
    return sum(a != b for a, b in pairwise(kinds)) * 20 >= len(run) * 9


def _judge_named(match: re.Match[str], text: str, value: str) -> bool:
    """`password=correcthorse` is a secret; "token: required" is a sentence, `Token: raw.Token` code."""
    if not is_free(value) or (match["after"] and value.endswith(":")):
        return False  # the name of the next line's value
    name = match["keep"].lower()
    is_password = "passw" in name or "pwd" in name or "passphrase" in name or "passcode" in name
    is_spaced = bool(match["after"])
    if len(value) < SHORTEST_SECRET and not (
        is_password and (_has_digit_and_letter(value) or not value.isalnum())
    ):
        return False
    if value.isdigit():
        return is_password and not is_spaced
    if match["quoted"] is not None:
        return is_password or not (_is_plain_word(value) and len(value) < LONGEST_WORD)
    if _is_code(value) or (is_spaced and (_is_plain_word(value) or _is_name(value))):
        return False
    return not value.startswith("-")


def _is_name(value: str) -> bool:
    """Whether a value is a plain name of a program: a type, a constant or a variable."""
    return value.isidentifier() and not any(one.isdigit() for one in value) and not is_mixed(value)


def _judge_weak(match: re.Match[str], text: str, value: str) -> bool:
    name = match["name"].lower()
    if not is_free(value):
        return False
    before = text[match.start() - 1 : match.start()]
    if name.startswith(("pass", "pw", "psk")):
        if match["name"].isupper() and match["after"] and "value" not in match["keep"].lower():
            return False  # "PASS: " of a test
        is_joined = before.isupper() and match["name"].isupper() and not match["after"]
        if (before.isalpha() and not is_joined) or _is_code(value):
            return False
        return _has_digit_and_letter(value) or (not match["after"] and is_mixed(value))
    if name.startswith("auth"):
        return _holds_userinfo(value) or _is_random(value, 20)
    is_joined = bool(before) and (
        before in "_-." or (before.islower() and match["name"][0].isupper())
    )
    return is_joined and _is_random(value, 20)


def _holds_userinfo(value: str) -> bool:
    """Whether it is base64 of `user:password`."""
    return ":" in decode(value) if len(value) >= SHORTEST_SECRET else False


def _judge_prefixed(match: re.Match[str], text: str, value: str) -> bool:
    if text[match.start() - 1 : match.start()] in ("+", "/"):
        return False  # in the middle of base64
    _, _, rest = value.replace("-", "_").replace(".", "_").partition("_")
    return _is_random(rest or value, 12) or len(_longest_run(rest)) >= 24


def _judge_url(match: re.Match[str], text: str, value: str) -> bool:
    return is_free(value) and value.lower() not in ("password", "pass", "pwd", "secret", "token")


def _judge_random(match: re.Match[str], text: str, value: str) -> bool:
    return is_free(value) and _is_random(value, 12)


def _judge_authorization(match: re.Match[str], text: str, value: str) -> bool:
    if not is_free(value):
        return False
    keep = match["keep"].lower()
    if keep.startswith("basic"):
        return _holds_userinfo(value)
    if keep.startswith("bearer") and len(value) < LONGEST_WORD:
        return False
    if value.isalpha():
        return is_mixed(value) or _holds_userinfo(value)
    return not _is_code(value)


def _judge_option(match: re.Match[str], text: str, value: str) -> bool:
    if not is_free(value):
        return False
    keep = match["keep"].lower()
    before = text[max(0, match.start() - BEFORE_SIGN) : match.start()]
    front = before[len(before.rstrip(_LETTERS_OF_OPTIONS)) :]
    if not (front or keep).startswith("-"):
        return False  # the end of a word such as "refresh-token"
    if any(one in keep for one in ("body", "value", "string")):
        line = text[max(0, match.start() - LONGEST_COMMAND) : match.start()].rpartition("\n")[2]
        return any(one in line for one in ("secret set", "put-parameter", "secretsmanager"))
    if "user" in keep or "creds" in keep:
        user, sign, password = value.partition(":")
        return bool(sign and password and user) and not value.replace(":", "").isdigit()
    if value.isupper() and value.isalpha():
        return False  # the name of a value, in a help text
    if "-key" in keep and not _is_random(value, 12):
        return False
    return not _is_plain_word(value) and not value.startswith(("id=", "-", ".")) and len(value) > 4


def _judge_short_option(match: re.Match[str], text: str, value: str) -> bool:
    """By the program: `-p` is a password for some and a port for others."""
    line = text[max(0, match.start() - LONGEST_COMMAND) : match.start()].lower()
    line = line.replace("\\\r\n", " ").replace("\\\n", " ").rpartition("\n")[2]
    line = line[max(line.rfind("|"), line.rfind(";"), line.rfind("&&")) + 1 :]
    option, is_apart, line = match["name"], bool(match["after"]), f"{line} "
    if not is_free(value) or value.isdigit():
        return False
    if option == "b" and "secret set" in line:
        return True
    if option == "u" and "lftp" in line:
        return "," in value
    if option in "uUa" and any(one in line for one in ("curl", "wget", "http")):
        return ":" in value.strip(":") and "://" not in value
    if option == "b" and "curl" in line:
        return "=" in value and len(value) >= LONGEST_WORD
    if option == "U" and "smbclient" in line:
        return "%" in value
    if option == "p":
        if "mysql" in line or "maria" in line:
            return not is_apart
        if any(one in line for one in _PASSWORD_IS_P):
            return True
        is_named = any(one in line for one in _OPTIONS_OF_USERS)
        return is_named and not _is_path(value) and _has_digit_and_letter(value)
    if option in "PA":
        is_named = any(one in line for one in _OPTIONS_OF_USERS)
        has_program = any(one in line for one in ("zip ", "sqlcmd", "bcp ", "ipmitool"))
        return (option == "P" and has_program) or (
            is_named
            and not _is_path(value)
            and _has_digit_and_letter(value)
            and not _is_field(value)
        )
    if option == "a":
        return "redis-cli" in line
    if option == "w":
        return "ldap" in line or "security " in line
    if option == "k":
        return "openssl" in line
    return False


def _judge_spaced(match: re.Match[str], text: str, value: str) -> bool:
    value = value.rstrip(").,;:!?")
    if not is_free(value) or value.startswith(("-", "(", "=")):
        return False
    keep = match["keep"].lower()
    if keep.startswith(("-pass", "-securestring", "requirepass")):
        return True
    if keep.startswith("identified"):
        return bool(match["quote"])
    if keep.startswith(("token", "secret", "key")):
        # In prose, between a backtick or behind "is": only what cannot be a word or a digest.
        if is_generated(value):
            return not value.startswith("http") and "/" not in value
        return _is_random(value, 12) and not _is_path(value) and not _is_digest(value)
    if match["quote"]:
        return len(value) >= 6 and not value.isalpha()
    return len(value) >= 6 and _has_digit_and_letter(value) and not _is_path(value)


def _is_digest(value: str) -> bool:
    """Whether it may be the hash of a commit or a file."""
    return all(letter in "0123456789abcdef" for letter in value)


def _is_path(value: str) -> bool:
    return "/" in value or "." in value.strip(".") or "=" in value or "(" in value or ":" in value


def _judge_netrc(match: re.Match[str], text: str, value: str) -> bool:
    if not is_free(value):
        return False
    return match["keep"].lower().startswith("machine") or not value.strip(".,;:").isalpha()


def _judge_cookie(match: re.Match[str], text: str, value: str) -> bool:
    return is_free(value) and len(value) >= SHORTEST_SECRET


def is_column_value(value: str, is_quoted: bool = False) -> bool:
    """Return whether a value in a column of passwords is one."""
    is_name = _is_name(value) and not is_quoted
    return (
        len(value) >= SHORTEST_COLUMN and is_free(value) and not is_name and value[0] not in ":?@%"
    )


def _judge_words(match: re.Match[str], text: str, value: str) -> bool:
    words = value.split()
    is_in_fours = len(words) == 4 and all(len(word) == 4 and word.isalpha() for word in words)
    return is_free(value) and (is_in_fours or _has_digit_and_letter(value))


def _judge_paired(match: re.Match[str], text: str, value: str) -> bool:
    """`setenv("DB_PASSWORD", "...")`, as a call names a variable and its value."""
    if not is_free(value) or _is_path(value.rstrip("=")):
        return is_free(value) and is_generated(value)
    keep = match["keep"].lower()
    if keep.startswith(("password", "passwd", "pwd", "pass")):
        return " " not in value and _has_digit_and_letter(value) and not _is_field(value)
    signs = sum(not one.isalnum() and one not in "_- ." for one in value)
    return _is_random(value, 16) or (len(value) >= 32 and signs >= 4)


def _is_field(value: str) -> bool:
    """Return whether a value may name a field or a file, such as `password_2` or `user-1`."""
    front = value.rstrip("0123456789")
    is_numbered = len(value) - len(front) < 2 and not any(one.isdigit() for one in front)
    return is_numbered or front.lower().rstrip("_-").endswith(_SECRET_WORDS)


def _judge_default(match: re.Match[str], text: str, value: str) -> bool:
    """`process.env.DB_PASSWORD || "..."`."""
    front = text[max(0, match.start() - BEFORE_DEFAULT) : match.start()].rpartition("\n")[2]
    front = front.rstrip(" \"'`)]\\").lower()
    if not is_free(value) or _is_path(value):
        return False
    if front.endswith(("password", "passwd", "pass", "pwd")):
        return _has_digit_and_letter(value)
    return front.endswith(("secret", "token", "key")) and _is_random(value, 12)


def _judge_filled(match: re.Match[str], text: str, value: str) -> bool:
    """`page.getByLabel("Password").fill("...")`."""
    front = text[max(0, match.start() - BEFORE_DEFAULT) : match.start()].rpartition("\n")[2]
    front = (front + match["keep"]).lower()
    if not any(one in front for one in ("passw", "pwd", "secret", "token")):
        return False
    return is_free(value) and not _is_path(value) and _has_digit_and_letter(value)


def _judge_user_password(match: re.Match[str], text: str, value: str) -> bool:
    value = value.rstrip(".;!?")
    if not is_free(value) or _is_path(value) or _is_field(value) or _is_digest(value):
        return False
    return _has_digit_and_letter(value) and "-" not in value


def _judge_marked(match: re.Match[str], text: str, value: str) -> bool:
    """`<string name="api_secret">...</string>`."""
    if not is_free(value) or _is_path(value):
        return False
    if match["keep"].lower().startswith("pass") and not match["keep"].lower().startswith('pass"'):
        return _has_digit_and_letter(value)
    return _is_random(value, 12)


def _judge_called(match: re.Match[str], text: str, value: str) -> bool:
    """`login("ada@example.org", "...")`."""
    return is_free(value) and not _is_path(value) and _has_digit_and_letter(value)


def _judge_called_key(match: re.Match[str], text: str, value: str) -> bool:
    if not is_free(value) or _is_path(value):
        return False
    return is_generated(value) or (len(value) == 32 and _is_digest(value))


def _judge_typed_key(match: re.Match[str], text: str, value: str) -> bool:
    """`wandb login ...`."""
    if not is_free(value) or value.endswith((".json", ".yaml", ".yml", ".toml", ".txt")):
        return False
    return is_generated(value) or _is_random(value, 32)


def _judge_said_login(match: re.Match[str], text: str, value: str) -> bool:
    value = value.rstrip(").,;:!?\"'`")
    keep = match["keep"].rstrip("\"'`")
    if not is_free(value) or _is_path(value) or len(value) < 6 or _is_digest(value):
        return False
    if keep.endswith("/") and "_" in value:
        return False
    return _has_digit_and_letter(value)


def _judge_free(match: re.Match[str], text: str, value: str) -> bool:
    return is_free(value)


def _judge_tagged(match: re.Match[str], text: str, value: str) -> bool:
    is_key = match["keep"].lower().startswith("key")
    return is_free(value) and (not is_key or _is_random(value, 12))


JUDGES: dict[str, Callable[[re.Match[str], str, str], bool]] = {
    "vendor-key": _judge_prefixed,
    "url-password": _judge_url,
    "url-token": _judge_random,
    "authorization": _judge_authorization,
    "signature": _judge_random,
    "cookie": _judge_cookie,
    "named-secret": _judge_named,
    "named-phrase": _judge_free,
    "quoted-words": _judge_words,
    "twitter-token": _judge_random,
    "named-key": _judge_weak,
    "option": _judge_option,
    "short-option": _judge_short_option,
    "piped-password": _judge_free,
    "spaced-secret": _judge_spaced,
    "htpasswd": _judge_free,
    "netrc": _judge_netrc,
    "oracle-password": _judge_free,
    "pgpass": _judge_free,
    "tagged-secret": _judge_tagged,
    "paired-secret": _judge_paired,
    "default-secret": _judge_default,
    "marked-secret": _judge_marked,
    "called-secret": _judge_called,
    "called-key": _judge_called_key,
    "typed-key": _judge_typed_key,
    "said-login": _judge_said_login,
    "oauth-code": _judge_random,
    "webhook-path": _judge_random,
    "generated-password": _judge_free,
    "database-password": _judge_free,
    "app-password": _judge_free,
    "filled-secret": _judge_filled,
    "slash-option": _judge_called,
    "said-password": _judge_called,
    "user-password": _judge_user_password,
    "form-secret": _judge_free,
}
