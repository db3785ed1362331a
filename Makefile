# Everything a person types. Needs python3 (3.11 or later) and make; the rest is installed into a
# virtual environment of its own, one for each Python version:
#
#   make demo                        with python3
#   make test PYTHON=python3.12      with another interpreter

PYTHON ?= python3

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := .venv-$(VERSION)
BIN := $(VENV)/bin
# What each purpose installs, as extras of pyproject.toml; the environment grows with what is made in it. Touched after
# an installation: a changed pyproject.toml installs again.
EXTRAS_demo := demo
EXTRAS_examples := examples
EXTRAS_bench := examples,bench
EXTRAS_docs := docs,examples
EXTRAS_test := test,dev
FOR := $(VENV)/for-

.DEFAULT_GOAL := help
.PHONY: help demo gallery methods layers test lint format fuzz soak deep bench golden docs vsix install clean

.NOTPARALLEL:

help:  ## these lines; in brackets, the size of the environment that a target needs
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 16

demo: $(FOR)demo  ## learn digits, filter photographs, take noise out, solve Poisson's equation; pictures go to out/ (0.5 GB)
	$(BIN)/python examples/demo.py

gallery: $(FOR)bench  ## check, draw and time the programs of the gallery, for its pages; about fifteen minutes
	$(BIN)/python -m bench.gallery --pictures docs/pictures/gallery --json bench/results/gallery.json

methods: $(FOR)examples  ## kernel methods on real data, each compared with scikit-learn, SciPy or NumPy
	for example in examples/kernel_methods/*.py; do echo "$$example"; $(BIN)/python $$example || exit 1; done

layers: $(FOR)examples  ## Flax layers made of comprehensions: digits, a transformer, a learned equation
	for example in examples/layers/*.py; do echo "$$example"; $(BIN)/python $$example || exit 1; done

# Tests start other processes, and each would compile the sources again.
test deep golden: export PYTHONDONTWRITEBYTECODE =
test: lint  ## lint, then every test (1.4 GB)
	$(BIN)/python -m pytest

lint: $(FOR)test  ## style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-cache

format: $(FOR)test  ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Each runs for an equal share of the minutes.
FUZZERS := tc_text sac_text facts schedules scheduled_runs nests programs
MINUTES ?= 7
fuzz: $(FOR)test  ## garbage for readers, random questions, schedules, programs: seven minutes, or MINUTES=60
	@seconds=$$(( $(MINUTES) * 60 / $(words $(FUZZERS)) )); \
	for fuzzer in $(FUZZERS); do \
	  echo "$$fuzzer, $$seconds s"; $(BIN)/python -m tests.fuzz.fuzz_$$fuzzer --seconds $$seconds || exit 1; \
	done

# Each runs for an equal share of the minutes, longer than those of the fuzzers: what leaks, leaks slowly.
SOAKS := programs threads tuning
soak: MINUTES := $(if $(filter file,$(origin MINUTES)),30,$(MINUTES))
soak: export JAX_PLATFORMS ?= cpu
soak: $(FOR)test  ## days of work in one process, threads, processes, damaged files: thirty minutes, or MINUTES=600
	@seconds=$$(( $(MINUTES) * 60 / $(words $(SOAKS)) )); \
	for soak in $(SOAKS); do \
	  echo "$$soak, $$seconds s"; TCJAX_CACHE_DIR= $(BIN)/python -m tests.soak.soak_$$soak --seconds $$seconds || exit 1; \
	done

# How many examples a property tries that tries ten in `make test`; the others in proportion.
DEEP_EXAMPLES ?= 100
deep: export DEEP_EXAMPLES := $(DEEP_EXAMPLES)
deep: $(FOR)test  ## every case, and the properties with ten times as many and random examples: about an hour
	$(BIN)/python -m pytest --hypothesis-profile=deep

bench: $(FOR)bench  ## compare with the best hand-written JAX; one table of ratios
	$(BIN)/python -m bench.run

golden: $(FOR)test  ## rewrite golden pages and the outputs in the documents from what the compiler does now
	$(BIN)/python -m pytest tests/golden tests/docs tests/cli/test_page.py tests/syntax/test_tables.py --update-golden

docs: $(FOR)docs  ## the documentation as a site, in site/ (0.9 GB)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Look at it: $(BIN)/python -m http.server --directory site"

vsix: $(FOR)test  ## the extension for VS Code, editors/vscode/tcjax.vsix; needs npm
	cd editors/vscode && npm install --no-audit --no-fund && npm run package

install: $(FOR)test  ## only prepare the virtual environment

clean:  ## remove virtual environments, caches, site/ and out/
	rm -rf .venv-* out site build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv where it is there, else the pip of $(PYTHON), else a pip put into the environment; no bytecode before it is needed.
$(FOR)%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "tcjax needs Python 3.11 or later, and \`$(PYTHON)\` is $(or $(VERSION),not there)." >&2; \
	  echo "Name another interpreter: make $(or $(MAKECMDGOALS),test) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing tcjax[$(EXTRAS_$*)] into $(VENV)"
	@if command -v uv >/dev/null; then \
	  { test -d $(VENV) || uv venv --quiet --python "$(PYTHON)" $(VENV); } && \
	  uv pip install --quiet --python $(BIN)/python --editable '.[$(EXTRAS_$*)]'; \
	else \
	  { test -d $(VENV) || $(PYTHON) -m venv --without-pip $(VENV); } && pip="$(PYTHON) -m pip --python $(BIN)/python" && \
	  { $(PYTHON) -c 'import pip, sys; sys.exit(int(pip.__version__.split(".")[0]) < 23)' 2>/dev/null || \
	    { pip="$(BIN)/python -m pip" && $(BIN)/python -m ensurepip >/dev/null 2>&1; } || { rm -rf $(VENV); \
	    echo "\`$(PYTHON)\` has no pip; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; } && \
	  $$pip install --quiet --no-compile --disable-pip-version-check --editable '.[$(EXTRAS_$*)]'; \
	fi
	@touch $@
