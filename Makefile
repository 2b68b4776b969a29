# make demo   runs the examples on real flights
# make stream runs a pattern over a generated stream for a minute
# make test   passes the tests
# make quick  passes those that need no Spark
# make docs   builds the documentation in site/
# Each makes its own .venv and installs everything into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CLASSES := $(VENV)/spark.jsa
WORKERS := -n auto --maxprocesses 6
unexport PYTHONDONTWRITEBYTECODE  # which images set: each of the programs that tests start would compile what it imports

.PHONY: demo stream test quick lint format docs benchmark java clean

demo: java $(INSTALLED)
	$(BIN)/python sql_examples/demo.py

stream: java $(INSTALLED)
	$(BIN)/python sql_examples/stream.py

test: java $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 $(CLASSES) lint
	$(BIN)/python -m pytest $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20

quick: $(INSTALLED) lint
	$(BIN)/python -m pytest $(WORKERS) --dist worksteal -m "not spark" --ignore tests/sql --ignore tests/thrift --ignore tests/cluster --durations=20

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED)
	$(BIN)/python docs/diagrams.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

benchmark: java $(INSTALLED)
	for script in benchmarks/*.py benchmarks/comparison; do $(BIN)/python $$script || exit 1; done

java:
	@sh .ci/check_java

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "sparkcep needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv && \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[test]' || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'  # which reads pip.conf
	$(BIN)/python -m sparkcep.engines.precompile
	touch $@

$(CLASSES): $(INSTALLED) tests/spark_setup.py
	$(BIN)/python -m tests.spark_setup $@

clean:
	rm -rf $(VENV) build site *.egg-info
