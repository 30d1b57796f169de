# Everything happens inside this folder: the virtual environment, the caches, the demo's files.
PYTHON ?= python3
SECONDS ?= 30
# Tests wait for half of their time: three at once keep two cores busy.
JOBS ?= 3
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
export PIP_CACHE_DIR := $(CURDIR)/$(VENV)/.pip-cache
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench soak clean

help: ## Show this list
	@echo "make TARGET [VARIABLE=value]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Variables: PYTHON=$(PYTHON) (3.10 or newer), SECONDS=$(SECONDS) (demo; 0: until Ctrl-C), JOBS=$(JOBS) (test), PYTEST_ARGS (test)"

demo: $(VENV)/.run-stamp ## Run a beat, a worker and Flower on an embedded broker and print what happens
	@$(BIN)/python examples/demo/run.py --seconds $(SECONDS)

test: $(VENV)/.dev-stamp ## Run all tests (servers that are not installed are skipped by name)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

check: $(VENV)/.dev-stamp ## Lint, formatting and strict types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.dev-stamp ## Mend formatting and what the linter can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.bench-stamp ## Measure this package beside others, in one run on this machine (under ten minutes)
	@$(BIN)/python benchmarks/run.py

soak: $(VENV)/.dev-stamp ## Run for long under kills and restarts, then account for every scheduled time
	@$(BIN)/python benchmarks/soak.py

clean: ## Remove the virtual environment, the caches and build results
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "$(PYTHON) is missing or older than 3.10; say 'make PYTHON=/path/to/python3.12 ...'" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "$(PYTHON) -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run-stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[flower,web]'
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.run-stamp

$(VENV)/.bench-stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	@touch $@ $(VENV)/.dev-stamp $(VENV)/.run-stamp
