"""Text to terms: named analyzers that can be written into a model and read back.

An analyzer works in two steps. ``words`` splits a text into surface words; ``term`` turns one word into the term
that is counted, or into None for a stop word. The second step depends on the word alone, so that a caller who
keeps its answers stems each distinct word once, and so that a stem's vector can be made from its surface forms.

What is defined for odd input, whatever the analyzer:

- A word longer than `MAX_TERM_LENGTH` characters is cut there (clusters refuse terms over 32,766 bytes).
- NUL separates words. Lone surrogates separate words, or become U+FFFD where ``whitespace`` keeps everything.

and for the Unicode analyzers (``english``, ``unicode`` and the Snowball languages):

- Text is case-folded and brought to NFKC; format characters (soft hyphen, zero-width joiners) are dropped.
- A word is a run of letters, combining marks and digits, with apostrophes inside; a typographic apostrophe is one.
  ``e.g.`` and ``i.e.`` are words, without their last dot.
- Runs of Han, Hiragana and Katakana, written without spaces, become overlapping pairs of characters.
- Every emoji is a word; skin tones are dropped, joined sequences become their parts, flags stay whole.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import regex
import Stemmer

from cptw_search.errors import InvalidInputError, check_choice, require_extra

__all__ = [
    "FIELD_TOKENS",
    "MAX_TERM_LENGTH",
    "Analyzer",
    "CallableAnalyzer",
    "TextAnalyzer",
    "analyzer_names",
    "get_analyzer",
]

MAX_TERM_LENGTH = 255

# Function words, adverbs that only connect, and contractions. Single letters stay terms: "vitamin d" and "plan b" are
# about something.
ENGLISH_STOP_WORDS = """
    a able about above according accordingly across actually after again against all almost along alongside
    already also although always am among amongst an and another any anybody anyone anything anyway anywhere are
    aren't around as aside at away be became because become becomes becoming been before being below besides
    between beyond both but by can can't cannot certain certainly concerning considering could couldn't
    currently despite did didn't do does doesn't doing don't done down during e.g each eg either else elsewhere
    enough especially etc even ever every everybody everyone everything everywhere except few for formerly from
    further furthermore get gets getting given got had hadn't has hasn't have haven't having he he'd he'll he's
    hence her here here's hereby herein hers herself him himself his hopefully how how's however i i'd i'll i'm
    i've i.e ie if in indeed instead into is isn't it it's its itself just known later latter least less lest
    let let's like likely mainly many may maybe me meanwhile merely might more moreover most mostly much must
    mustn't my myself namely nearly necessarily neither never nevertheless no nobody none nonetheless nor not
    nothing now nowhere obviously of off often on once one ones only onto or other others otherwise ought our
    ours ourselves out over overall own particular particularly per perhaps please possibly presumably probably
    quite rather really regarding regardless relatively respectively same seem seemed seeming seems several
    shall shan't she she'd she'll she's should shouldn't since so some somebody somehow someone something
    sometimes somewhat somewhere soon still such sure than that that's the their theirs them themselves then
    there there's thereby therefore therein these they they'd they'll they're they've this those though through
    throughout thus to together too toward towards under unless unlike unlikely until up upon us use used uses
    using usually various very via viz vs was wasn't we we'd we'll we're we've well were weren't what what's
    whatever when when's whenever where where's whereas whereby wherein wherever whether which whichever while
    who who's whoever whom whose why why's will with within without won't would wouldn't yes yet you you'd
    you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 - 355 quotes would not help a reader

_DOTTED = r"(?:e\.g|i\.e)(?=\.)"  # not the letters e and g, which are terms
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_CJK}]"
_EMOJI = r"[\p{Extended_Pictographic}--[©®]]|\p{RI}{2}"
_UNICODE_WORD = regex.compile(rf"(?V1){_DOTTED}|{_LETTER}+(?:'{_LETTER}+)*|{_CJK}+|{_EMOJI}")
_CJK_START = regex.compile(rf"(?V1){_CJK}")
_FORMAT_CHARACTERS = regex.compile(r"\p{Cf}+")
_ASCII_WORD = re.compile(rf"{_DOTTED}|[a-z0-9]+(?:'[a-z0-9]+)*")
_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_LETTERS_AND_APOSTROPHES = re.compile(r"[A-Za-z']+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _unicode_words(text: str) -> list[str]:
    if text.isascii():  # the same words by the standard library's quicker engine
        return _ASCII_WORD.findall(text.lower())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _FORMAT_CHARACTERS.sub("", text).replace("\u2019", "'")
    words: list[str] = _UNICODE_WORD.findall(text)
    if not _CJK_START.search(text):
        return words
    return [part for word in words for part in (_character_pairs(word) if _CJK_START.match(word) else (word,))]


def _character_pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _alphanumeric_words(text: str) -> list[str]:
    return _ALPHANUMERIC.findall(text.lower())


def _released_words(text: str) -> list[str]:
    return [word.lower() for word in _LETTERS_AND_APOSTROPHES.findall(text)]


def _whitespace_words(text: str) -> list[str]:
    return _LONE_SURROGATE.sub("\ufffd", text.replace("\0", " ")).split()


_TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "unicode": _unicode_words,
    "alphanumeric": _alphanumeric_words,
    "released": _released_words,
    "whitespace": _whitespace_words,
}


