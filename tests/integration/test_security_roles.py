"""The roles of ``docs/security.md`` on real servers: enough for the work, for nothing else, and none of it is too much."""

import contextlib
import os
import subprocess
import sys
import uuid

import pytest
from contract import DOCUMENTS, fitted
from servers import secrets
from servers.roles import LESSER, ROLES

from cptw_indexer import ClusterIndexer, Retries
from cptw_queries import ClusterIndex, ExistingIndex, aggregate_votes
from cptw_search import KnnClassifier
from cptw_search.cluster import connect, make_path
from cptw_search.errors import AccessDeniedError, ClusterError, LoadError

pytestmark = pytest.mark.servers

QUICK = Retries(give_up_after=5, first_pause=0.05)
QUERY = "ship and dogs"


def indexer(client, name="news"):
    return ClusterIndexer(client, name, fitted(), n_replicas=0, retries=QUICK)


def write(client):
    """All that an indexer does."""
    news = indexer(client)
    first = news.load(DOCUMENTS, progress=False)
    assert (first.n_indexed, first.n_rejected) == (len(DOCUMENTS), 0)
    assert news.load(DOCUMENTS, progress=False).n_indexed == len(DOCUMENTS)
    extra = {"id": "extra", "text": "a ship", "label": "water"}
    assert news.add([extra], progress=False).n_indexed == 1
    assert news.update([extra], progress=False).n_indexed == 1
    assert news.delete(["extra"]) == 1
    assert news.reindex(fitted(), progress=False).n_indexed == len(DOCUMENTS)
    records = news.history()
    assert [record.is_current for record in records[:2]] == [True, False]
    assert records[0].n_documents == len(DOCUMENTS)
    assert len(news.prune_old(keep=0)) == len(records) - 1


def search(client):
    """All that a searcher does."""
    index = ClusterIndex(client, "news", fitted())
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"):
        assert index.search(QUERY, method=method)
    assert index.search(QUERY, filter={"label": "pets"}, explain=True, method="cptw")[0].explanation is not None
    assert index.count() == len(DOCUMENTS)
    assert "pets" in index.values("label")
    assert index.more_like("d")
    assert KnnClassifier(index, k=3).fit().predict(["dogs bark"])[0] == "pets"
    assert aggregate_votes(index, ["dogs bark"], 3)[0]["pets"] > 0
    assert index.layout.placement == "query"


def expand(client):
    """Search a plain text index."""
    assert ExistingIndex(client, "articles", fitted()).search(QUERY, method="hybrid")


WORK = {"cptw_indexer": write, "cptw_searcher": search, "cptw_expander": expand}


@pytest.fixture
def as_user(secured):
    """Connect as a user; there are an alias and a plain index to work on, and others that are nobody's business."""
    with contextlib.ExitStack() as stack:

        def connected(user, **login):
            return stack.enter_context(connect(**(login or secured.login(user))))

        admin = connected("admin")
        indexer(admin).load(DOCUMENTS, progress=False)
        indexer(admin).prune_old(keep=0, unfinished=True)
        for name in ("articles", "secret"):
            if not admin.request("HEAD", make_path(name)):
                admin.request("PUT", make_path(name), body={"mappings": {"properties": {"text": {"type": "text"}}}})
                for number, document in enumerate(DOCUMENTS):
                    path = make_path(name, "_doc", str(number))
                    admin.request("PUT", path, body=document, params={"refresh": True})
        yield connected


def test_the_page_has_a_role_for_each_kind_of_work():
    assert ROLES.keys() == WORK.keys()
    assert len(LESSER) == sum(len(role["cluster"]) + len(role["indices"][0]["privileges"]) for role in ROLES.values())


@pytest.mark.parametrize("role", WORK)
def test_the_role_is_enough(as_user, role):
    WORK[role](as_user(role))


@pytest.mark.parametrize("role", WORK)
def test_a_key_with_the_role_is_enough(secured, make_key, as_user, role):
    key = make_key(role, ROLES[role])
    WORK[role](as_user("", url=secured.url, ca_file=secured.ca_file, api_key=f"{key['id']}:{key['api_key']}"))


