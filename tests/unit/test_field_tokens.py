"""Tokens of a field: how many texts go into a request, and what is done about a server's limits."""

from __future__ import annotations

from typing import Any

import pytest

from cptw_queries import field_tokens
from cptw_queries.field_tokens import FieldTokens, analyze_texts, check_text_field
from cptw_search.errors import InvalidInputError, RejectedError


class Analyzing:
    """A client whose field splits at white space and lowercases, as far as the limit of a server allows."""

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.sent: list[list[str]] = []

    def request(self, method: str, path: str, *, body: Any) -> dict[str, Any]:
        assert (method, path, body["field"]) == ("POST", "/news/_analyze", "body")
        self.sent.append(body["text"])
        tokens, offset = [], 0
        for text in body["text"]:
            for word in text.split():
                start = offset + len(text[: text.index(word)].encode("utf-16-le")) // 2
                tokens.append({"token": word.lower(), "start_offset": start})
            offset += len(text.encode("utf-16-le")) // 2 + 1
        if len(tokens) > self.most:
            reason = (
                f"The number of tokens produced by calling _analyze has exceeded the allowed maximum of [{self.most}]."
            )
            raise RejectedError("refused", status=500, reason=reason)
        return {"tokens": tokens}


TEXTS = ["A 😀 boat", "", "Two Ships", "  ", "sea"]
TOKENS = [["a", "😀", "boat"], [], ["two", "ships"], [], ["sea"]]


def tokens_of(client: Analyzing, texts: list[str]) -> list[list[str]]:
    return analyze_texts(client, "news", "body", texts)  # type: ignore[arg-type]


def test_each_text_gets_its_own_tokens() -> None:
    client = Analyzing()
    assert tokens_of(client, TEXTS) == TOKENS
    assert client.sent == [TEXTS]
    assert tokens_of(client, []) == []


@pytest.mark.parametrize(("limit", "value"), [("TEXTS_A_REQUEST", 2), ("CHARACTERS_A_REQUEST", 10)])
def test_requests_are_bounded(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_tokens, limit, value)
    client = Analyzing()
    assert tokens_of(client, TEXTS) == TOKENS
    assert len(client.sent) == 3


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_server_that_takes_less_gets_less(most: int) -> None:
    assert tokens_of(Analyzing(most), TEXTS) == TOKENS


def test_what_cannot_be_made_smaller_is_an_error() -> None:
    with pytest.raises(RejectedError, match="refused"):
        tokens_of(Analyzing(0), ["boat"])


def test_other_refusals_are_errors() -> None:
    class Refusing(Analyzing):
        def request(self, method: str, path: str, *, body: Any) -> dict[str, Any]:
            raise RejectedError("no such field", status=400, reason="no such field")

    with pytest.raises(RejectedError, match="no such field"):
        tokens_of(Refusing(), TEXTS)


def test_a_text_and_its_parts_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Analyzing()
    tokens = FieldTokens(client, "news", "body")  # type: ignore[arg-type]
    assert tokens("Two Ships") == tokens("Two Ships") == ["two", "ships"]
    assert tokens("Ships") == ["ships"]
    assert client.sent == [["Two Ships", "Two", "Ships"]]
    tokens.clear()
    tokens("Ships")
    assert len(client.sent) == 2
    monkeypatch.setattr(field_tokens, "MOST_REMEMBERED", 0)
    tokens("Two")
    tokens("Ships")  # forgotten
    assert len(client.sent) == 4


def test_tokens_with_white_space_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_tokens, "analyze_texts", lambda *_: [["new york", "new", "", "york"]])
    assert FieldTokens(None, "news", "body").of_all(["New York"]) == [["new", "york"]]  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["body", "body.english", "author.name"])
def test_text_fields(field: str) -> None:
    text = {"type": "text"}
    mapping = {
        "properties": {
            "body": {**text, "fields": {"english": text, "raw": {"type": "keyword"}}},
            "author": {"properties": {"name": text}},
            "hidden": {**text, "index": False},
        }
    }
    check_text_field("news", mapping, field)
    for other, state in (("body.raw", "of another type"), ("hidden", "not indexed"), ("title", "It has none")):
        with pytest.raises(InvalidInputError, match=state):
            check_text_field("news", mapping, other)
