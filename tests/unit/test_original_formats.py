"""The data sets as people have them; all texts are made up."""

import gzip
from pathlib import Path
from types import SimpleNamespace

import pytest

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation import source_files
from cptw_search.evaluation.datasets import LabelledTexts, load_dataset
from cptw_search.evaluation.original_formats import SKLEARN_20NEWS
from cptw_search.evaluation.source_files import MissingDataError
from cptw_search.evaluation.wiki_files import parse_tags, read_tagged_articles


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def rows(loaded: LabelledTexts) -> list[tuple[str, str]]:
    return list(zip(loaded.labels, loaded.texts, strict=True))


# Folders


def test_20_newsgroups_is_latin_1_and_has_its_split(tmp_path: Path) -> None:
    folder = tmp_path / "classification" / "20news"
    write(folder / "20news-bydate-train" / "rec.boats" / "101", b"From: a\n\ncaf\xe9")
    write(folder / "20news-bydate-train" / "sci.tax" / "7", b"caf\xc3\xa9")  # scikit-learn reads it so, too
    write(folder / "20news-bydate-test" / "rec.boats" / "102", b"a ship\r\n")
    loaded = load_dataset("20news", data=tmp_path)
    assert rows(loaded) == [("rec.boats", "From: a\n\ncafé"), ("sci.tax", "cafÃ©"), ("rec.boats", "a ship\n")]
    assert loaded.is_test is not None
    assert loaded.is_test.tolist() == [False, False, True]


def test_bbc_sport_has_a_folder_for_each_class(tmp_path: Path) -> None:
    write(tmp_path / "bbcsport" / "README.TXT", "about")
    write(tmp_path / "bbcsport" / "rowing" / "002.txt", b"\xa350 for a boat")
    write(tmp_path / "bbcsport" / "rowing" / "001.txt", "a café")
    write(tmp_path / "bbcsport" / "rowing" / "notes.doc", "not a text")
    write(tmp_path / "bbcsport" / "sailing" / "001.txt", b"nul \0 here")
    write(tmp_path / "bbcsport" / ".hidden" / "001.txt", "hidden")
    loaded = load_dataset(tmp_path / "bbcsport")
    assert rows(loaded) == [("rowing", "a café"), ("rowing", "£50 for a boat"), ("sailing", "nul \ufffd here")]
    assert loaded.is_test is None
    assert rows(load_dataset(tmp_path)) == rows(loaded)  # the folder that holds nothing but the folder


def test_a_folder_of_nothing_known(tmp_path: Path) -> None:
    write(tmp_path / "a.doc", "x")
    with pytest.raises(InvalidInputError, match="must hold one of the known layouts"):
        load_dataset(tmp_path)
    write(tmp_path / "b" / "c" / "d" / "e" / "f.txt", "too deep")
    with pytest.raises(InvalidInputError, match="must hold one of the known layouts"):
        load_dataset(tmp_path / "b")


def test_texts_in_utf16_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.txt", "a boat".encode("utf-16"))
    write(tmp_path / "b" / "1.txt", "a tax")
    with pytest.raises(InvalidInputError, match=r"a/1\.txt: the text must be UTF-8 or Latin-1"):
        load_dataset(tmp_path)


def test_the_size_of_a_file_is_limited_once_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FILE_BYTES", 1000)
    write(tmp_path / "a" / "1.txt.gz", gzip.compress(b"a" * 1001))
    write(tmp_path / "b" / "1.txt", "a tax")
    with pytest.raises(InvalidInputError, match=r"1\.txt\.gz: a file must have at most 1,000 bytes"):
        load_dataset(tmp_path)


# Reuters R8


