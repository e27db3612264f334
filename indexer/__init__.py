"""The write path: documents, expanded by a model, into Elasticsearch or OpenSearch."""
