"""Whatever is sent, the answer is never a 500."""

from __future__ import annotations

from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.web.table import changes, files, pages
from tests.web.world import Visitor, World

WORDS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["dashboard", "repository", "cost", "Secondary-A", "..", "%00", "x.2", "a" * 300]
    ),
)
FIELDS = st.dictionaries(
    st.sampled_from(["answer", "note", "option", "until", "decision", "epic", "x"]),
    st.one_of(
        WORDS, st.sampled_from(["approved", "ack", "stop", "choose", "no", "issues", "defer"])
    ),
    max_size=5,
)
FUZZED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
PATHS = st.sampled_from(
    [
        *(one.path for one in pages()),
        *(one.path for one in changes()),
        *(one.path for one in files()),
    ]
)


def filled(path: str, words: list[str]) -> str:
    for name, word in zip(("workspace", "id", "type", "agent"), words, strict=False):
        path = path.replace(f"{{{name}}}", quote(word, safe=""))
    return path


@FUZZED
@given(
    path=PATHS,
    words=st.lists(WORDS, min_size=4, max_size=4),
    ending=st.sampled_from(["", ".json"]),
    query=WORDS,
    here=st.booleans(),
)
def test_any_address(
    world: World, visitor: Visitor, path: str, words: list[str], ending: str, query: str, here: bool
) -> None:
    words = ["repository", *words[1:]] if here else words
    answer = visitor.get(f"{filled(path, words)}{ending}?q={quote(query)}&seen={quote(query)}")
    assert answer.status_code < 500, answer.text


@FUZZED
@given(path=PATHS, words=st.lists(WORDS, min_size=3, max_size=3), fields=FIELDS)
def test_any_form(
    world: World, visitor: Visitor, path: str, words: list[str], fields: dict[str, str]
) -> None:
    if not world.workspace.exists():
        world.verify()
    csrf = next(iter(visitor.server.sign_ins._sessions.values()))[1].csrf
    answer = visitor.send(filled(path, ["repository", *words]), csrf=csrf, **fields)
    assert answer.status_code < 500, answer.text


@FUZZED
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]),
    path=st.text(max_size=60),
    headers=st.dictionaries(
        st.sampled_from(["cookie", "origin", "host", "last-event-id", "content-type", "accept"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60),
        max_size=4,
    ),
    content=st.binary(max_size=200),
)
def test_anything_at_all(
    visitor: Visitor, method: str, path: str, headers: dict[str, str], content: bytes
) -> None:
    answer = visitor.client.request(
        method, "/" + quote(path), headers=headers, content=content if method != "GET" else None
    )
    assert answer.status_code < 500, answer.text