def test_r8_is_two_files_of_label_and_text(tmp_path: Path) -> None:
    write(tmp_path / "r8-train-all-terms.txt", "ship\ta boat left\n\nearn\tprofit\trose\n")
    write(tmp_path / "r8-test-all-terms.txt", "earn\t\n")
    write(tmp_path / "r8-train-stemmed.txt", "ship\tboat\n")
    write(tmp_path / "r8-test-stemmed.txt", "earn\tprofit\n")
    for source in (tmp_path, tmp_path / "r8-train-all-terms.txt"):
        loaded = load_dataset(source)
        assert rows(loaded) == [("ship", "a boat left"), ("earn", "profit\trose"), ("earn", "")]
        assert loaded.is_test is not None
        assert loaded.is_test.tolist() == [False, False, True]


def test_r8_needs_its_test_file_and_its_labels(tmp_path: Path) -> None:
    train = tmp_path / "r8-train-all-terms.txt"
    write(train, "ship\ta boat\nno label\n")
    with pytest.raises(MissingDataError, match=r"must be in r8-test-all-terms\.txt beside it"):
        load_dataset(train)
    write(tmp_path / "r8-test-all-terms.txt", "ship\tx\n")
    with pytest.raises(InvalidInputError, match=r"train-all-terms\.txt:2: a line must be a label, a tab and a text"):
        load_dataset(train)


# Amazon


REVIEW = "<review>\n<rating>\n5.0\n</rating>\n<review_text>\n{}\n</review_text>\n</review>\n"


def test_amazon_reviews_have_their_domain_as_label(tmp_path: Path) -> None:
    folder = tmp_path / "sorted_data_acl"
    write(folder / "books" / "positive.review", REVIEW.format("A boat & a book") + REVIEW.format("Two\nlines"))
    write(folder / "books" / "negative.review", REVIEW.format("Dull").encode() + b"\xe9")
    write(folder / "books" / "unlabeled.review", REVIEW.format("nobody said"))
    write(folder / "kitchen_&_housewares" / "negative.review", REVIEW.format("Rust"))
    write(folder / "summary.txt", "about")
    assert rows(load_dataset(tmp_path)) == [
        ("books", "A boat & a book"),
        ("books", "Two\nlines"),
        ("books", "Dull"),
        ("kitchen", "Rust"),
    ]


def test_a_review_without_a_text(tmp_path: Path) -> None:
    write(tmp_path / "books" / "positive.review", REVIEW.format("x") + "<review></review>")
    with pytest.raises(
        InvalidInputError, match=r"positive\.review: every <review> must have a <review_text>. Number 2"
    ):
        load_dataset(tmp_path)


# Tweets


@pytest.mark.parametrize(
    "header", ['"Topic","Sentiment","TweetId","TweetDate","TweetText"', "topic,sentiment,id,date,text"]
)
def test_tweets_have_their_sentiment_as_label(header: str, tmp_path: Path) -> None:
    lines = (
        '"boats","positive","1","Tue","So ""fast"", this\nboat"\n'
        '"boats","irrelevant","2","Tue","ein Boot"\n'
        '\n"boats","neutral","3","Tue","a boat\xe9"\n'
    )
    write(tmp_path / "full-corpus.csv", f"{header}\n{lines}".encode("latin-1"))
    write(tmp_path / "corpus.csv", '"Topic","Sentiment","TweetId"\n')
    for source in (tmp_path, tmp_path / "full-corpus.csv"):
        assert rows(load_dataset(source)) == [("positive", 'So "fast", this\nboat'), ("neutral", "a boaté")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("topic,sentiment,id\na,positive,1\n", "must be there, in a column TweetText or text. Got the columns 'topic'"),
        ("sentiment,text\npositive,a,b\n", r"tweets\.csv:2: a row must have 2 cells. Got 3"),
        ("sentiment,text\npositive," + "a" * 200_000 + "\n", r"tweets\.csv:2: broken CSV: field larger"),
    ],
)
def test_tweets_that_cannot_be_read(content: str, message: str, tmp_path: Path) -> None:
    write(tmp_path / "tweets.csv", content)
    with pytest.raises(InvalidInputError, match=message):
        load_dataset(tmp_path / "tweets.csv")


# Classic


