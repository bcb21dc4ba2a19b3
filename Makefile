# Every target does its own set-up: Python 3.11 or newer and make are all it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
READY := .venv/.ready

export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(CURDIR)/.venv
# the tests start hundreds of commands: without a cache each would compile every module again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check system soak docs screenshots lock clean

help: ## this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## /  make \1\t/' | expand -t 22

demo: $(READY) ## a sample film through the whole pipeline, checked at the end
	@$(BIN)/python -m rushes.cli.main demo

test: $(READY) system ## everything a reviewer needs: all checks, then all tests on both databases
	@start=$$SECONDS; \
	$(MAKE) check; \
	$(BIN)/python -m pytest; \
	echo "make test: $$((SECONDS - start)) s"

check: $(READY) ## format, lint, types, import contract, docs; starts no server
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest --quiet --numprocesses=0 tests/test_architecture.py tests/test_docs.py

system: ## as root on Debian: install the packages that some tests need
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		wanted=$$(while read -r name; do dpkg -s "$$name" >/dev/null 2>&1 || echo "$$name"; done < tests/apt.txt); \
		if [ -n "$$wanted" ]; then \
			echo "installing Debian packages for the tests:" $$wanted; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$wanted >/dev/null; \
		fi; \
	fi

soak: $(READY) system ## the long tests: hours, not minutes
	@RUSHES_SOAK=1 $(BIN)/python -m pytest -m soak --numprocesses=0 --timeout=0

bench-%: $(READY) ## a benchmark beside its peers, e.g. bench-engine
	@$(BIN)/python -m bench.$*

docs: $(READY) ## write the generated pages of docs/ anew
	@$(BIN)/python -m docs.requirements
	@$(BIN)/python -m docs.pages

screenshots: $(READY) system ## pictures of every page into docs/images/
	@$(BIN)/python -m tests.web.browser.screenshots

lock: $(UV) ## resolve the dependencies anew into requirements.lock
	@$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade \
		pyproject.toml --all-extras --group dev -o requirements.lock

clean: ## remove the environment, builds and caches
	@rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): requirements.lock pyproject.toml | $(UV)
	@$(UV) pip sync --quiet requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Rushes needs Python 3.11 or newer as $(PYTHON); choose one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8,<1'
