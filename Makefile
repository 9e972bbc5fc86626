# Everything runs in .venv, which is made from uv.lock by the first target that needs it.
# Overrides: make PYTHON=/path/to/python3.12 setup; make SEEDS=500 proof; make bench ARGS=--json

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN   := .venv/bin
STAMP := .venv/made-from
SEEDS ?= 10000
SCHEMAS ?= 10000
IMAGE ?= hostler
ENGINE ?= $(shell for name in podman buildah docker; do command -v $$name && break; done)

PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v $$name && break; done)

.PHONY: help
help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup:  ## make .venv from uv.lock (the only target that downloads)
	@test -n "$(PYTHON)" || { echo "hostler needs Python 3.11 or later on the PATH" >&2; exit 1; }
	@$(PYTHON) tools/setup.py

$(STAMP): pyproject.toml uv.lock tools/setup.py
	@$(MAKE) --no-print-directory setup

.PHONY: demo
demo: $(STAMP)  ## watch a fleet live through a bad day, without an account
	@$(BIN)/hostler demo

.PHONY: demo-macs
demo-macs: $(STAMP)  ## watch a week of leased Macs in 40 seconds, without an account
	@$(BIN)/hostler demo macs

.PHONY: demo-rack
demo-rack: $(STAMP)  ## watch a day of a rack in 40 seconds, switched on and off by demand
	@$(BIN)/hostler demo rack

.PHONY: demo-kubernetes
demo-kubernetes: $(STAMP)  ## watch Macs of Cluster API rolled, drained and reclaimed in two to five minutes
	@$(BIN)/hostler demo kubernetes

.PHONY: test
test: $(STAMP)  ## run everything that CI runs
	@$(BIN)/python tools/test.py

.PHONY: controlplane
controlplane: $(STAMP)  ## run the last part of the tests alone: against Kubernetes' own programs
	@$(BIN)/python tools/test.py controlplane

.PHONY: check
check: $(STAMP)  ## run the static checks only: lint, format, spelling, types, layers, words, docs
	@$(BIN)/python tools/test.py static

.PHONY: format
format: $(STAMP)  ## repair what can be repaired by a tool
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

.PHONY: proof
proof: $(STAMP)  ## simulate SEEDS disasters (10000 unless you say otherwise), and what "make test" has no time for
	@$(BIN)/pytest -n2 -m proof
	@$(BIN)/hostler simulate --seeds $(SEEDS)

.PHONY: schemas
schemas: $(STAMP)  ## judge SCHEMAS runner's schemas that nobody has seen (10000 unless you say otherwise)
	@$(BIN)/python -m hostler.lab.schemas.trials --count $(SCHEMAS)

.PHONY: exhaustive
exhaustive: $(STAMP)  ## explore Macs state by state, with a person, and every corner of a box's power, to the end
	@$(BIN)/python -m hostler.lab.model_check.macs.explore --person
	@$(BIN)/python -m hostler.lab.model_check.power.explore

.PHONY: mutants
mutants: $(STAMP)  ## break the code that decides in 40 places, one by one, and see what notices
	@$(BIN)/python tools/mutants.py $(ARGS)

.PHONY: clients
clients: $(STAMP)  ## run the official Go client against the simulator (needs go and its module proxy)
	@$(BIN)/python tests/simulators/go_client/run.py

.PHONY: bench
bench: $(STAMP)  ## print the numbers that the design promises (COMPARE=1: beside the baseline)
	@$(BIN)/python tools/bench.py $(if $(COMPARE),--compare) $(ARGS)

.PHONY: plugin
plugin: $(STAMP)  ## build dist/fleeting-plugin-hostler, the plugin as a single file
	@$(BIN)/python tools/single_file.py

.PHONY: image
image:  ## build the image with the first container engine that there is (IMAGE=hostler)
	@test -n "$(ENGINE)" || { echo "an image needs podman, buildah or docker on the PATH" >&2; exit 1; }
	@$(ENGINE) build -f deploy/Containerfile -t $(IMAGE) .

.PHONY: chart
chart: $(STAMP)  ## render the chart anew into the golden files of tests/deploy
	@$(BIN)/python tests/deploy/golden.py

.PHONY: components
components: $(STAMP)  ## write what clusterctl reads of a provider, into dist/clusterctl
	@$(BIN)/python tests/deploy/components.py

.PHONY: docs
docs: $(STAMP)  ## build the site in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: news
news: $(STAMP)  ## show the next section of the change log, from the fragments in news/
	@$(BIN)/towncrier build --draft --version next

.PHONY: lock
lock:  ## bring uv.lock up to date with pyproject.toml (UPGRADE=1: newest versions)
	@test -x .cache/uv/bin/uv || $(MAKE) --no-print-directory setup
	@env -u UV_INDEX -u UV_FIND_LINKS .cache/uv/bin/uv lock \
		--default-index https://pypi.org/simple $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean:  ## remove all that was made
	rm -rf .venv .cache build dist site .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