def test_classic_is_title_and_abstract_of_four_collections(tmp_path: Path) -> None:
    write(tmp_path / "cacm" / "cacm.all", ".I 1\n.T\nSorting\nboats\n.A\nA. Name\n.X\n1\t5\t1\n")
    write(tmp_path / "cacm" / "query.text", ".I 1\n.W\na query\n")
    write(tmp_path / "cisi" / "CISI.ALL", ".I 1\n.T\nShelves\n.W\nof books\n")
    write(tmp_path / "cran.all.1400", ".I 1\n.T\nwings .\n.W\nwings . of boats\n.I 2\n.T\n.W\n")
    write(tmp_path / "med" / "MED.ALL", ".I 1\n.W\nfever\n")
    write(tmp_path / "med" / "MED.QRY", ".I 1\n.W\nanother query\n")
    assert rows(load_dataset(tmp_path)) == [
        ("cacm", "Sorting boats"),
        ("cisi", "Shelves of books"),
        ("cran", "wings . of boats"),  # the second has no text, and is left out
        ("med", "fever"),
    ]


def test_classic_needs_all_four(tmp_path: Path) -> None:
    write(tmp_path / "cacm.all", ".I 1\n.T\nx\n")
    write(tmp_path / "MED.ALL", ".I 1\n.W\nx\n")
    with pytest.raises(MissingDataError, match="Got none of cisi, cran"):
        load_dataset(tmp_path)


# Wiki10+


def article(key: str, **tags: int) -> str:
    given = "".join(f"<tag><name>{name}</name><count>{count}</count></tag>" for name, count in tags.items())
    return f"<article><hash>{key}</hash><title>t</title><users>9</users><tags>{given}</tags></article>\n"


def test_tagged_articles_have_their_most_given_common_tag_as_label(tmp_path: Path) -> None:
    tags = (
        article("a", sea=2, rare=9) + article("b", sea=1, money=1) + article("c", sea=1, money=5) + article("d", odd=1)
    )
    write(tmp_path / "wiki" / "wiki10+_tag-data.xml.gz", gzip.compress(tags.encode()))
    for key in "abcd":
        page = f"<html><style>x {{}}</style><body>page <b>{key}</b> &amp; more</body></html>"
        write(tmp_path / "wiki" / "wiki10+_documents" / f"{key}.html", page)
    folder = tmp_path / "wiki"
    found = list(read_tagged_articles(folder / "wiki10+_tag-data.xml.gz", folder / "wiki10+_documents", n_classes=2))
    assert found == [("sea", "page a & more"), ("sea", "page b & more"), ("money", "page c & more")]
    assert rows(load_dataset(folder))[0] == ("rare", "page a & more")  # with 25 classes all tags count


def test_tags_that_cannot_be_read() -> None:
    assert parse_tags(article("a", sea=1) + article("a", sea=2), "made-up") == {"a": {"sea": 3}}
    with pytest.raises(InvalidInputError, match="must have a <hash>. Number 1 has none"):
        parse_tags("<article></article>", "made-up")
    with pytest.raises(InvalidInputError, match="must be a number. Got 'many' in article 1"):
        parse_tags(article("a", sea=1).replace(">1<", ">many<"), "made-up")


# scikit-learn


def test_scikit_learns_copy_has_the_split_by_date(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    def fetch(*, subset: str, shuffle: bool) -> SimpleNamespace:
        assert not shuffle
        return SimpleNamespace(
            target_names=["rec.boats", "sci.tax"], target=[1, 0], data=[f"{subset} tax", f"{subset} boat"]
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    loaded = load_dataset(SKLEARN_20NEWS)
    assert loaded.name == "20news"
    assert rows(loaded)[1:3] == [("rec.boats", "train boat"), ("sci.tax", "test tax")]
    assert loaded.is_test is not None
    assert loaded.is_test.tolist() == [False, False, True, True]


def test_scikit_learns_copy_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    def fetch(**_: object) -> SimpleNamespace:
        raise OSError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    with pytest.raises(
        InvalidInputError, match=r"cannot be fetched: no route. Put the data set into .*20news\.tsv\.gz"
    ):
        load_dataset(SKLEARN_20NEWS)
