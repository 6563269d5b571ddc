# Two commands: `make demo` and `make test`. Both make their own virtual environment in .venv first.
# PYTHON=python3.12 picks another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m nabla_array demo

test: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

# One stamp for each set of extras, newer than what is installed (and compiled) from.
$(VENV)/demo.stamp: EXTRAS := scipy,plot
$(VENV)/test.stamp: EXTRAS := test,scipy,plot,distributed
$(VENV)/%.stamp: pyproject.toml $(wildcard nabla_array/_lazy/native/*.[ch])
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "needs Python 3.11 or later; name one with PYTHON=...")'
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	touch $@

clean:
	rm -rf $(VENV)
