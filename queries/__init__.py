"""The read path: expanded queries to Elasticsearch or OpenSearch, and hits back."""
