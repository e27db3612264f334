"""What networks and gateways do to requests and answers, made by a proxy in front of real servers.

What writes is tried again until it is done, once; what reads is reported. Nothing is half believed.
"""

import pytest
from cluster_faults import MODEL, documents, ids, indexer, served, stored_ids
from servers.proxy import cut_answer, cut_request, delay, lose, proxy_to, refuse, replace, truncate

from cptw_indexer import Retries, loader
from cptw_queries import ClusterIndex
from cptw_search.cluster import connect
from cptw_search.errors import ClusterError, LoadError

pytestmark = pytest.mark.servers

N_DOCS = 1_200  # three bulk requests
TIMEOUT = 3.0
QUICK = Retries(give_up_after=60, first_pause=0.01, longest_pause=0.1)
FAULTS = {
    "429": refuse(429),
    "503": refuse(503),
    "504 though it was done": lose(504),
    "slow": delay(TIMEOUT + 1),
    "request cut": cut_request,
    "answer cut": cut_answer,
    "truncated": truncate,
    "not JSON": replace(b'{"took": 3, "errors": fal'),
    "empty": replace(b""),
    "another object": replace(b"{}"),
    "a list": replace(b"[]"),
    "null": replace(b"null"),
    "other types": replace(
        b'{"items": [{"index": {"_id": 1}}, 2], "responses": [3], "docs": [4], "hits": {"hits": 5}, "count": "6",'
        b' "_shards": {"failed": "none"}, "acknowledged": "yes"}'
    ),
}
STEPS = (
    "PUT /cptw",  # the new index
    "/_bulk",
    "/_refresh",
    "/_count",
    "/_settings",
    "/_mapping",
    "GET /_alias/",
    "POST /_aliases",
)
SLOW_STEPS = ("/_bulk", "/_count", "POST /_aliases")
# All faults on one kind of server, those that servers and their clients could differ in on all of them.
EVERYWHERE = ("429", "504 though it was done", "slow", "answer cut", "truncated", "another object")
PAIRS = [
    pytest.param(name, fault, id=f"{name}-{fault}")
    for name in ("elasticsearch7", "elasticsearch9", "opensearch3")
    for fault in FAULTS
    if name == "elasticsearch7" or fault in EVERYWHERE
]
on_servers = pytest.mark.parametrize(("server", "fault"), PAIRS, indirect=["server"])


@pytest.fixture
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(server):
    """Straight to the server, to see what is true."""
    with connect(server.url) as client:
        yield client


@pytest.fixture
def proxy(server):
    with proxy_to(server.url) as proxy:
        yield proxy


@pytest.fixture
def spoiled(proxy):
    """Through the proxy."""
    with connect(proxy.url, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture(autouse=True)
def short_timeout_of_bulk_requests(monkeypatch):
    monkeypatch.setattr(loader, "TIMEOUT", TIMEOUT)


@on_servers
def test_a_load_gets_through(client, spoiled, proxy, index_name, fault):
    old = indexer(client, index_name).load(documents(3))
    loading = indexer(spoiled, index_name, retries=QUICK)
    steps = SLOW_STEPS if fault == "slow" else STEPS
    proxy.spoil(FAULTS[fault], *steps, times=1 if fault == "slow" else 2)
    summary = loading.load(documents(N_DOCS))
    assert set(proxy.n_spoiled) == set(steps)
    assert (summary.n_indexed, summary.n_rejected) == (N_DOCS, 0)
    assert served(client, index_name) == summary.index != old.index
    assert stored_ids(client, index_name) == ids(N_DOCS)
    assert [record.is_complete for record in loading.history()] == [True, True]  # no third was made on the way


@on_servers
def test_what_never_gets_through_is_told_and_the_alias_stays(client, spoiled, proxy, index_name, fault, monkeypatch):
    old = indexer(client, index_name).load(documents(3))
    monkeypatch.setattr(loader, "TIMEOUT", 0.5)
    for step in ("/_bulk",) if fault == "slow" else ("/_bulk", "/_count"):
        loading = indexer(spoiled, index_name, retries=Retries(give_up_after=0.2, first_pause=0.01))
        proxy.spoil(FAULTS[fault], step, times=10**9)
        with pytest.raises(LoadError, match=r"So far [\d,]+ documents are in .* and 0 were rejected"):
            loading.load(documents(5))
        assert served(client, index_name) == old.index
        assert stored_ids(client, index_name) == ids(3)
        assert not loading.history()[0].is_complete


@on_servers
def test_a_move_of_the_alias_that_is_never_answered(client, spoiled, proxy, index_name, fault):
    old = indexer(client, index_name).load(documents(3))
    loading = indexer(spoiled, index_name, retries=Retries(give_up_after=0.2, first_pause=0.01))
    proxy.spoil(FAULTS[fault], "POST /_aliases", times=10**9)
    try:
        index = loading.load(documents(7)).index
    except LoadError:
        index = old.index
    # Either it was not moved, and the load has failed; or it was, and a look at it has told so.
    assert (index == old.index) is (fault in ("429", "503", "request cut"))
    assert served(client, index_name) == index
    assert stored_ids(client, index_name) == ids(3 if index == old.index else 7)


@on_servers
def test_additions_are_made_once_and_none_is_called_rejected(client, spoiled, proxy, index_name, fault):
    indexer(client, index_name).load(documents(3))
    proxy.spoil(FAULTS[fault], "/_bulk")
    summary = indexer(spoiled, index_name, retries=QUICK).add(documents(600, first=3))
    assert proxy.n_spoiled["/_bulk"] == 1
    assert (summary.n_indexed, summary.rejected) == (600, [])
    assert stored_ids(client, index_name) == ids(603)
    summary = indexer(spoiled, index_name, retries=QUICK).add([{"id": 3, "text": "there already"}])
    assert (summary.n_indexed, summary.n_rejected) == (0, 1)


@on_servers
def test_a_search_or_a_count_is_right_or_an_error(client, spoiled, proxy, index_name, fault):
    indexer(client, index_name).load(documents(30))
    index = ClusterIndex(spoiled, index_name, MODEL)
    asked = {
        "_msearch": lambda: [
            [hit.id for hit in hits] for hits in index.search_many(["boat 3", "ship"], 40, method="cptw")
        ],
        "_count": lambda: index.count(),
        "_mget": lambda: index.get("7"),
        "_search?": lambda: index.values("id"),
    }
    right = {part: ask() for part, ask in asked.items()}
    assert [len(hits) for hits in right["_msearch"]] == [30, 30]
    assert right["_count"] == len(right["_search?"]) == 30
    for part, ask in asked.items():
        if fault == "slow" and part != "_msearch":
            continue
        proxy.spoil(FAULTS[fault], part)
        with pytest.raises(ClusterError):
            ask()
        assert proxy.n_spoiled[part] == 1
        assert ask() == right[part]  # and the connection is of use again


@pytest.mark.parametrize("server", ["elasticsearch7", "elasticsearch9", "opensearch3"], indirect=True)
def test_what_the_server_is_is_not_guessed_from_a_failure(spoiled, proxy, index_name):
    proxy.spoil(refuse(429), "/_nodes")
    with pytest.raises(ClusterError, match="429"):
        indexer(spoiled, index_name)
    for fault in (refuse(503), cut_answer, truncate):
        proxy.spoil(fault, "GET /", times=10)
        with pytest.raises(ClusterError):
            connect(proxy.url)
