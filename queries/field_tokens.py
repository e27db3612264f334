"""The tokens that a text field's own analyzer makes: asked of the server (``_analyze``), for whole texts or single terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from cptw_search.cluster import ClusterClient, make_path
from cptw_search.cluster_answers import read_optional, read_part
from cptw_search.errors import InvalidInputError, RejectedError

__all__ = ["FieldTokens", "analyze_texts", "check_text_field"]

TEXTS_A_REQUEST = 1_000
CHARACTERS_A_REQUEST = 20_000  # a server makes 10,000 tokens a request at most (index.analyze.max_token_count)
MOST_REMEMBERED = 1_000_000

_TEXT_TYPES = ("text", "match_only_text", "search_as_you_type")
_TOO_MANY = "exceeded the allowed maximum"


def check_text_field(index: str, mapping: Mapping[str, Any], field: str) -> None:
    """Raise unless an index has a text field that can be searched.

    Parameters
    ----------
    index : str
        The index, for the message.
    mapping : mapping
        Its mapping.
    field : str
        The field, with dots between its parts.

    Raises
    ------
    InvalidInputError
        If there is none.

    Examples
    --------
    >>> check_text_field("news", {"properties": {"title": {"type": "keyword"}}}, "title")
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: The index 'news' must have a searchable text field 'title'. It is of another type, or not indexed.
    """
    content: Mapping[str, Any] = mapping
    for part in field.split("."):
        inner = {**(read_optional(content, dict, "fields") or {}), **(read_optional(content, dict, "properties") or {})}
        content = read_optional(inner, dict, part) or {}
    if content.get("type") not in _TEXT_TYPES or not content.get("index", True):
        state = "It has none" if not content else "It is of another type, or not indexed"
        raise InvalidInputError(f"The index {index!r} must have a searchable text field {field!r}. {state}.")


def analyze_texts(client: ClusterClient, name: str, field: str, texts: Sequence[str]) -> list[list[str]]:
    """Let a field's own analyzer turn texts into tokens.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    field : str
        The text field.
    texts : sequence of str
        What is analysed, each by itself.

    Returns
    -------
    list of list of str
        The tokens of each text, in its order.

    Raises
    ------
    ClusterError
        If the server cannot be reached or refuses.
    """
    return [tokens for some in _requests(texts) for tokens in _analyze(client, name, field, some)]


def _requests(texts: Sequence[str]) -> Iterator[list[str]]:
    some: list[str] = []
    n_characters = 0
    for text in texts:
        if some and (len(some) >= TEXTS_A_REQUEST or n_characters + len(text) > CHARACTERS_A_REQUEST):
            yield some
            some, n_characters = [], 0
        some.append(text)
        n_characters += len(text)
    if some:
        yield some


def _analyze(client: ClusterClient, name: str, field: str, texts: list[str]) -> list[list[str]]:
    try:
        answer = client.request("POST", make_path(name, "_analyze"), body={"field": field, "text": texts})
    except RejectedError as error:
        if _TOO_MANY not in error.reason:
            raise
        if len(texts) > 1:
            half = len(texts) // 2
            return _analyze(client, name, field, texts[:half]) + _analyze(client, name, field, texts[half:])
        words = texts[0].split()
        if len(words) < 2:
            raise
        half = len(words) // 2
        halves = (" ".join(words[:half]), " ".join(words[half:]))
        return [[token for part in halves for token in _analyze(client, name, field, [part])[0]]]
    # The texts stand one behind the other, a place between each two; offsets are counted in UTF-16.
    ends, end = [], 0
    for text in texts:
        end += len(text.encode("utf-16-le", "surrogatepass")) // 2 + 1
        ends.append(end)
    found: list[list[str]] = [[] for _ in texts]
    which = 0
    tokens = [
        (read_part(token, int, "start_offset"), read_part(token, str, "token"))
        for token in read_part(answer, list, "tokens")
    ]
    for start, word in sorted(tokens, key=itemgetter(0)):
        while which < len(ends) - 1 and start >= ends[which]:
            which += 1
        found[which].append(word)
    return found


class FieldTokens:
    """Texts to the tokens of a field, remembered: for a model that was fitted on those tokens.

    Tokens with white space in them (shingles, whole values) are left out, here and where such a model is fitted.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    field : str
        The text field.
    """

    def __init__(self, client: ClusterClient, name: str, field: str) -> None:
        self.client = client
        self.name = name
        self.field = field
        self._known: dict[str, list[str]] = {}

    def __call__(self, text: str) -> list[str]:
        """Give the tokens of a text."""
        if text not in self._known:
            if len(self._known) > MOST_REMEMBERED:
                self._known.clear()
            # Its parts along with it, in one request: who marks words in a text asks for each of them.
            wanted = [part for part in dict.fromkeys([text, *text.split()]) if part not in self._known]
            self._known.update(zip(wanted, self.of_all(wanted), strict=True))
        return self._known[text]

    def of_all(self, texts: Sequence[str]) -> list[list[str]]:
        """Give the tokens of many texts, which are not remembered.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        list of list of str
            The tokens of each.
        """
        found = analyze_texts(self.client, self.name, self.field, texts)
        return [[token for token in tokens if token.split() == [token]] for tokens in found]

    def clear(self) -> None:
        """Forget all: the field's analyzer may be another one now."""
        self._known.clear()
