# Everything runs in a virtual environment of its own, .venv, which the targets make when they need it.
PYTHON ?= python3
BIN := .venv/bin
FOLDERS := cptw_search indexer queries
PACKAGES := cptw_search cptw_indexer cptw_queries
# A strict editable install is a tree of links: files that come and go (folders change then) mean a new one.
TREE := pyproject.toml $(shell find $(FOLDERS) -type d -not -name __pycache__)
INSTALL := $(BIN)/python -m pip install --quiet --config-settings editable_mode=strict --editable

.PHONY: help demo test test-servers up down lint format figures reproduce reproduce-wmd reproduce-quick \
	bench bench-quick bench-guard check-installs clean
help:  ## show what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/runtime: .venv/pyvenv.cfg $(TREE)
	$(INSTALL) .
	@touch $@

.venv/development: .venv/pyvenv.cfg $(TREE)
	$(INSTALL) '.[test,lint]'
	@touch $@ .venv/runtime

demo: .venv/runtime  ## search 300 news texts with BM25 and with CPTW, side by side
	$(BIN)/cptw demo

test: .venv/development  ## all tests that need no server, with doctests and coverage
	$(BIN)/python -m pytest -n auto -m "not servers" tests docs --doctest-modules --doctest-glob='*.md' \
		--pyargs $(PACKAGES) --cov --cov-report=term:skip-covered
	$(BIN)/python -m coverage report --fail-under=100 --skip-covered --include='$(PURE)'

# Modules without input and output of their own: every line and branch is tested.
PURE := */cptw_search/analysis.py,*/cptw_search/counting.py,*/cptw_search/propagation.py,$\
*/cptw_search/placement.py,*/cptw_search/bm25.py,*/cptw_search/similarity.py,$\
*/cptw_search/pruning.py,*/cptw_search/postings.py,*/cptw_search/neighbours.py,*/cptw_search/explain.py,$\
*/cptw_search/highlight.py,*/cptw_search/filters.py,*/cptw_search/document_ids.py,*/cptw_search/embeddings.py,$\
*/cptw_search/derive.py,*/cptw_search/term_vectors.py,*/cptw_search/model.py,*/cptw_search/errors.py,$\
*/cptw_search/scoring.py,*/cptw_search/sparse_scores.py,*/cptw_search/acceleration.py,*/cptw_search/row_products.py,*/cptw_search/tuning.py,*/cptw_search/classify.py,*/cptw_search/cluster_names.py,$\
*/indexer/mapping.py,*/indexer/bodies.py,*/queries/builders.py,*/queries/bodies.py,*/queries/filters.py,$\
*/queries/fitting.py,*/queries/fusion.py,*/queries/expansion.py,*/queries/learning.py

test-servers: .venv/development  ## the tests on real Elasticsearch and OpenSearch servers
	$(BIN)/python -m pytest -m servers tests/integration

up:  ## start Elasticsearch in Docker on this machine
	docker compose -f docker/compose.yaml up --detach --wait

down:  ## stop what `make up` started
	docker compose -f docker/compose.yaml --profile opensearch --profile three-nodes down

lint: .venv/development  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(addprefix -p ,$(PACKAGES))

format: .venv/development  ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: .venv/development  ## draw the figures of README and docs anew
	$(BIN)/python examples/explain_picture.py docs/figures/explanation.png

# Needs the data sets and vectors of docs/datasets.md in the folder that CPTW_DATA names. What is done stays in
# reproduction/cache: an interrupted run goes on where it stopped.
VECTORS ?= googlenews
reproduce: .venv/development  ## the paper's Table 2 anew, all but WMD on six data sets; and the study of retrieval
	$(BIN)/cptw evaluate knn --vectors $(VECTORS) --out reproduction
	cp reproduction/knn.json reproduction/knn.md reproduction/knn.provenance.json docs/results/
	cp reproduction/f1.png reproduction/tau.png reproduction/iicr.png docs/figures/
	$(BIN)/python benchmarks/reproduction_page.py
	$(BIN)/python benchmarks/retrieval_study.py

reproduce-wmd: .venv/development  ## the word mover's distance on 100 test documents of each split
	$(BIN)/cptw evaluate knn --methods wmd --with-wmd --vectors $(VECTORS) --out reproduction/wmd
	cp reproduction/wmd/knn.json docs/results/knn-wmd.json
	cp reproduction/wmd/knn.provenance.json docs/results/knn-wmd.provenance.json
	$(BIN)/python benchmarks/reproduction_page.py

reproduce-quick: .venv/development  ## the same on two small sets with fewer parameters, in three minutes
	$(BIN)/cptw evaluate knn --quick --vectors $(VECTORS) --out reproduction/quick

# bench and bench-quick need the data sets and vectors of docs/datasets.md in the folder that CPTW_DATA names.
.venv/bench: .venv/development
	$(INSTALL) '.[bench]'
	@touch $@

bench: .venv/bench  ## speed beside others and the bare machine: docs/speed.md anew, in less than 20 minutes
	$(BIN)/python benchmarks/bench.py

bench-quick: .venv/bench  ## the same at small sizes, in two minutes, into build/bench
	$(BIN)/python benchmarks/bench.py --quick --docs build/bench

bench-guard: .venv/development  ## three ratios on made-up data: has something become twice as slow?
	$(BIN)/python benchmarks/guard.py

check-installs: .venv/development  ## plain, editable and strict-editable installs, from the checkout and elsewhere
	PYTHON=$(BIN)/python tests/check_installs.sh

clean:  ## remove what the targets made
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
