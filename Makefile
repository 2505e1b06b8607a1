# tilewright. `make` alone lists the targets; every one of them first builds .venv from requirements.lock when needed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
JOBS ?= 2
THREADS ?= 1,2

BIN := .venv/bin
VENV := .venv/.installed

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo cases test test-all mutants check fmt lint types arch golden-accept docs bench bench-tirx bench-quick clean lock

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("tilewright needs Python 3.11 or newer: make PYTHON=/path/to/python" if sys.version_info < (3, 11) else 0)'
	@echo "building .venv from requirements.lock (about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --requirement requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(VENV) ## build .venv from requirements.lock

demo: $(VENV) ## run five kernels from source to machine code, checked against float64
	@$(BIN)/python -m tilewright.tools.demo

cases: $(VENV) ## public bug reports as kernels with known answers, on every route
	@$(BIN)/python -m tilewright.tools.cases

test: $(VENV) ## the fast tests
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-all: $(VENV) ## every test, with more random examples
	$(BIN)/python -m pytest -n $(JOBS) --hypothesis-profile=thorough

mutants: $(VENV) ## plant 30 faults in the rule tables, one at a time; every one must be caught by a fast test
	@$(BIN)/python -m tests.mutation.run

check: lint types arch docs test ## everything a change must pass

fmt: $(VENV) ## format, and mend what ruff can mend safely
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --diff .

types: $(VENV) ## pyright, strict
	$(BIN)/pyright

arch: $(VENV) ## import contracts, budgets, names, snippets, error codes
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest tests/architecture

golden-accept: $(VENV) ## rewrite the golden texts of the tests, then read `git diff`
	$(BIN)/python -m pytest -q tests/errors tests/golden --golden-accept

docs: $(VENV) ## regenerate the error pages and build build/docs without a warning
	$(BIN)/python -m tilewright.tools.error_pages tests/errors/golden docs/reference/errors
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs build/docs

bench: $(VENV) ## add the peers to .venv, measure every row on THREADS, and render docs/performance
	$(BIN)/python -m pip install -qq --constraint requirements.lock --editable '.[bench]'
	$(BIN)/python -m benchmarks run --threads $(THREADS) --publish

bench-tirx: $(VENV) ## measure each option of the lowering TIRX, and it beside NumPy and PyTorch, about six minutes
	$(BIN)/python -m pip install -qq --constraint requirements.lock --editable '.[bench]'
	$(BIN)/python -m benchmarks tirx --publish

bench-quick: $(VENV) ## some rows on one thread, in less than five minutes; with the peers that are installed
	$(BIN)/python -m benchmarks run --quick

clean: ## remove everything that is built, .venv included
	rm -rf .venv build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find src tests docs -name __pycache__ -type d -exec rm -rf {} +

lock: $(VENV) ## resolve pyproject.toml again and rewrite requirements.lock
	$(BIN)/python .ci/lock.py > requirements.lock.new
	mv requirements.lock.new requirements.lock
