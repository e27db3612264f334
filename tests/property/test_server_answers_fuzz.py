"""Whatever a server answers, there is a result or an error of ours: never a foreign one, never an endless loop."""

import contextlib
import copy
import warnings
from dataclasses import dataclass

import pytest
from contract import DOCUMENTS, fitted
from garbage_server import garbage_server
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recorded_server import ALIAS, INDEX, RecordedServer

from cptw_indexer import ClusterIndexer, Retries
from cptw_indexer.scan import count_documents, find_ids, scan
from cptw_queries import ClusterIndex, ExistingIndex, QueryPrunedWarning, aggregate_votes
from cptw_search import KnnClassifier
from cptw_search.cluster import connect
from cptw_search.errors import CptwError

MODEL = fitted()
MOST_REQUESTS = 60  # none of the operations needs half as many; more would be an endless loop
RETRIES = Retries(give_up_after=0.01, first_pause=0.001, longest_pause=0.001)


def indexer(client):
    return ClusterIndexer(client, ALIAS, MODEL, field_type="rank_features", retries=RETRIES)


def index(client):
    return ClusterIndex(client, ALIAS, MODEL)


OPERATIONS = {
    "request": lambda client: (client.request("GET", "/_cluster/health"), client.request("HEAD", "/news")),
    "abilities": lambda client: (client.field_types(), client.max_clause_count(), client.max_content_length()),
    "load": lambda client: indexer(client).load(DOCUMENTS, progress=False),
    "resume": lambda client: indexer(client).load(DOCUMENTS, resume=True, progress=False),
    "reindex": lambda client: indexer(client).reindex(MODEL, progress=False),
    "add": lambda client: indexer(client).add(DOCUMENTS, progress=False),
    "delete": lambda client: indexer(client).delete(["a", "c"]),
    "add_to_existing": lambda client: indexer(client).add_to_existing(progress=False),
    "history": lambda client: indexer(client).history(),
    "prune_old": lambda client: indexer(client).prune_old(keep=0, unfinished=True),
    "scan": lambda client: list(scan(client, INDEX)),
    "find_ids": lambda client: find_ids(client, INDEX, ["a", "b"]),
    "count_documents": lambda client: count_documents(client, INDEX),
    "cptw": lambda client: index(client).search("ship", method="cptw", explain=True),
    "bm25": lambda client: index(client).search("ship", method="bm25", filter={"label": "water"}),
    "hybrid": lambda client: index(client).search("ship", method="hybrid"),
    "hybrid+feedback": lambda client: index(client).search("ship", method="hybrid+feedback"),
    "explain": lambda client: index(client).search("boat", method="hybrid+feedback", explain=True),
    "rrf": lambda client: index(client).search("ship", method="rrf"),
    "search_many": lambda client: index(client).search_many(["ship", "cat"], k=3, method="cptw"),
    "more_like": lambda client: index(client).more_like("a"),
    "get": lambda client: (index(client).get("a"), index(client).get("nosuch")),
    "count": lambda client: index(client).count({"label": "water"}),
    "values": lambda client: index(client).values("label"),
    "classify": lambda client: KnnClassifier(index(client), k=3).fit().predict(["a dog"]),
    "votes": lambda client: aggregate_votes(index(client), ["a dog"], 3),
    "existing": lambda client: ExistingIndex(client, ALIAS, MODEL).search("ship", method="hybrid"),
}


@dataclass
class Connected:
    """A client, and the server behind it, whose answers go through ``change``."""

    client: object
    answers: object
    recorded: RecordedServer

    def run(self, operation, change):
        """Do something; the number of a request, its status, headers and JSON go through ``change``."""
        self.recorded.reset()
        self.answers.asked.clear()

        def every(request):
            method, target, _, body = request
            number = len(self.answers.asked) - 1
            if number >= MOST_REQUESTS:
                return 400, self.recorded.headers(), {"error": "no more"}
            status, content = self.recorded.answer(method, target, body)
            return change(number, status, self.recorded.headers(), content)

        self.answers.every = every
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryPrunedWarning)
            try:
                return operation(self.client)
            finally:
                assert len(self.answers.asked) < MOST_REQUESTS


@contextlib.contextmanager
def connected(product):
    with garbage_server() as answers:
        recorded = RecordedServer(MODEL, product)

        def every(request):
            status, content = recorded.answer(request[0], request[1], request[3])
            return status, recorded.headers(), content

        answers.every = every
        with connect(answers.url, timeout=5) as client:
            assert client.product == product
            yield Connected(client, answers, recorded)


@pytest.fixture(scope="module")
def elasticsearch():
    with connected("elasticsearch") as made:
        yield made


@pytest.fixture(scope="module", params=["elasticsearch", "opensearch"])
def either(request):
    with connected(request.param) as made:
        yield made


def unchanged(_number, status, headers, content):
    return status, headers, content


def survives(server, operation, change):
    """A result, or an error of ours with a message that can be read."""
    message = "a result"
    try:
        server.run(operation, change)
    except CptwError as error:
        message = str(error)
    assert 0 < len(message) < 10_000


