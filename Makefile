# Every target makes the environment in .venv first, when it is missing or its inputs changed.
# `make help` lists the targets.

.DEFAULT_GOAL := help
.PHONY: help setup run test test-gpu test-lowest check docs acceptance bench peers pins clean

BIN := .venv/bin
# The GPU tests may use a Python that has a CUDA build of torch already.
GPU_PYTHON ?= $(BIN)/python

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv (PYTHON=python3.12 names the Python)
	@if [ -n "$(PYTHON)" ] || ! $(BIN)/python -m tools.setup --check 2>/dev/null; then \
		python=$$(sh tools/python.sh "$(PYTHON)") && "$$python" -m tools.setup; fi

run: setup ## Walk the whole road: on four demo clips, or on VIDEOS=folder
	@$(BIN)/filmgate run $(VIDEOS)

test: setup ## Run the tests that need no GPU and no long time
	@$(BIN)/python -m pytest -m "not gpu and not slow" -n 2 --dist loadfile $(ARGS)

test-gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup) ## Run the GPU tests; they fail where there is no GPU
	@$(GPU_PYTHON) -m pytest -m gpu --require-gpu $(ARGS)

test-lowest: setup ## Run the tests with the lowest versions that pyproject.toml allows
	@$(BIN)/python -m tools.lowest $(ARGS)

check: setup ## Lint, format, types, imports, generated pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.docs --check

docs: setup ## Write the generated pages anew
	@$(BIN)/python -m tools.docs

acceptance: setup ## Measure every acceptance line, or ONLY=name; leaves a report
	@$(BIN)/python -m benchmarks.acceptance $(ONLY)

bench: setup ## Run the benchmarks, or ONLY=name; leaves reports
	@$(BIN)/python -m benchmarks $(ONLY)

peers: setup ## Make .venv-peers with the readers that `make bench ONLY=peers` compares
	@$(BIN)/python -m tools.peers

pins: ## Write requirements/pins.txt anew with today's versions (TORCH=version moves torch)
	@python=$$(sh tools/python.sh "$(or $(PYTHON),python3.11)") && \
		"$$python" -m tools.pin $(if $(TORCH),--torch $(TORCH))

clean: ## Remove environments and caches; runs stay
	@rm -rf .venv .venv-lowest .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
