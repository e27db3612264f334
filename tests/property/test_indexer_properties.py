import itertools
import json
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cptw_indexer.bodies import Action, Encoder, _written_weights, chunks
from cptw_indexer.mapping import Layout
from cptw_search import Cptw
from cptw_search.cluster import decode_feature, encode_feature, encode_token

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT)
def test_features_come_back_and_hold_no_dot_and_no_space(term):
    feature = encode_feature(term)
    assert decode_feature(feature) == term
    assert not re.search(r"[.\s]", feature)


@given(TEXT, TEXT)
def test_two_terms_never_become_one_token(one, other):
    assert (encode_token(one) == encode_token(other)) == (one == other)
    assert encode_token(one).split() == ([encode_token(one)] if one else [])


@given(st.lists(st.integers(1, 50)), st.integers(1, 10), st.integers(1, 100))
def test_chunks_are_bounded_and_lose_nothing(sizes, max_actions, max_bytes):
    actions = [Action(str(number), b"x" * size) for number, size in enumerate(sizes)]
    requests = list(chunks(actions, max_actions, max_bytes))
    assert [action for request in requests for action in request] == actions
    for request in requests:
        assert 1 <= len(request) <= max_actions
        assert len(request) == 1 or sum(len(action.lines) for action in request) <= max_bytes
    for one, other in itertools.pairwise(requests):  # none is shorter than it has to be
        n_bytes = sum(len(action.lines) for action in one) + len(other[0].lines)
        assert len(one) == max_actions or n_bytes > max_bytes


def test_every_weight_is_written_so_that_the_server_stores_the_same():
    written = _written_weights()
    first = 1 << 8  # of the normal floats
    stored = np.array(list(map(float, written[first:]))).astype(np.float32).view(np.uint32) >> 15
    assert (stored == np.arange(first, len(written))).all()


@given(
    st.lists(
        st.fixed_dictionaries(
            {"text": TEXT},
            optional={
                "id": TEXT | st.integers() | st.none() | st.booleans(),
                "n": st.floats() | st.lists(st.none() | TEXT) | st.text(),  # the last with lone surrogates
                "cptw_x": st.just(1),
                "title": st.none() | TEXT | st.integers(),
            },
        )
        | st.text()
        | st.none()
        | st.binary(),
        max_size=8,
    )
)
def test_whatever_comes_is_encoded_or_rejected(documents):
    encoded = Encoder(MODEL, Layout("both")).encode(list(enumerate(documents)))
    assert len(encoded.actions) + len(encoded.rejections) == len(documents)
    for action in encoded.actions:
        head, source, end = action.lines.decode().split("\n")
        assert end == ""
        assert json.loads(head) == {"index": {"_id": action.doc_id}}
        assert json.loads(source)["cptw_id"] == action.doc_id == str(json.loads(source)["id"])
    assert all(rejection.reason for rejection in encoded.rejections)


MODEL = Cptw(vectors=None).fit(["a boat", "the ship"])