@pytest.mark.parametrize("user", LESSER)
def test_no_privilege_is_too_much(as_user, user):
    with pytest.raises(ClusterError, match="may not|unauthorized") as caught:
        WORK[user.partition("-")[0]](as_user(user))
    denied = caught.value.__cause__ if isinstance(caught.value, LoadError) else caught.value
    assert isinstance(denied, AccessDeniedError)
    assert not secrets.found_in_error(caught.value)


FORBIDDEN_TO_ALL = [
    ("GET", "/secret/_search", None),
    ("GET", "/secret/_mapping", None),
    ("POST", "/secret/_doc", {"text": "a"}),
    ("DELETE", "/secret", None),
    ("PUT", "/other", {}),
    ("POST", "/_aliases", {"actions": [{"add": {"index": "secret", "alias": "news"}}]}),
    ("PUT", "/_cluster/settings", {"persistent": {"indices.recovery.max_bytes_per_sec": "50mb"}}),
    ("PUT", "/_index_template/a", {"index_patterns": ["a-*"]}),
    ("GET", "/_security/user", None),
    ("PUT", "/_security/user/mallory", {"password": "not-a-secret", "roles": ["superuser"]}),
]
FORBIDDEN_TO_READERS = [
    ("POST", "/news/_doc", {"text": "a"}),
    ("POST", "/news/_delete_by_query", {"query": {"match_all": {}}}),
    ("PUT", "/news/_mapping", {"_meta": {}}),
    ("PUT", "/news/_settings", {"index": {"number_of_replicas": 1}}),
    ("POST", "/news/_close", None),
    ("PUT", f"/news-{uuid.uuid4().hex}", {}),
    ("POST", "/_aliases", {"actions": [{"add": {"index": "news", "alias": "news-2"}}]}),
]


@pytest.mark.parametrize("role", WORK)
def test_nothing_else_is_allowed(secured, as_user, role):
    client = as_user(role)
    before = secured.ask("GET", "/_cat/indices?format=json&h=index,docs.count&expand_wildcards=open&s=index")
    forbidden = FORBIDDEN_TO_ALL + (FORBIDDEN_TO_READERS if role != "cptw_indexer" else [])
    for method, path, body in forbidden:
        if path.endswith("_delete_by_query"):  # the archives have no reindex module; the official servers do
            with pytest.raises(ClusterError):
                client.request(method, path, body=body)
            continue
        with pytest.raises(AccessDeniedError, match=r"403.*unauthorized") as caught:
            client.request(method, path, body=body)
        assert not secrets.found_in_error(caught.value)
    if role == "cptw_indexer":
        with pytest.raises(AccessDeniedError, match="403"):
            indexer(client, "secret-2").load(DOCUMENTS, progress=False)
    after = secured.ask("GET", "/_cat/indices?format=json&h=index,docs.count&expand_wildcards=open&s=index")
    assert after == before


@pytest.mark.parametrize("role", ["cptw_searcher", "cptw_expander"])
def test_readers_cannot_write_by_our_own_means_either(as_user, role):
    client = as_user(role)
    name = "news" if role == "cptw_searcher" else "articles"
    with pytest.raises(AccessDeniedError, match="403"):
        indexer(client, "news-x" if name == "news" else name + "-x").load(DOCUMENTS, progress=False)
    with pytest.raises(ClusterError, match="403") as caught:
        indexer(client, name).add_to_existing(progress=False)
    assert not secrets.found_in_error(caught.value)


@pytest.mark.parametrize("is_right", [True, False])
def test_the_command_line(secured, as_user, tmp_path, is_right):
    assert as_user  # the documents are there
    fitted().save(tmp_path / "model")
    login = secured.login("cptw_searcher")
    password = login["password"] if is_right else secrets.new("a wrong password", "cptw_searcher")
    arguments = ["search", "ship", "--on", secured.url, "--name", "news", "--model", tmp_path / "model"]
    arguments += ["--user", login["username"], "--ca-file", secured.ca_file]
    done = subprocess.run(
        [sys.executable, "-c", "from cptw_search.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CPTW_PASSWORD": password},
    )
    assert not secrets.found_in(done.stdout + done.stderr)
    if is_right:
        assert (done.returncode, done.stderr) == (0, "")
        assert "Ships cross the ocean" in " ".join(done.stdout.replace("*", "").replace("_", "").split())
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert "refused the login (401)" in " ".join(done.stderr.split())
