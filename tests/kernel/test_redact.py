"""Secrets are taken out, and nothing else is."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.kernel import canonical_json
from holdfast.kernel.redact import Redactor
from holdfast.kernel.redact_quick import NEAR
from holdfast.kernel.redact_rules import RULES
from tests.kernel.planted import HEX, LETTERS, NAMED, PLANTED, PROSE


def redact(text: str) -> str:
    return Redactor(environment={}).text(text)


def redact_value(value: Any, redactor: Redactor | None = None) -> Any:
    """As the write path does it: with the text of the value at hand."""
    redactor = redactor or Redactor(environment={})
    return redactor.value(value, canonical_json.dumps(value))


@pytest.mark.parametrize("secret", PLANTED.values(), ids=PLANTED.keys())
def test_a_vendors_secret_is_taken_out_wherever_it_stands(secret: str) -> None:
    for before, after in (("", ""), ("use ", " please"), ('key="', '"'), ("(", ")"), ("\n", "\n")):
        shown = redact(before + secret + after)
        assert shown.startswith(before + "[redacted:")
        assert secret[-12:] not in shown
    assert redact_value([secret]) == [redact(secret)], "the quick test alone missed it"


@pytest.mark.parametrize(("name", "secret"), NAMED.values(), ids=NAMED.keys())
def test_a_named_secret_goes_and_its_name_stays(name: str, secret: str) -> None:
    text = f"set {name}{secret}@host" if "://" in name else f"set {name}{secret}"

    shown = redact(text)

    assert shown.startswith(f"set {name}[redacted:")
    assert secret not in shown
    assert redact_value([text]) == [shown], "the quick test alone missed it"


@pytest.mark.parametrize("text", PROSE)
def test_prose_hashes_and_placeholders_stay(text: str) -> None:
    assert redact(text) == text
    assert redact_value({"text": text}) == {"text": text}


@given(st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32), st.uuids())
def test_commits_digests_and_uuids_survive(commit: bytes, digest: bytes, id: uuid.UUID) -> None:
    text = f"commit {commit.hex()} sha256:{digest.hex()} id={id}"

    assert redact(text) == text


def test_what_was_taken_is_counted_by_rule() -> None:
    redactor = Redactor(environment={})

    redactor.text(f"{PLANTED['github']} {PLANTED['github app']} {PLANTED['aws']}")

    assert redactor.counts == {"github-token": 2, "aws-key": 1}


def test_values_of_secret_variables_are_taken_out_exactly() -> None:
    environment = {
        "DEPLOY_TOKEN": "open sesame",
        "my_password": "two\nlines",
        "SHORT_TOKEN": "short",
        "TOKEN_FILE": "/run/secrets/token",
        "AUTH_TOKEN": "disabled",
        "EDITOR": "vim-with-a-long-name",
    }
    redactor = Redactor(environment=environment)
    text = "open sesame, two\nlines, short, /run/secrets/token, disabled, vim-with-a-long-name"

    assert redactor.text(text) == (
        "[redacted:environment], [redacted:environment], short, /run/secrets/token, disabled, "
        "vim-with-a-long-name"
    )


def test_of_two_variables_the_longer_value_goes_first() -> None:
    redactor = Redactor(environment={"A_TOKEN": "sesame-8", "B_TOKEN": "open sesame-8"})

    assert redactor.text("say open sesame-8") == "say [redacted:environment]"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=12, max_size=20))
@example("-----BEGIN\r\nMIIB\r\n-----END")
@example('pass"word\\one\ttwo')
def test_a_variables_value_is_found_in_any_spelling_of_json(secret: str) -> None:
    redactor = Redactor(environment={"DEPLOY_TOKEN": secret})
    assume(redactor._exact)

    shown = redact_value({"text": f"say {secret} now"}, redactor)

    assert secret not in shown["text"]


def test_the_users_own_rules_apply_too() -> None:
    redactor = Redactor(environment={}, rules={"badge": r"(?P<keep>badge )\d{6}"})

    assert redactor.text("badge 123456") == "badge [redacted:badge]"
    assert redact_value({"a": ["badge 123456"]}, redactor) == {"a": ["badge [redacted:badge]"]}


def test_a_secret_is_known_by_the_key_it_stands_under() -> None:
    value = {"password": "hunter22", "note": "hunter22", "inner": [{"api_key": "abcdefgh1"}]}

    assert redact_value(value) == {
        "password": "[redacted:named-secret]",
        "note": "hunter22",
        "inner": [{"api_key": "[redacted:named-secret]"}],
    }


def test_a_secret_in_a_key_is_taken_out() -> None:
    assert redact_value({PLANTED["github"]: 1}) == {"[redacted:github-token]": 1}


def test_two_secrets_in_keys_stay_two_members() -> None:
    shown = redact_value({PLANTED["github"]: 1, PLANTED["github app"]: 2})

    assert sorted(shown.values()) == [1, 2]


def test_a_clean_value_is_handed_back_itself() -> None:
    value = {"text": "nothing to see", "list": [1, 2.5, None, True]}

    assert redact_value(value) is value


words = st.sampled_from(
    [
        *PLANTED.values(),
        *(name + secret for name, secret in NAMED.values()),
        *PROSE,
        "",
        "plain",
        "über",
        '"',
        "\\",
        "\n",
        "key",
        "Key",
        "PASSWORD",
        "toKen",
        LETTERS,
        HEX,
    ]
)
pieces = words | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
texts = st.lists(pieces, max_size=5).map(" ".join)
keys = st.sampled_from(["text", "password", "api_key", "note", "Authorization", "a b"])
values = st.recursive(
    texts | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=5,
)


@given(texts)
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(values)
def test_the_quick_test_misses_nothing_that_the_rules_would_catch(value: Any) -> None:
    assert redact_value(value) == Redactor(environment={})._walk(value, [*RULES, (NEAR, (), "")])


@given(texts)
def test_a_text_and_the_same_text_as_a_value_agree(text: str) -> None:
    assert redact_value(text) == redact(text)


@given(values)
def test_json_stays_json_of_the_same_shape(value: Any) -> None:
    shown = redact_value(value)

    assert canonical_json.loads(canonical_json.dumps(shown)) == shown
    assert shape(shown) == shape(value)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value)


@pytest.mark.parametrize("token", PLANTED.values(), ids=PLANTED.keys())
def test_a_token_is_caught_whatever_stands_before_it(token: str) -> None:
    """In JSON a line break is spelled with a letter, which must not hide the beginning of a word."""
    for before in ("\n", "\t", "\r", "\x1b", "\x00", '"', "/", " ", "=", "\\"):
        shown = redact_value({"text": f"see{before}{token}"})

        assert token not in shown["text"], repr(before)


@given(
    st.sampled_from(["password", "PRIVATE_KEY", "passphrase", "access-keys", "credential_value"]),
    st.sampled_from(["", '"', "'"]),
    st.text("\x1c \t\n\u00a0", max_size=3),
    st.sampled_from(["=", ":", ":="]),
    st.text("\x1c \t\n\u00a0", max_size=3),
)
def test_a_name_is_seen_however_its_sign_is_set_off(
    name: str, quote: str, before: str, sign: str, after: str
) -> None:
    """The quick test looks only at a few letters before each sign, of which JSON may spell one as six."""
    told = f"see {name}{quote}{before}{sign}{after}{quote}Hunter22-Zebra"
    assert "Hunter22" not in Redactor({}).text(told)
    value = {"nested": [{"text": told}]}
    assert "Hunter22" not in canonical_json.dumps(
        Redactor({}).value(value, canonical_json.dumps(value))
    )
