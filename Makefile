# Every target does its own set-up first; `make setup` does nothing when nothing changed.

PYTHON ?= python3
BIN := .venv/bin
EMULATOR := emulator/.venv
UV := $(BIN)/uv
FLOOR := .venv-floor
LOCK = $(UV) pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet
OLDEST_CDK := $(shell sed -n 's/.*"aws-cdk-lib>=\([^,]*\),.*/\1/p' pyproject.toml)
UV_LOCK = sed -n '/^uv==/,/[^\\]$$/p' requirements.txt
RELEASE := .venv-release
TASKS := .venv-tasks
VENDOR := unum_cli/ui/static/vendor
DAGRE := node_modules/@dagrejs/dagre/dist/dagre.esm.js
OWN := unum-runtime unum-azure unum-client unum-google unum-simulator unum-compiler unum-cli
PROJECTS := runtime_layer runtime_layer/python/unum_azure runtime_layer/python/unum_client runtime_layer/python/unum_google runtime_layer/python/unum_simulator unum_compiler unum_cli emulator .
CORE := template_structure permissions cross_stack samples
SEARCHES := $(patsubst %,tests/simulation/test_%.py,exhaustive random mutations generated long_loop control leases fusion packing large) tests/unit/protocol/delivery/test_lease_failures.py tests/golden/test_recorded_under_faults.py
SEPARATE := $(patsubst %,tests/e2e/test_%.py,cdk definitions readme repair service_cases stranded upgrade versions)
ATTACKS := tests/e2e/attacks
WAITING := $(patsubst %,tests/e2e/test_%.py,endurance guards liveness schedules wide_recovery)
IN_BUCKETS := $(patsubst %,tests/e2e/test_%.py,examples research control callbacks guards nested)
# Whatever is compiled once serves every later process, and no folder that is deployed or packaged gets any of it.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.pycache
# Images for containers often set it; then each of the hundreds of processes would compile the CDK and all tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick quick-times emulator-tests dist release-check synth-newest separate check lint unit slowest coverage synth-floor sbom audit packaging asl-table docs e2e e2e-shared e2e-attacks e2e-waiting e2e-separate e2e-s3 endurance simulate mutants bench bench-check emulator evidence setup lock format clean

demo: setup  ## deploy the example into the emulator, kill its functions while it runs, show what comes of it, tear it down
	$(BIN)/python -m examples.demo

test: setup  ## everything; deployments wait for most of the time, so they run beside the rest
	@$(MAKE) --no-print-directory --jobs 5 --output-sync=target check e2e-shared e2e-attacks e2e-waiting separate

separate: setup  ## one after the other what shares nothing with the other tests
	@$(MAKE) --no-print-directory --jobs 1 e2e-separate emulator-tests synth-floor bench-check packaging docs

check: setup  ## all that needs no emulator
	@$(MAKE) --no-print-directory --jobs 1 lint unit

lint: setup  ## linters, types, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file emulator/pyproject.toml
	$(BIN)/lint-imports
	node_modules/.bin/pyright --pythonpath $(BIN)/python

quick: setup  ## what a change of one module needs first: linters, types, architecture, and a minute of the nearest tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.affected --seconds 60

quick-times: setup  ## processor time and wall time of `make quick` after a change, for ten modules of different rooms
	$(BIN)/python -m tests.affected.measure

unit: setup  ## all tests that need no emulator
	$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not e2e and not packaging and not long" tests

slowest: setup  ## the 50 tests that use most processor time, of those that need no emulator
	$(BIN)/python -m tests.slowest

coverage: setup  ## what of the code the tests reach; without the searches, which would take three times as long
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -n 2 --dist loadscope -m "not e2e and not packaging" tests $(SEARCHES:%=--ignore=%) --cov --cov-report=
	$(BIN)/coverage report

synth-floor: setup $(FLOOR)/ready  ## what is synthesized, with the oldest CDK that pyproject.toml allows
	$(FLOOR)/bin/python -m pytest $(CORE:%=tests/synth/test_%.py) -k "not cfn_lint"

