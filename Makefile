# Two commands do everything: `make book` builds the book and opens it on this machine, `make test` proves it.
# Needs Python 3.11 or later and nothing else.

SHELL := /bin/sh
BIN := .venv/bin
STAMPS := .venv/.stamps

.PHONY: book html test audit lighthouse notebooks bundle env lint clean help

help:
	@echo "make book       build the book and serve it on this machine"
	@echo "make test       every test (builds the book first)"
	@echo "make html       build only, into _build/html"
	@echo "make audit      measure every page in a real browser"
	@echo "make lighthouse print Lighthouse's scores of three pages"
	@echo "make notebooks  write notebooks/*.ipynb from the chapters"
	@echo "make bundle     build the widgets' scripts from js/"
	@echo "make lint       ruff, mypy, and the types of the scripts"
	@echo "make env        only install what the others need"
	@echo "make clean      remove _build"

book: html
	@$(BIN)/python tools/serve.py

html: env
	@$(BIN)/jupyter-book build . -W -n --keep-going

test: env $(STAMPS)/browser
	@$(BIN)/python tools/test_all.py

audit: html $(STAMPS)/browser
	@$(BIN)/python tools/audit.py

lighthouse: html $(STAMPS)/browser
	@$(BIN)/python tools/lighthouse.py

notebooks: env
	@$(BIN)/python tools/export_notebooks.py

bundle: env
	@$(BIN)/node tools/bundle.mjs

lint: env
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/node node_modules/typescript/bin/tsc -p js/tsconfig.json

env: $(STAMPS)/python $(STAMPS)/node

clean:
	@rm -rf _build

$(STAMPS)/python: requirements.txt constraints.txt pyproject.toml
	@python="$$(PYTHON="$(PYTHON)" sh tools/find_python.sh)" && "$$python" tools/env.py python
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/node: package-lock.json $(STAMPS)/python
	@$(BIN)/python tools/env.py node
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/browser: $(STAMPS)/python
	@$(BIN)/python tools/env.py browser
	@mkdir -p $(STAMPS) && touch $@
