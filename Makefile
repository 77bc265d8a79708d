# make run    install into .venv, fetch Reuters-21578, run configs/reuters_modapte.yaml, print the tables
# make test   install into .venv, lint, type-check, run the tests; LOCKED=1 installs the versions in .ci/requirements.txt
# make test-all   the same, with the tests that are marked slow
# make reproduce-tables   run every experiment of the five papers, write results/reproduction.md, check the numbers
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LATEST := $(VENV)/.ready-test
GENERATED := data/rcv1-like-200000
MARKED := -m 'not slow'

.PHONY: run test test-all lint types pytest reproduce-tables check check-slice bench clean

run: $(READY)
	$(BIN)/textcat run configs/reuters_modapte.yaml

test: $(LATEST) lint types pytest

test-all: MARKED :=
test-all: test

lint: $(LATEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(LATEST)
	$(BIN)/mypy

pytest: $(LATEST)
	$(BIN)/pytest -n 2 --dist loadscope $(MARKED)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("textcat needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(LATEST): pyproject.toml $(if $(LOCKED),.ci/requirements.txt) | $(VENV)/bin/python
	$(if $(LOCKED),.ci/install $(BIN),$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]')
	touch $@ $(READY)

# Run every experiment of the five papers, two at a time; finished stages are taken from the cache. Experiments whose
# data is not available (exit code 3) are skipped; any other failure stops here, after the other experiments have run.
reproduce-tables: $(READY) $(GENERATED)
	$(BIN)/textcat run --all --keep-going --at-once 2 || [ $$? -eq 3 ]
	$(BIN)/textcat report --matrix
	$(BIN)/textcat check

$(GENERATED): | $(READY)
	$(BIN)/python -m benchmarks.generate rcv1-like --documents 205000 --training 5000 --to $@

# Compare the numbers in results/ with the printed and pinned ones.
check: $(READY)
	$(BIN)/textcat check

# Run a part of every paper on Reuters-21578 again and compare it with the pinned numbers; part of `make test`.
check-slice: $(LATEST)
	$(BIN)/pytest -n 2 --dist loadscope tests/gate

# Set TEXTCAT_MIRROR to a folder with the files of six collections to measure tuning too (half an hour).
# Measure time and memory next to other libraries: a quarter of an hour, 6 GB; results/bench/ keeps the last run, docs/performance.md shows it.
bench: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	for name in text solvers pipeline predict backends scale; do $(BIN)/python -m benchmarks $$name --save results/bench || exit 1; done
	[ -z "$$TEXTCAT_MIRROR" ] || $(BIN)/python -m benchmarks tune --save results/bench
	$(BIN)/python -m benchmarks.page > docs/performance.md

clean:
	rm -rf $(VENV) data/cache

# Fuzz the readers, guided by coverage: make fuzz [FORMATS="sgml yaml"] [RUNS=1000000]. Inputs that fail are written to .venv/;
# when fixed, add them to tests/fuzz/cases. Then run the property tests on new random examples; `make test` always draws the same.
FORMATS ?= sgml reuters_json medline tokens qrels svmlight html packed csv jsonl new_csv new_jsonl yaml
RUNS    ?= 1000000

.PHONY: fuzz faults

fuzz: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3.0'
	for format in $(FORMATS); do $(BIN)/python -m tests.fuzz.run $$format -runs=$(RUNS) -artifact_prefix=$(VENV)/$$format. || exit 1; done
	$(BIN)/pytest -n 2 --dist loadscope -m hypothesis --hypothesis-profile random

# Carry out all attacks, such as a hundred kills of `textcat run` at random moments, and print how many were survived.
faults: $(LATEST)
	$(BIN)/python -m tests.faults

# lock: write .ci/requirements.txt, the versions and hashes that continuous integration installs.
# lowest: run the tests with the oldest versions that pyproject.toml allows.
RESOLVE := $(BIN)/uv pip compile --quiet --python-version 3.11 --no-header --no-annotate --no-emit-index-url

.PHONY: lock lowest audit

lock: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(RESOLVE) --upgrade --generate-hashes --extra test --extra lint pyproject.toml .ci/build.txt -o .ci/requirements.txt

lowest: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(RESOLVE) --resolution lowest-direct --extra test pyproject.toml -o $(VENV)/lowest.txt
	$(BIN)/uv venv --quiet --clear $(VENV)/lowest
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python -r $(VENV)/lowest.txt
	PYTHONPATH=. $(VENV)/lowest/bin/python -m pytest -n 2 --dist loadscope -m 'not slow'

# Look up known vulnerabilities of the locked versions in a public database; fails for packages it does not know.
audit: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r .ci/requirements.txt
