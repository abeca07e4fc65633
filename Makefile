# The two commands of the README are `make demo` and `make test`; `make help` lists the others.
# A missing prerequisite stops make with one line, hence $(error) and not a failing command.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup

# Tests start hundreds of processes: each would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test quick theory slow lint typecheck docs wheel release clean java

demo: java $(INSTALLED) ## watch recursive views over real data stay fresh (about two minutes)
	@echo "Running the demo"
	@$(BIN)/deltic demo $(ARGS)

test: java $(INSTALLED) ## run the default test suite
	@echo "Running the tests"
	@$(PYTEST) $(ARGS)

quick: $(INSTALLED) ## run a part of every layer's tests, without Spark: under a minute
	@echo "Running the quick tests"
	@$(PYTEST) -m "not slow and not spark" $(ARGS) @tests/quick.txt

theory: $(INSTALLED) ## run the suite of the theory: laws, and other meanings of circuits than the product's
	@echo "Running the theory's tests"
	@$(PYTEST) $(ARGS) theory/tests

slow: java $(INSTALLED) ## run the tests that are too long for the default suite
	@echo "Running the slow tests"
	@$(PYTEST) -m slow --hypothesis-profile=thorough $(ARGS) tests extensions/ddlog/tests theory/tests || [ $$? -eq 5 ] # 5: there is none

lint: $(INSTALLED) ## check style, formatting and prose
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python scripts/prose.py

typecheck: $(INSTALLED) ## check the types, strictly
	@$(BIN)/mypy

docs: $(INSTALLED) ## build the site of docs/ into site/, and check its links
	@$(BIN)/python scripts/docs.py

wheel: $(INSTALLED) ## build the wheels of deltic, deltic-ddlog and dbt-deltic into dist/
	@rm -rf dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist extensions/ddlog
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist extensions/dbt

release: $(INSTALLED) ## check everything, then build the wheels, the source distribution and the site
	@.ci/run
	@$(MAKE) wheel docs
	@$(BIN)/python -m build --sdist --no-isolation --outdir dist .
	@ls -l dist

clean: ## remove the environment and everything that was built or cached
	@rm -rf .venv .venv-* dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-out
	@find src tests theory extensions -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

java:
	@$(if $(shell JAVA_HOME='$(JAVA_HOME)' scripts/find-java),,$(error Spark needs a Java 17+ runtime: \
	install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17) or point JAVA_HOME at it))

$(INSTALLED): requirements.lock pyproject.toml theory/pyproject.toml extensions/ddlog/pyproject.toml
	@$(if $(shell DELTIC_PYTHON='$(DELTIC_PYTHON)' scripts/find-python),,$(error Deltic needs Python 3.11 to 3.14 with venv: \
	install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.12) and have it on the PATH))
	@scripts/install "$(shell DELTIC_PYTHON='$(DELTIC_PYTHON)' scripts/find-python)" $(VENV)
