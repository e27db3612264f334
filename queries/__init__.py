"""The read path: expanded queries to Elasticsearch or OpenSearch, and hits back."""

from cptw_queries.cluster_index import ClusterIndex
from cptw_queries.existing import ExistingIndex
from cptw_queries.filters import RawFilter
from cptw_queries.fitting import QueryPrunedWarning
from cptw_queries.votes import aggregate_votes

__all__ = ["ClusterIndex", "ExistingIndex", "QueryPrunedWarning", "RawFilter", "aggregate_votes"]
