# Everything starts from Python, make and a C compiler:
#   make demo   tunes a real operator for this machine, in about two minutes
#   make test   runs every test
# Each creates its own environment, .venv, and renews it when the requirements change.

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-overheads lock clean

BIN := .venv/bin
READY := .venv/.installed

help:
	@echo "make demo             tune a real operator for this machine (about two minutes)"
	@echo "make test             run every test"
	@echo "make check            style, format and types"
	@echo "make bench            beside other libraries, row by row (hours; ARGS='--quick --only softmax' minutes)"
	@echo "make bench-overheads  what a call, a lookup, a load and a trial cost"
	@echo "make lock             choose the newest versions of the dependencies again"
	@echo "make clean            remove the environment and everything built"

$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(READY)
	$(BIN)/python examples/demo.py

# Tests that measure time have the machine to themselves; then the rest, two at a time.
# (pytest exits with 5 where a filter leaves no test: no fault.)
test: $(READY)
	$(BIN)/pytest -m alone $(ARGS) || [ $$? -eq 5 ]
	$(BIN)/pytest -m "not alone" -n 2 $(ARGS)

# mypy knows nothing of a folder that installs under another name: it gets a tree of links, laid anew each time.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf .mypy && mkdir -p .mypy/loopwright
	for path in loopwright/* sched autotune ops; do ln -s "../../$$path" .mypy/loopwright/; done
	$(BIN)/mypy | sed -E 's#\.mypy/loopwright/(sched|autotune|ops)/#\1/#; s#^\.mypy/##'

bench: $(READY)
	$(BIN)/python -m benchmarks.suite $(ARGS)

bench-overheads: $(READY)
	$(BIN)/python -m benchmarks.overheads

# A fresh environment without the old pins; what it got becomes the new ones. The pins hold from
# Python 3.11 on: an older one takes the newest versions that still support it.
lock:
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	{ echo "# Written by 'make lock': the versions that the tests ran with."; \
	  $(BIN)/python -m pip freeze --exclude-editable --disable-pip-version-check \
	  | sed 's/$$/ ; python_version >= "3.11"/'; } > constraints.txt
	touch $(READY)

clean:
	rm -rf .venv .mypy build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
