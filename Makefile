# Two commands do everything on a machine with Python 3.11, git and make:
#   make demo    the main story in a temporary repository
#   make test    all tests
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE
READY := $(VENV)/.ready
BENCH := .venv-bench
PRICES := .venv-prices
DEMO := .venv-demo
SITE := .venv-site
CONTRIB := .venv-contrib
HOSTILE := tests/proof/test_hostile_tree.py

.PHONY: help demo test test-pythons check format proof test-clients test-contrib bench continuity conformance docs site screenshots prices dist changelog lock clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "holdfast needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@# Readable for all: a test's PostgreSQL does not run as root.
	@umask 022; test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@umask 022; $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.lock
	@umask 022; $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEMO)/.ready: pyproject.toml requirements/dev.lock $(shell git ls-files src 2>/dev/null)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "holdfast needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Preparing the demo, once: an environment with Holdfast and its four dependencies, about 50 MB."
	@echo "It stays in $(DEMO); remove it with: rm -r $(DEMO)"
	@echo "  1 of 2: $(DEMO)"
	@$(PYTHON) -m venv $(DEMO)
	@echo "  2 of 2: pip install ."
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements/dev.lock .
	@touch $@

demo: $(DEMO)/.ready ## the main story, in a temporary repository; FAST=1 does not pause
	@$(DEMO)/bin/holdfast demo $(if $(FAST),--fast)

# The tests are compiled once, not once in each worker.
$(VENV)/.compiled: $(READY)
	@$(BIN)/python -m compileall -q -j 2 src
	@$(BIN)/python -m pytest --collect-only -qq --ignore=tests/real_clients > /dev/null
	@touch $@

test: $(VENV)/.compiled ## all tests but the slow proofs and the real clients; the ten slowest at the end
	@scripts/need chromium chromium "the page is tested in a browser" || test -z "$(CI)"
	@scripts/need ip iproute2 "three machines in network namespaces" || test -z "$(CI)"
	@scripts/need busybox busybox "the hooks' launcher in its shell" || test -z "$(CI)"
	@scripts/need mksh mksh "the hooks' launcher in its shell" || test -z "$(CI)"
	@scripts/need zsh zsh "tab completion" || test -z "$(CI)"
	@scripts/need fish fish "tab completion" || test -z "$(CI)"
	@$(BIN)/python -m pytest -n 3 --dist worksteal --durations=10 --ignore=tests/real_clients -m "not proof and not clients and not contrib" $(RERUNS)

test-pythons: $(READY) ## a smoke set on Python 3.11, 3.12 and 3.13, as far as they are installed, and the wheel on each; PYTHONS=--others leaves ours out
	@$(BIN)/python -m scripts.pythons $(PYTHONS)
	@$(BIN)/python -m scripts.dist

check: $(READY) ## ruff, mypy --strict, import-linter, links of the documentation
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m scripts.links

format: $(READY) ## let ruff put the code in order
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

proof: $(READY) ## slow proofs: kill -9, full disk and I/O errors at every system call
	@scripts/need strace
	@scripts/need ip iproute2
	@TMPDIR=$${TMPDIR:-/tmp} $(BIN)/python -m pytest -m proof -n 2 --dist worksteal --durations=10 --deselect $(HOSTILE) # on a disk; `make test` uses memory
	@$(BIN)/python -m pytest -m proof -n 3 $(HOSTILE)
	@$(BIN)/python -m pytest -n 3 -m "hypothesis and not clients" --hypothesis-profile=thorough

test-clients: $(READY) ## the six clients themselves, against a stub
	@$(BIN)/python -m scripts.clients
	@# On a disk: Codex's sandbox leaves a file system in memory writable.
	@TMPDIR=$${TMPDIR:-/tmp} $(BIN)/python -m pytest -n 2 -m clients tests/real_clients $(RERUNS)

$(CONTRIB)/.ready: pyproject.toml requirements/contrib.lock
	@umask 022; test -x $(CONTRIB)/bin/python || $(PYTHON) -m venv $(CONTRIB)
	@umask 022; $(CONTRIB)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/contrib.lock
	@umask 022; $(CONTRIB)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-contrib: $(CONTRIB)/.ready ## the stores for LangGraph and the Claude Agent SDK, by the suites of their makers
	@$(CONTRIB)/bin/python -m pytest -n 2 -m contrib tests/contrib $(RERUNS)

bench: ## speed and size as ratios, peers beside us
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.lock
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .
	@$(BENCH)/bin/python -m bench

continuity: $(READY) ## what a resume carries over, on recorded sessions; CONTINUITY_DATA=DIR for others
	@$(BIN)/python -m bench.continuity

conformance: $(READY) ## build/conformance.md: which clause is proved in which test file
	@$(BIN)/python -m scripts.conformance

docs: $(READY) ## generate the reference pages, the pictures, the plugins' trees, and what MCP answers at a start
	@$(BIN)/python -m scripts.reference
	@$(BIN)/python -m scripts.plugins
	@$(BIN)/python -m scripts.diagrams
	@$(BIN)/python -m scripts.greeting

$(SITE)/.ready: requirements/site.lock
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/site.lock
	@touch $@

site: $(READY) $(SITE)/.ready ## the documentation as a web site in build/site; it needs no network to be read
	@$(BIN)/python -m scripts.site
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

screenshots: $(READY) ## the pictures of the page and of the demo, from real runs
	@scripts/need chromium
	@$(BIN)/python -m scripts.screenshots
	@$(BIN)/python -m scripts.recording

dist: $(READY) ## wheel and sdist, built twice with the same bytes, tried out on each Python; TRIAL=--no-trial does not
	@$(BIN)/python -m scripts.dist $(TRIAL)

changelog: $(READY) ## put the fragments of changelog.d into CHANGELOG.md
	@$(BIN)/python -m scripts.changelog

prices: ## the price list anew, from the newest genai-prices
	@rm -rf $(PRICES) && $(PYTHON) -m venv $(PRICES)
	@$(PRICES)/bin/python -m pip install --quiet --disable-pip-version-check genai-prices
	@$(PRICES)/bin/python scripts/prices.py
	@rm -rf $(PRICES)

lock: ## write requirements/*.lock anew
	@PYTHON="$(PYTHON)" scripts/lock

clean:
	@rm -rf $(VENV) $(BENCH) $(DEMO) $(SITE) $(CONTRIB) .mypy_cache .ruff_cache .hypothesis dist build