# What is changed ---------------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-3, 3), st.sampled_from([10**6, -(10**18), 2**63, 10**400]), st.floats(), st.sampled_from([1e308, -0.0])
)
words = st.one_of(
    st.text(max_size=5), st.sampled_from(["\ud800", "a/b", "..", "*", "_all", "1", "rank_features", "text", "x" * 3000])
)
scalars = st.one_of(st.none(), st.booleans(), numbers, words)
names = st.sampled_from(
    ["hits", "_id", "_score", "docs", "items", "error", "properties", "type", "reason", "status", "a"]
)
any_json = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names | words, inner, max_size=3)),
    max_leaves=8,
)


@dataclass(frozen=True)
class Mutation:
    """A way into some JSON, and what happens there."""

    steps: tuple[int, ...]
    action: str
    value: object

    def apply(self, content):
        content = copy.deepcopy(content)
        parent, key, here = None, None, content
        for step in self.steps:
            if not isinstance(here, (dict, list)) or not here:
                break
            keys = list(here) if isinstance(here, dict) else range(len(here))
            parent, key = here, keys[step % len(keys)]
            here = parent[key]
        if parent is None or self.action == "replace all":
            return self.value
        if self.action == "remove":
            del parent[key]
        elif self.action == "double" and isinstance(parent, list):
            parent.append(here)
        elif self.action == "rename" and isinstance(parent, dict):
            parent[str(self.value)] = parent.pop(key)
        else:
            parent[key] = self.value
        return content


mutations = st.builds(
    Mutation,
    st.lists(st.integers(0, 50), min_size=1, max_size=7).map(tuple),
    st.sampled_from(["replace", "replace", "remove", "double", "rename", "replace all"]),
    any_json,
)


# The tests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_recorded_answers_are_good(either, name):
    either.run(OPERATIONS[name], unchanged)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=40)
@given(changes=st.lists(mutations, min_size=1, max_size=3), which=st.integers(0, 12), always=st.booleans())
def test_changed_answers(elasticsearch, name, changes, which, always):
    def change(number, status, headers, content):
        if number == which or (always and number > which):
            for mutation in changes:
                content = mutation.apply(content)
        return status, headers, content

    survives(elasticsearch, OPERATIONS[name], change)


STATUSES = [
    200,
    201,
    202,
    204,
    206,
    301,
    304,
    307,
    400,
    401,
    403,
    404,
    405,
    408,
    409,
    413,
    429,
    500,
    502,
    503,
    504,
    599,
]


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=15)
@given(content=any_json, status=st.sampled_from(STATUSES), which=st.integers(0, 12))
def test_any_json(elasticsearch, name, content, status, which):
    def change(number, before, headers, good):
        return (status, headers, content) if number == which else (before, headers, good)

    survives(elasticsearch, OPERATIONS[name], change)


TYPES = [
    "application/json",
    "text/html",
    "text/plain; charset=utf-16",
    "application/x-ndjson",
    "application/cbor",
    "",
    "json",
    "\xff",
]
ENCODINGS = [None, "gzip", "deflate", "br", "nonsense"]


@dataclass(frozen=True)
class Deep:
    """Brackets in brackets, closed or not."""

    n_levels: int
    is_closed: bool

    def to_bytes(self):
        return b'{"hits":' * self.n_levels + (b"1" + b"}" * self.n_levels if self.is_closed else b"")


def to_bytes(content):
    return content.to_bytes() if isinstance(content, Deep) else content


deep = st.builds(Deep, st.sampled_from([100, 300, 900, 20_000]), st.booleans())
odd = st.sampled_from(
    [b"", b"null", b"NaN", b"-", b'"', b"\xef\xbb\xbf{}", b'{"a":1}{"a":2}', b'"\\ud800"', b"9" * 4_400, b"[1e999]"]
)


@pytest.mark.parametrize("name", ["request", "abilities", "load", "cptw", "rrf", "existing"])
@settings(max_examples=40)
@given(
    content=st.one_of(st.binary(max_size=50), deep, odd),
    status=st.sampled_from(STATUSES),
    mimetype=st.sampled_from(TYPES),
    encoding=st.sampled_from(ENCODINGS),
    which=st.integers(0, 6),
    cut=st.booleans(),
)
def test_any_bytes(either, name, content, status, mimetype, encoding, which, cut):
    def change(number, before, headers, good):
        if number != which:
            return before, headers, good
        extra = {"content-encoding": encoding} if encoding else {}
        return (
            status,
            {**headers, **extra, "content-type": mimetype, **({"cut": "1"} if cut else {})},
            to_bytes(content),
        )

    survives(either, OPERATIONS[name], change)


@settings(max_examples=150)
@given(
    content=st.one_of(
        st.binary(max_size=50),
        deep,
        odd,
        any_json,
        any_json.map(lambda part: {"version": part}),
        any_json.map(lambda part: {"version": {"number": part}}),
    ),
    status=st.sampled_from(STATUSES),
    mimetype=st.sampled_from(TYPES),
    product=st.sampled_from([{}, {"X-Elastic-Product": "Elasticsearch"}, {"X-OpenSearch-Version": "x"}]),
)
@example(
    content={"version": {"number": "9" * 4400 + ".0.0"}},
    status=200,
    mimetype="application/json",
    product={"X-Elastic-Product": "Elasticsearch"},
)
def test_whoever_answers_first(content, status, mimetype, product):
    with garbage_server() as answers:
        answers.every = lambda request: (status, {**product, "content-type": mimetype}, to_bytes(content))
        message = "a result"
        try:
            connect(answers.url, timeout=5).close()
        except CptwError as error:
            message = str(error)
        assert 0 < len(message) < 10_000
