"""The write path: documents, expanded by a model, into Elasticsearch or OpenSearch."""

from cptw_indexer.aliases import IndexRecord
from cptw_indexer.bodies import Rejection
from cptw_indexer.indexer import ClusterIndexer
from cptw_indexer.loader import Retries
from cptw_indexer.summary import LoadSummary

__all__ = ["ClusterIndexer", "IndexRecord", "LoadSummary", "Rejection", "Retries"]
