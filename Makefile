# `make demo`, `make test` and `make docs` each make what they need of a virtual environment in .venv first.
# PYTHON=python3.12 picks another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test docs clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m nabla_array demo

# SLOW=1 adds what compiles hundreds of programs with MAX, runs under sanitizers, runs whole programs, or waits for
# processes.
test: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile -q $(if $(SLOW),,-m "not slow")

# The site is docs/_build/html/index.html. Warnings, broken links and names without a page are errors.
docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -j auto -q -b html $(SPHINXOPTS) docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

# One stamp for each set of extras, newer than what is installed (and compiled) from.
$(VENV)/demo.stamp: EXTRAS := scipy,plot
$(VENV)/docs.stamp: EXTRAS := docs,scipy,plot,distributed
$(VENV)/test.stamp: EXTRAS := test,scipy,plot,distributed
# pip would compile all modules. Python compiles those that are imported, if it may keep the bytecode.
UNCOMPILED := $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)
$(VENV)/%.stamp: pyproject.toml $(wildcard nabla_array/_lazy/native/*.[ch])
	@test -x $(BIN)/pip || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "needs Python 3.11 or later; name one with PYTHON=...")'
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UNCOMPILED) --editable '.[$(EXTRAS)]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build docs/reference/api
