# Two commands are all a newcomer needs: `make demo` and `make test`.
# Each builds its own virtual environment on first use; later runs start at once.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
# What is built on the client, and is not run while the core is worked on.
ABOVE := durable langchain llamaindex mcp_server service sessions viewer workspace

# Tests start dozens of processes, which would compile every module again without its cache.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check coverage bench docs torture oldest format clean

help: ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found. Install one, or run: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON) (first run only, some minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY) ## retain eight months of conversation and compare recall with vector search
	@$(BIN)/hindsight-memory demo

test: $(READY) ## lint, types and every test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; \
	$(BIN)/pytest -n auto --dist loadgroup; \
	tests=$$?; wait $$types && exit $$tests

check: $(READY) ## lint, format, types and the core's fast tests, in a minute or two
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; \
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -n auto --dist worksteal -p no:schemathesis -m "not slow" $(ABOVE:%=--ignore=tests/%); \
	tests=$$?; wait $$types && exit $$tests

coverage: $(READY) ## every test, and which lines and branches none of them runs
	@$(BIN)/pytest -n auto --dist loadgroup --cov --cov-report=term-missing

bench: $(READY) ## measure speed, and write it into docs/benchmarks.md
	@$(BIN)/python -m benchmarks.speed

docs: $(READY) ## the documentation site, into build/site
	@$(BIN)/python -m tests.documentation
	@$(BIN)/python -m tests.site

torture: $(READY) ## kill, damage, fuzz and forge; KILLS=1000 over night
	@$(BIN)/python -m tests.torture --kills $(or $(KILLS),20) --calls $(or $(CALLS),3000)

oldest: $(READY) ## install the oldest versions that pyproject.toml allows, and run a part of the tests on them
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
		--only-binary :all: --no-binary hindsight-integrations \
		-e '.[langchain,llamaindex,mcp,neo4j,pictures,service,telemetry,workspace]' \
		'pytest>=8.4' 'pytest-asyncio>=1.2' 'pytest-timeout>=2.4' 'hypothesis>=6.130' 'langchain-tests>=1.1.1'
	@$(OLDEST)/bin/pytest -W default -m "not slow" tests/test_recall.py tests/mcp_server tests/llamaindex/test_retriever.py

format: $(READY) ## fix what the linter can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) $(OLDEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage* build dist
