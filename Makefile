# What people type. The build itself is CMakeLists.txt and cmake/.
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc)

.PHONY: all demo test test-long bench golden check format install uninstall clean help
all: build

# Quiet when there is nothing to do, the compiler's own words when something is wrong.
.PHONY: build
build: packages
	@test -f build/build.ninja || cmake --preset release >build/configure.log 2>&1 || \
	    { cat build/configure.log; exit 1; }
	@cmake --build build -j $(JOBS)

.PHONY: packages
packages:
	@tools/packages.sh run
	@mkdir -p build

demo: build
	@tools/demo

test:
	@tools/packages.sh test
	@tools/test

test-long:
	@tools/packages.sh test
	@tools/test --long

bench: build
	@tools/packages.sh bench
	@bench/run $(GROUPS)

golden: build
	@test/golden/run --write
	@git --no-pager diff --stat -- test/golden

check: build
	@tools/packages.sh test
	@tools/check_style
	@tools/check_layers
	@tools/check_header
	@tools/check_abi
	@tools/check_generated
	@tools/check_words
	@tools/check_readmes
	@tools/check_symbols build
	@tools/check_docs build

format:
	@tools/packages.sh test
	@tools/list_c_files | xargs -r clang-format-14 -i

install: build
	@cmake -B build -DCMAKE_INSTALL_PREFIX=$(PREFIX) >build/configure.log 2>&1 || \
	    { cat build/configure.log; exit 1; }
	@cmake --build build -j $(JOBS)
	@DESTDIR=$(DESTDIR) cmake --install build

uninstall:
	@test -f build/install_manifest.txt || { echo "nothing was installed from here"; exit 1; }
	@sed 's|^|$(DESTDIR)|' build/install_manifest.txt | xargs -d '\n' rm -vf
	@sed -n 's|^\(.*/lib/weft/python\)/.*|$(DESTDIR)\1|p' build/install_manifest.txt | sort -u | xargs -rd '\n' rm -rf
	@sed -n -e 's|^\(.*/include/weft\)/.*|$(DESTDIR)\1|p' -e 's|^\(.*/lib/weft\)/.*|$(DESTDIR)\1|p' build/install_manifest.txt | sort -u | \
	    xargs -rd '\n' rmdir --ignore-fail-on-non-empty

clean:
	@rm -rf build

help:
	@echo "make            build the command (build/weft), the libraries and the examples"
	@echo "make demo       count the words of some texts"
	@echo "make test       all tests, a few minutes; make test-long goes deeper, hours"
	@echo "make bench      measure, against the usual tools; some of it: make bench GROUPS=sort"
	@echo "make check      style, words, readmes, layers, header, generated files, exported symbols, manual"
	@echo "make format     clang-format all C files"
	@echo "make golden     rewrite the expected texts in test/golden; review the diff"
	@echo "make install    to PREFIX (now $(PREFIX)), below DESTDIR if set; make uninstall"
	@echo "make clean      remove build/"
	@echo "Missing Debian packages are installed where root or sudo allows it, or named."
