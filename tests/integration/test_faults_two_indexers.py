"""Several indexers at once on one alias. That of two whole loads one wins stands in test_indexer."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from cluster_faults import documents, ids, indexer, served, stored_ids

from cptw_indexer import LoadSummary, Retries
from cptw_indexer.aliases import swap
from cptw_search.cluster import connect, make_path
from cptw_search.errors import LoadError

pytestmark = pytest.mark.servers

N_INDEXERS = 4
N_RACES = 12
QUICK = Retries(give_up_after=60, first_pause=0.01, longest_pause=0.1)


@pytest.fixture(params=["elasticsearch7", "elasticsearch9", "opensearch3"])
def client(request):
    with connect(request.getfixturevalue(request.param).url) as client:
        yield client


def at_once(*works):
    """Run all at the same moment; give what each returned or raised."""
    start = threading.Barrier(len(works))

    def run(work):
        start.wait(60)
        try:
            return work()
        except LoadError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_of_many_moves_at_once_one_is_made_and_the_others_are_told(client, index_name):
    indices = [f"{index_name}-{number}" for number in range(N_INDEXERS + 1)]
    for index in indices:
        client.request("PUT", make_path(index), body={"settings": {"number_of_replicas": 0}})
    old = None
    for race in range(N_RACES):
        if race % 3 == 0 and old is not None:  # also where there is no alias yet
            client.request("DELETE", make_path(old, "_alias", index_name))
            old = None
        runners = [index for index in indices if index != old][:N_INDEXERS]
        outcomes = at_once(*(partial(swap, client, index_name, old, new, QUICK) for new in runners))
        (winner,) = [index for index, outcome in zip(runners, outcomes, strict=True) if outcome is None]
        losers = [outcome for outcome in outcomes if outcome is not None]
        assert len(losers) == N_INDEXERS - 1
        assert all(f"points at {winner} now. It is left there" in str(error) for error in losers), losers
        assert list(client.request("GET", make_path("_alias", index_name))) == [winner]
        old = winner


def test_two_that_resume_the_same_load_do_no_harm(client, index_name):
    def fails():
        yield from documents(1_500)
        raise KeyError("the input")

    with pytest.raises(KeyError):
        indexer(client, index_name).load(fails())
    resume = lambda: indexer(client, index_name, retries=QUICK).load(documents(4_000), resume=True)  # noqa: E731
    outcomes = at_once(resume, resume)
    summaries = [outcome for outcome in outcomes if isinstance(outcome, LoadSummary)]
    assert summaries, outcomes
    assert all(summary.n_indexed + summary.n_skipped == 4_000 for summary in summaries)
    assert served(client, index_name) in {summary.index for summary in summaries}
    assert stored_ids(client, index_name) == ids(4_000)
