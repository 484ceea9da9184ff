# Every target does its own set-up: only Python 3.11 or later, gcc and make are needed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
WARM := $(VENV)/.warm
WORKERS ?= 2

# `make test` draws the same examples in every property test; `make explore` draws new ones.
.PHONY: demo test quick slow older field explore verified snapshot check size bench picture figures docs release-check clean

demo: $(READY)
	$(BIN)/byheart demo

test: $(WARM)
	$(BIN)/python -m pytest -q -n $(WORKERS)

# The contract tests and the tests of what differs from main, for at most 60 CPU seconds.
quick: $(TOOLS)
	$(BIN)/python tools/quick.py

slow: explore
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

# The checker whose evaluation is proved: its proofs, its program, and both against the examples.
verified: $(TOOLS)
	$(BIN)/python checker/verified/build.py
	$(BIN)/python -m pytest -q checker/tests/test_verified.py

# Stock checkpoints in older versions of transformers, each in an environment of its own.
OLDER ?= 5.0.0 4.57.6
older:
	set -e; for version in $(OLDER); do \
		place=$(VENV)-transformers-$$version; \
		test -x $$place/bin/python || $(PYTHON) -m venv $$place; \
		grep -v -E '^(transformers|tokenizers|huggingface_hub)==' constraints.txt > $$place/constraints.txt; \
		$$place/bin/python -m pip install --quiet -c $$place/constraints.txt -e '.[torch]' \
			transformers==$$version pytest pytest-xdist hypothesis; \
		HF_HUB_OFFLINE=1 $$place/bin/python -m pytest -q -n 0 tests/exports/test_transformers.py; \
	done

# docs/tools.md: its blocks in the tools, as far as these install. EASYEDIT=DIR names a copy of EasyEdit.
FIELD ?= transformer-lens==4.3.0 nnsight==0.8.1 lm-eval==0.4.13 peft==0.21.2 trl==1.16.0 captum==0.9.0 \
	circuitsvis==1.43.3 mergekit==0.1.5
FIELD_OLDER ?= optimum-onnx==0.1.0
TRIED = HF_HUB_OFFLINE=1 EASYEDIT='$(EASYEDIT)' $$place/bin/python -m pytest -q -n 0 -rs -m slow
field:
	set -e; place=$(VENV)-field; \
	test -x $$place/bin/python || $(PYTHON) -m venv $$place; \
	$$place/bin/python -m pip install --quiet -c constraints.txt -e '.[huggingface]' \
		datasets pytest pytest-xdist hypothesis pyyaml; \
	for tool in $(FIELD); do \
		$$place/bin/python -m pip install --quiet -c constraints.txt $$tool || echo "$$tool does not install"; \
	done; \
	$(TRIED) tests/exports/test_tools.py tests/exports/test_lm_eval.py
	set -e; place=$(VENV)-field-older; \
	test -x $$place/bin/python || $(PYTHON) -m venv $$place; \
	grep -v -E '^(transformers|tokenizers|huggingface_hub)==' constraints.txt > $$place/constraints.txt; \
	$$place/bin/python -m pip install --quiet -c $$place/constraints.txt -e '.[torch]' \
		onnxruntime onnxscript pytest pytest-xdist hypothesis; \
	for tool in $(FIELD_OLDER); do \
		$$place/bin/python -m pip install --quiet -c $$place/constraints.txt $$tool || echo "$$tool does not install"; \
	done; \
	$(TRIED) tests/exports/test_tools.py -k optimum

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

# Lines of the package by room, against the limits in tools/size.json.
size: $(TOOLS)
	$(BIN)/python tools/size.py

# One benchmark: make bench NAME=sizes; `python -m benchmarks` lists them.
NAME ?= all
bench: $(TOOLS)
	$(BIN)/python -m benchmarks $(NAME)

picture: $(TOOLS)
	$(BIN)/python tools/make_demo_picture.py
	$(BIN)/python tools/make_stock_picture.py
	$(BIN)/python -m tools.make_how_pictures

figures: $(TOOLS)
	$(BIN)/byheart reproduce --all

# The documentation site, in site/: it opens from the file system and needs no network.
docs: $(TOOLS)
	$(BIN)/python -m tools.pages site

# The wheel, in dist/, tried in fresh environments of every Python from 3.11 on that is found.
release-check: $(READY)
	$(BIN)/python tools/release_check.py $(PYTHONS)

# The demo needs the package alone; PyTorch and what tests need come with the tools.
$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "byheart needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(TOOLS): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# Kernels are compiled once, before two processes of tests would both compile them.
$(WARM): $(TOOLS) tools/warm.py $(shell grep -rl --include='*.py' njit byheart)
	$(BIN)/python tools/warm.py
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-transformers-* $(VENV)-field* build dist site byheart.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
