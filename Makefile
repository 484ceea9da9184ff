# Every target does its own set-up: only Python 3.11 or later, gcc and make are needed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
WORKERS ?= 2

# `make test` draws the same examples in every property test; `make explore` draws new ones.
.PHONY: demo test slow explore snapshot check bench picture figures clean

demo: $(READY)
	$(BIN)/byheart demo

test: $(TOOLS)
	$(BIN)/python -m pytest -q -n $(WORKERS)

slow: explore
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

explore: $(TOOLS)
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -q -n $(WORKERS)

# What byheart writes and answers, compared with tools/snapshot.json; on the machine that recorded
# it to the byte, elsewhere as far as floats round alike.
snapshot: $(TOOLS)
	$(BIN)/python tools/snapshot.py

check: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(TOOLS)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/statistics.py
	$(BIN)/python benchmarks/family.py
	$(BIN)/python benchmarks/distributions.py
	$(BIN)/python benchmarks/attention_only.py
	$(BIN)/python benchmarks/stock.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/gpt2.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/edit.py

picture: $(TOOLS)
	$(BIN)/python tools/make_demo_picture.py
	$(BIN)/python tools/make_stock_picture.py

figures: $(TOOLS)
	$(BIN)/byheart reproduce --all

# The demo needs the package alone; PyTorch and what tests need come with the tools.
$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "byheart needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(TOOLS): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build byheart.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
