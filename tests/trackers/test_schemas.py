"""The slices of the vendors' schemas: where they come from, and that they are enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphql import parse, validate, validate_schema
from scripts import vendor_schemas

from holdfast.trackers import linear
from tests.trackers import openapi
from tests.trackers.fake_linear import SCHEMA, schema


@pytest.mark.parametrize("query", [linear.ISSUE, linear.CREATE, linear.UPDATE])
def test_our_operations_are_linears(query: str) -> None:
    assert validate_schema(schema()) == []
    assert validate(schema(), parse(query)) == []


def test_an_operation_that_linear_does_not_have_is_noticed() -> None:
    [error] = validate(
        schema(), parse('mutation { commentCreate(input: {issue: "x"}) { success } }')
    )
    assert "issueId" in error.message


def test_the_slices_say_where_they_are_from_and_under_which_licence() -> None:
    for text in (SCHEMA.read_text("utf-8"), openapi.SLICE.read_text("utf-8")):
        assert "on npm" in text[:400]
        assert "MIT" in text[:600]
        assert "scripts/vendor_schemas.py; do not edit" in text[:600]


def test_the_slice_of_github_has_every_path_and_reference() -> None:
    assert set(openapi.document()["paths"]) == set(vendor_schemas.GITHUB_PATHS)
    for reference in vendor_schemas._references(openapi.document()):
        assert openapi.resolved({"$ref": reference})


def test_what_does_not_fit_githubs_schema_is_noticed() -> None:
    comment = {"$ref": "#/components/schemas/issue-comment"}
    found = list(openapi.problems({"id": "7", "user": None, "url": "x"}, comment))
    assert "$.node_id is missing" in found
    assert "$.id: '7' is not of type integer" in found
    assert "$.url: 'x' is not a uri" in found


def test_sdl_is_written_back_from_typescript(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "dist").mkdir(parents=True)
    manifest = '{"name": "@linear/sdk", "version": "1.2.3", "license": "MIT"}'
    (package / "package.json").write_text(manifest)
    lines = ["type MutationCommentCreateArgs = {", "  input: CommentCreateInput;", "};"]
    for name in vendor_schemas.LINEAR_TYPES:
        lines += [f"type {name} = {{", f'  __typename?: "{name}";']
        lines += ["  /** A name. */", '  id?: Maybe<Array<Scalars["String"]>>;']
        lines += ["  commentCreate: CommentPayload;" if name == "Mutation" else "", "};"]
    (package / "dist" / "index-x.d.mts").write_text("\n".join(lines))
    text = vendor_schemas.linear_slice(package)
    assert "from @linear/sdk 1.2.3 on npm" in text
    assert "  commentCreate(input: CommentCreateInput!): CommentPayload!" in text
    assert '  "A name."\n  id: [String!]\n' in text
    assert "__typename" not in text