synth-newest: setup  ## what is synthesized, with the newest CDK there is
	@test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	$(UV) pip sync --python .venv-newest/bin/python requirements.txt
	$(UV) pip install --python .venv-newest/bin/python --quiet --upgrade "aws-cdk-lib>=2,<3"
	.venv-newest/bin/python -m pytest -n 2 --dist loadfile $(CORE:%=tests/synth/test_%.py) -k "not cfn_lint"

dist: setup  ## all distributions, in dist/
	for project in $(PROJECTS); do $(UV) build --no-build-isolation --python $(BIN)/python --out-dir dist $$project || exit; done

sbom: dist $(RELEASE)/ready  ## what an installation of all distributions contains, in CycloneDX's format, as dist/unum.cdx.json
	rm -rf $(RELEASE)/user
	$(PYTHON) -m venv --without-pip $(RELEASE)/user
	$(UV) pip install --quiet --python $(RELEASE)/user/bin/python --constraint requirements.txt "unum-runtime[jsonata]" unum-azure unum-client unum-google "unum-cli[ui]" unum-constructs --find-links dist
	$(RELEASE)/bin/cyclonedx-py environment $(RELEASE)/user/bin/python --pyproject pyproject.toml --output-reproducible --output-file dist/unum.cdx.json

audit: setup $(RELEASE)/ready  ## known vulnerabilities of all locked dependencies; asks PyPI and npm, and fails where these do not answer
	for lock in requirements.txt requirements-release.txt emulator/requirements.txt; do $(RELEASE)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off --requirement $$lock || exit; done
	npm audit --audit-level=low

packaging: setup  ## the distributions, installed as users install them
	$(BIN)/python -m pytest -m packaging tests/packaging

release-check: setup  ## a new project from the distributions alone: init, tests, deployment, development
	$(BIN)/python -m pytest -m packaging tests/packaging/test_new_project.py

asl-table: setup  ## the tables of docs/asl.md, from the compiler, its messages and tests
	$(BIN)/python -m tests.golden.asl_table.page

docs: setup  ## the documentation as a site, in out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

emulator-tests: setup  ## the emulator's own tests
	$(EMULATOR)/bin/python -m pytest -c emulator/pyproject.toml emulator/tests

e2e: e2e-shared e2e-attacks e2e-waiting e2e-separate  ## real deployments into the emulator

e2e-shared: setup  ## tests of the stacks that are deployed once for all
	$(BIN)/python -m pytest -m e2e tests/contract tests/e2e tests/google --ignore=$(ATTACKS) $(SEPARATE:%=--ignore=%) $(WAITING:%=--ignore=%)

e2e-attacks: setup  ## the catalogue of attacks, which deploys three stacks into an emulator of its own
	$(BIN)/python -m pytest -m e2e $(ATTACKS)

e2e-waiting: setup  ## tests of the same stacks that wait for most of their time, in an emulator of their own
	UNUM_STACKS="Chaos Control Endurance Guards Language" $(BIN)/python -m pytest -m e2e $(WAITING)

e2e-separate: setup  ## tests that deploy stacks of their own, into another emulator
	$(BIN)/python -m pytest -m e2e $(SEPARATE)

e2e-s3: setup  ## tests of all examples, of operators' requests, task tokens and leases, with the state in S3
	UNUM_STORE=s3 $(BIN)/python -m pytest -m e2e $(IN_BUCKETS)

endurance: setup  ## the deployments that are crowded, with EXECUTIONS=1000, and recoveries that crash, of BRANCHES=2000
	UNUM_EXECUTIONS=$(or $(EXECUTIONS),1000) UNUM_BRANCHES=$(or $(BRANCHES),2000) $(BIN)/python -m pytest -m e2e --timeout 3600 -o faulthandler_timeout=7200 tests/e2e/test_endurance.py tests/e2e/test_wide_recovery.py

simulate: setup  ## longer searches: properties on other examples, every way through larger graphs, the formal model, three chaos runs, all mutants (hours), then at random for MINUTES=30
	$(BIN)/python -m pytest -n 2 --timeout 3600 -o faulthandler_timeout=7200 --hypothesis-profile=others -m "not e2e and not packaging" $(shell git grep -l '@given' tests)
	$(BIN)/python -m pytest -n 2 --timeout 3600 -o faulthandler_timeout=7200 -rs -m long tests/simulation tests/golden tests/formal
	$(BIN)/python -m tests.formal.check
	$(BIN)/python -m tests.e2e.chaos --executions $(or $(EXECUTIONS),1000)
	$(BIN)/python -m tests.e2e.chaos --store s3 --executions $(or $(OBJECTS),200)
	$(BIN)/python -m tests.e2e.chaos.regions --executions $(or $(REGIONS),200)
	$(BIN)/python -m tests.mutation
	$(BIN)/python -m tests.simulation.search --minutes $(or $(MINUTES),30)