@functools.cache
def _stem(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = Stemmer.Stemmer(language).stemWord
    return stem


class TextAnalyzer(Protocol):
    """What the model needs of an analyzer; `Analyzer` and `CallableAnalyzer` have it."""

    def words(self, text: str) -> list[str]:
        """Split a text into surface words."""
        ...

    def term(self, word: str) -> str | None:
        """Give the term that a surface word is counted as, None for a stop word."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Describe the analyzer as plain data."""
        ...


@dataclass(frozen=True)
class Analyzer:
    """An analyzer that is fully described by plain data.

    Parameters
    ----------
    name : str
        The name under which `get_analyzer` knows it.
    tokenizer : {"unicode", "alphanumeric", "released", "whitespace"}
        How a text is split into words.
    stop_words : frozenset of str
        Words that are not counted; compared before stemming.
    stemmer : str or None
        A Snowball algorithm of PyStemmer.

    Examples
    --------
    >>> analyzer = get_analyzer("english")
    >>> analyzer.words("The boats’ owner isn't sailing.")
    ['the', 'boats', 'owner', "isn't", 'sailing']
    >>> analyzer.tokens("The boats’ owner isn't sailing.")
    ['boat', 'owner', 'sail']
    """

    name: str
    tokenizer: str
    stop_words: frozenset[str] = field(default=frozenset(), repr=False)
    stemmer: str | None = None

    def __post_init__(self) -> None:
        check_choice("tokenizer", self.tokenizer, _TOKENIZERS)
        if self.stemmer is not None:
            check_choice("stemmer", self.stemmer, Stemmer.algorithms())

    def words(self, text: str) -> list[str]:
        """Split a text into surface words, stop words included.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            The words, in order.
        """
        return _TOKENIZERS[self.tokenizer](text)

    def term(self, word: str) -> str | None:
        """Give the term that a surface word is counted as.

        Parameters
        ----------
        word : str
            A word that `words` returned.

        Returns
        -------
        str or None
            The term, or None for a stop word.
        """
        if word in self.stop_words:
            return None
        word = word[:MAX_TERM_LENGTH]
        # A stemmer may leave nothing of a word that is all suffix: then the word itself is the term.
        return word if self.stemmer is None else _stem(self.stemmer)(word) or word

    def tokens(self, text: str) -> list[str]:
        """Turn a text into its terms.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            The terms, in order, stop words left out.
        """
        return [term for term in map(self.term, self.words(text)) if term is not None]

    def to_dict(self) -> dict[str, object]:
        """Describe the analyzer as plain data, for a model's manifest.

        Returns
        -------
        dict
            What `from_dict` takes.
        """
        return {
            "name": self.name,
            "tokenizer": self.tokenizer,
            "stop_words": sorted(self.stop_words),
            "stemmer": self.stemmer,
        }

    @classmethod
    def from_dict(cls, description: Mapping[str, object]) -> Analyzer:
        """Make an analyzer from its description.

        Parameters
        ----------
        description : mapping
            What `to_dict` returned.

        Returns
        -------
        Analyzer
            An equal analyzer.

        Raises
        ------
        InvalidInputError
            If the description is not one.
        """
        match description:
            case {
                "name": str(name),
                "tokenizer": str(tokenizer),
                "stop_words": [*stop_words],
                "stemmer": (str() | None) as stemmer,
            } if all(isinstance(word, str) for word in stop_words):
                return cls(name, tokenizer, frozenset(map(str, stop_words)), stemmer)
        raise InvalidInputError(
            "An analyzer's description must hold name, tokenizer, stop_words (a list of strings) and stemmer. "
            f"Got {description!r} instead."
        )


@dataclass(frozen=True)
class CallableAnalyzer:
    """A user's own function from a text to its terms. It cannot be saved.

    Parameters
    ----------
    function : callable
        Takes a text, returns an iterable of non-empty strings.
    """

    function: Callable[[str], Iterable[str]]

    def words(self, text: str) -> list[str]:
        """Call the function and check what it returns.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            The terms.

        Raises
        ------
        InvalidInputError
            If the function returned something other than non-empty strings.
        """
        words = list(self.function(text))
        for word in words:
            if not isinstance(word, str) or not word:
                raise InvalidInputError(
                    f"The analyzer {self.function!r} must return non-empty strings. Got {word!r} among them instead."
                )
        return words

    def term(self, word: str) -> str | None:
        """Give the word itself.

        Parameters
        ----------
        word : str
            A word that `words` returned.

        Returns
        -------
        str
            The same word.
        """
        return word

    def to_dict(self) -> dict[str, object]:
        """Refuse: code cannot be written into a model.

        Raises
        ------
        InvalidInputError
            Always.
        """
        raise InvalidInputError(
            f"A model whose analyzer is a function of your own ({self.function!r}) cannot be saved: a model directory "
            f"holds no code. Use one of the named analyzers ({', '.join(analyzer_names())}), or join your own tokens "
            "by spaces and use 'whitespace'."
        )


FIELD_TOKENS = Analyzer("field", "whitespace")
"""Of a model whose terms are the tokens of a field on a server: texts come as those tokens, with spaces between them."""


def analyzer_names() -> list[str]:
    """List the names that `get_analyzer` takes.

    Returns
    -------
    list of str
        The special analyzers, then the Snowball languages.

    Examples
    --------
    >>> analyzer_names()[:5]
    ['english', 'paper', 'released', 'unicode', 'whitespace']
    """
    special = ["english", "paper", "released", "unicode", "whitespace"]
    return special + [name for name in Stemmer.algorithms() if name not in special]


def get_analyzer(
    analyzer: str | TextAnalyzer | Callable[[str], Iterable[str]], *, stop_words: Iterable[str] | None = None
) -> TextAnalyzer:
    """Give the analyzer of that name.

    Parameters
    ----------
    analyzer : str, Analyzer or callable
        ``"english"``: Unicode words, case-folded, stop words, Snowball stems.
        ``"paper"``: lowercase, ``[a-z0-9]+``, the 571 SMART stop words.
        ``"released"``: letters and apostrophes, lowercase, the SMART stop words, as in the authors' code.
        ``"unicode"``: Unicode words of any language, case-folded, no stop words, no stems.
        ``"whitespace"``: the text split at white space, nothing changed.
        Another Snowball language by name (``"german"``): as ``"unicode"``, with stems.
        An analyzer is given back as it is; a function from a text to its terms is wrapped.
    stop_words : iterable of str, optional
        Stop words in place of the named analyzer's own.

    Returns
    -------
    Analyzer or CallableAnalyzer
        The analyzer.

    Raises
    ------
    UnknownNameError
        If there is no analyzer of that name; the message lists them.
    InvalidInputError
        If ``analyzer`` is neither a name nor callable, or ``stop_words`` is one string.

    Examples
    --------
    >>> get_analyzer("german").tokens("Die Schiffe des Kapitäns")
    ['die', 'schiff', 'des', 'kapitan']
    >>> get_analyzer("unicode").tokens("Ａｐｐｌｅ 日本語 👍🏽 naïve")
    ['apple', '日本', '本語', '👍', 'naïve']
    """
    if not isinstance(analyzer, str):
        if isinstance(analyzer, (Analyzer, CallableAnalyzer)):
            return analyzer
        if callable(analyzer):
            return CallableAnalyzer(analyzer)
        raise InvalidInputError(
            f"analyzer must be a name, an Analyzer or a function from a text to its terms. Got {analyzer!r} instead."
        )
    check_choice("analyzer", analyzer, analyzer_names())
    tokenizers = {"paper": "alphanumeric", "released": "released", "whitespace": "whitespace"}
    if stop_words is None:
        if analyzer in ("paper", "released"):
            rake = require_extra("RAKE", "evaluation", f"The analyzer {analyzer!r} (for the SMART stop words)")
            stop_words = rake.SmartStopList()
        else:
            stop_words = ENGLISH_STOP_WORDS if analyzer == "english" else ()
    if isinstance(stop_words, str):
        raise InvalidInputError(
            f"stop_words must be a collection of words. Got the single string {stop_words!r} instead."
        )
    stemmer = analyzer if analyzer in Stemmer.algorithms() else None
    return Analyzer(analyzer, tokenizers.get(analyzer, "unicode"), frozenset(stop_words), stemmer)
