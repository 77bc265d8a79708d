# make run    set up .venv, fetch Reuters-21578, run configs/reuters_modapte.yaml, print the tables
# make test   set up .venv, lint, type-check, run the tests; with LOCKED=1 on the versions of .ci/requirements.txt
# make reproduce-tables   every table of the five papers, and results/reproduction.md
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LATEST := $(VENV)/.ready-test

.PHONY: run test lint types pytest reproduce-tables check check-slice bench clean

run: $(READY)
	$(BIN)/textcat run configs/reuters_modapte.yaml

test: $(LATEST) lint types pytest

lint: $(LATEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(LATEST)
	$(BIN)/mypy

pytest: $(LATEST)
	$(BIN)/pytest -n 2 --dist loadscope

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("textcat needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(LATEST): pyproject.toml $(if $(LOCKED),.ci/requirements.txt) | $(VENV)/bin/python
	$(if $(LOCKED),.ci/install $(BIN),$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]')
	touch $@ $(READY)

# Every table of the five papers that the data on this machine allows; what is done is not done again.
reproduce-tables: $(READY)
	-$(BIN)/textcat run --all --keep-going
	$(BIN)/textcat report --matrix

# The gate: printed and pinned numbers against results/.
check: $(READY)
	$(BIN)/textcat check

# A slice of every paper on Reuters-21578, run anew and held against the pinned numbers; `make test` has it too.
check-slice: $(LATEST)
	$(BIN)/pytest -n 2 --dist loadscope tests/gate

# Speed and memory beside peers, at every size: a quarter of an hour and 6 GB; results/bench/ keeps the last run
bench: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	for what in text solvers pipeline predict backends scale; do $(BIN)/python -m benchmarks $$what --save results/bench || exit 1; done

clean:
	rm -rf $(VENV) data/cache

# Coverage-guided fuzzing of every reader: make fuzz [FORMATS="sgml yaml"] [RUNS=1000000]; cases that it finds go to tests/fuzz/cases
FORMATS ?= sgml reuters_json medline tokens qrels svmlight html packed csv jsonl new_csv new_jsonl yaml
RUNS    ?= 1000000

.PHONY: fuzz faults

fuzz: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3.0'
	for format in $(FORMATS); do $(BIN)/python -m tests.fuzz.run $$format -runs=$(RUNS) -artifact_prefix=$(VENV)/$$format. || exit 1; done

# A hundred SIGKILLs at random moments of `textcat run`, each followed by a run that must end as the undisturbed one did
faults: $(LATEST)
	$(BIN)/python -m tests.faults.kills --kills 100

# What continuous integration installs, with hashes; and the tests on the oldest versions that pyproject.toml allows
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

# Known vulnerabilities of what is locked; asks a public service, and fails where that does not know a package
audit: $(LATEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r .ci/requirements.txt