mutants: setup  ## try all mutants; continues where it was stopped, and tries again what has changed since
	$(BIN)/python -m tests.mutation $(ARGS)

evidence: setup  ## measure random searches, and write docs/evidence.md with the last results of `make simulate`
	$(BIN)/python -m tests.evidence --seeds $(or $(SEEDS),20)

bench: setup  ## all benchmarks, beside peers; writes docs/performance; ARGS=--json prints JSON
	@$(BIN)/python benchmarks/run.py $(ARGS)

bench-check: setup  ## what an execution and a stack use, against benchmarks/bounds.json; no times
	CDK_VALIDATION=false $(BIN)/python benchmarks/check.py

emulator: setup  ## a shell in which AWS is the emulator
	@$(BIN)/python -m unum_emulator.shell

setup: .venv/ready $(EMULATOR)/ready $(TASKS)/ready node_modules/.ready

.venv/ready: requirements.txt $(PROJECTS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]}: make PYTHON=python3.11")'
	@echo "Installing Python packages into .venv (about a minute, once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(UV_LOCK) > .venv/uv.txt
	@test -x $(UV) || $(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-deps -r .venv/uv.txt
	$(UV) pip sync --python $(BIN)/python requirements.txt
	$(UV) pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation $(PROJECTS:%=-e %)
	@touch $@

$(EMULATOR)/ready: emulator/requirements.txt emulator/pyproject.toml .venv/ready
	@echo "Installing the emulator into $(EMULATOR) ..."
	@test -x $(EMULATOR)/bin/python || $(PYTHON) -m venv $(EMULATOR)
	$(UV) pip sync --python $(EMULATOR)/bin/python emulator/requirements.txt
	@touch $@

$(TASKS)/ready: tests/google/requirements-tasks.txt .venv/ready
	@echo "Installing the emulator of Cloud Tasks, which needs old packages, into $(TASKS) ..."
	@test -x $(TASKS)/bin/python || $(PYTHON) -m venv $(TASKS)
	$(UV) pip sync --python $(TASKS)/bin/python tests/google/requirements-tasks.txt
	@touch $@

$(RELEASE)/ready: requirements-release.txt .venv/ready
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(UV) pip sync --python $(RELEASE)/bin/python requirements-release.txt
	@touch $@

$(FLOOR)/ready: requirements.txt pyproject.toml .venv/ready
	@echo "Installing aws-cdk-lib $(OLDEST_CDK) into $(FLOOR) ..."
	@test -x $(FLOOR)/bin/python || $(PYTHON) -m venv $(FLOOR)
	$(UV) pip sync --python $(FLOOR)/bin/python requirements.txt
	$(UV) pip install --python $(FLOOR)/bin/python --quiet aws-cdk-lib==$(OLDEST_CDK)
	@touch $@

node_modules/.ready: package.json package-lock.json
	@echo "Installing the CDK command line, and what the page needs, into node_modules ..."
	npm ci --ignore-scripts --no-audit --no-fund
	mkdir -p $(VENDOR)
	cp $(DAGRE) $(VENDOR)/dagre.js
	cp $(DAGRE).LEGAL.txt $(VENDOR)/dagre.LEGAL.txt
	@touch $@

lock: .venv/ready  ## resolve the dependencies anew
	$(LOCK) pyproject.toml --group dev --group docs $(OWN:%=--no-emit-package %) -o requirements.txt
	$(LOCK) --group release -o requirements-release.txt
	$(LOCK) emulator/requirements.in -o emulator/requirements.txt
	$(LOCK) tests/google/requirements-tasks.in -o tests/google/requirements-tasks.txt

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENDOR) .pycache .venv .venv-newest $(RELEASE) $(FLOOR) $(TASKS) $(EMULATOR) node_modules out cdk.out .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
