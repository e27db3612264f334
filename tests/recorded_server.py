"""Answers of a search server as small literals, for whoever wants to see what becomes of changed ones."""

import json
import re
from urllib.parse import unquote

from cptw_search import Cptw

ALIAS = "news"
INDEX = "news-20261116-080000-0123abcd"
CREATED = "2026-11-16T08:00:00.000000Z"
ACKNOWLEDGED = {"acknowledged": True}
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
SOURCES = {
    "a": {"id": "a", "text": "A boat on the sea", "label": "water"},
    "c": {"id": "c", "text": "My cat and my dog", "label": "pets"},
}
NODES = {
    "plugins": {"modules": [{"name": "mapper-extras"}, {"name": "reindex"}]},
    "jvm": {"jvm": {"mem": {"heap_max_in_bytes": 536870912}}},
    "thread_pool": {"thread_pool": {"search": {"size": 4}}},
    "http": {"http": {"max_content_length_in_bytes": 104857600}},
}
LIMIT = {"defaults": {"indices": {"query": {"bool": {"max_clause_count": "1024"}}}}}
VOTES = {"neighbours": {"doc_count": 2, "labels": {"buckets": [{"key": "pets", "doc_count": 2}]}}}
VALUES = {"values": {"after_key": {"value": "water"}, "buckets": [{"key": {"value": "pets"}, "doc_count": 1}]}}


def _hit(doc_id: str, score: float) -> dict:
    return {"_index": INDEX, "_id": doc_id, "_score": score, "_source": SOURCES[doc_id], "sort": [score, doc_id]}


HITS = {
    "took": 1,
    "timed_out": False,
    "_shards": SHARDS,
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.5,
        "hits": [_hit("a", 1.5), _hit("c", 0.5)],
    },
}


class RecordedServer:
    """Answers as a server does that has one index of a model; remembers the index that a load makes."""

    def __init__(self, model: Cptw, product: str = "elasticsearch") -> None:
        self.product = product
        self._model_id = model.model_id
        self.reset()

    def reset(self) -> None:
        """Forget what was made."""
        cptw = {
            "format": 1,
            "model_id": self._model_id,
            "placement": "query",
            "field_type": "rank_features",
            "pruning": {"min_share": 0.0, "max_terms": None},
            "alias": ALIAS,
            "created": CREATED,
            "complete": True,
        }
        properties = {
            "text": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
            "label": {"type": "keyword"},
            "author": {"properties": {"name": {"type": "keyword"}}},
            "cptw_id": {"type": "keyword"},
            "cptw_text": {"type": "text"},
            "cptw_weights": {"type": "rank_features"},
        }
        self.mappings = {INDEX: {"_meta": {"cptw": cptw}, "properties": properties}}
        self.current = INDEX
        self.n_documents = 0

    def headers(self) -> dict[str, str]:
        if self.product == "elasticsearch":
            return {"X-Elastic-Product": "Elasticsearch"}
        return {"X-OpenSearch-Version": "OpenSearch/3.6.0 (opensearch)"}

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, object]:
        """Give status and JSON."""
        path, _, query = target.partition("?")
        parts = unquote(path).strip("/").split("/")
        if path == "/":
            number = {"number": "8.19.0"} if self.product == "elasticsearch" else {"number": "3.6.0"}
            return 200, {"version": {**number, "distribution": self.product}}
        endpoint = next((part for part in reversed(parts) if part.startswith("_")), "")
        content = json.loads(body) if body and endpoint not in ("_bulk", "_msearch") else {}
        lines = [json.loads(line) for line in body.splitlines()] if endpoint in ("_bulk", "_msearch") else []
        known = {
            "_nodes": lambda: {"nodes": {"n1": {"version": "8.19.0", **NODES.get(parts[-1], {})}}},
            "_cluster": lambda: LIMIT if parts[-1] == "settings" else {"number_of_data_nodes": 1, "timed_out": False},
            "_bulk": lambda: self._bulk(lines),
            "_refresh": lambda: {"_shards": SHARDS},
            "_count": lambda: {"count": self.n_documents, "_shards": SHARDS},
            "_mapping": lambda: self._mapping(method, parts[0], content),
            "_settings": lambda: ACKNOWLEDGED,
            "_alias": lambda: {self.current: {"aliases": {ALIAS: {"is_write_index": True}}}},
            "_aliases": lambda: self._move(content),
            "_stats": lambda: {
                "_all": {"primaries": {"docs": {"count": 2}}, "total": {"store": {"size_in_bytes": 4096}}}
            },
            "_mget": lambda: {"docs": [self._stored(doc_id) for doc_id in content["ids"]]},
            "_analyze": lambda: self._tokens(content["text"]),
            "_msearch": lambda: {"took": 1, "responses": [self._found(search) for search in lines[1::2]]},
            "_search": lambda: self._page(parts, query, content),
        }
        if endpoint in known:
            return 200, known[endpoint]()
        if method == "PUT":
            self.mappings[parts[0]] = content["mappings"]
        return (200 if method != "HEAD" else 404), {**ACKNOWLEDGED, "index": parts[0]}

    def _bulk(self, lines: list[dict]) -> dict:
        actions = [
            line for line in lines if len(line) == 1 and next(iter(line)) in ("create", "index", "update", "delete")
        ]
        self.n_documents += len(actions)
        items = [
            {verb: {"_index": INDEX, "_id": about["_id"], "status": 201, "result": "created", "_shards": SHARDS}}
            for action in actions
            for verb, about in action.items()
        ]
        return {"took": 3, "errors": False, "items": items}

    def _mapping(self, method: str, name: str, content: dict) -> dict:
        if method == "PUT":
            return ACKNOWLEDGED
        wanted = self.current if name == ALIAS else name
        return {
            index: {"mappings": mapping}
            for index, mapping in self.mappings.items()
            if re.fullmatch(wanted.replace("*", ".*"), index)
        }

    def _move(self, content: dict) -> dict:
        self.current = next(action["add"]["index"] for action in content["actions"] if "add" in action)
        return ACKNOWLEDGED

    def _stored(self, doc_id: str) -> dict:
        source = SOURCES.get(doc_id)
        return {"_index": INDEX, "_id": doc_id, "found": source is not None, **({"_source": source} if source else {})}

    def _tokens(self, texts: list[str]) -> dict:
        tokens, start = [], 0
        for text in texts:
            tokens.append(
                {"token": text.lower(), "start_offset": start, "end_offset": start + len(text), "position": 0}
            )
            start += len(text) + 1
        return {"tokens": tokens}

    def _found(self, search: dict) -> dict:
        return {**HITS, "aggregations": VOTES, "status": 200} if "aggs" in search else {**HITS, "status": 200}

    def _page(self, parts: list[str], query: str, content: dict) -> dict:
        if "aggs" in content:
            return {**HITS, "aggregations": VALUES}
        if parts[-1] == "scroll":
            return {**HITS, "_scroll_id": "s1", "hits": {"total": {"value": 2, "relation": "eq"}, "hits": []}}
        return {**HITS, "_scroll_id": "s1"}
