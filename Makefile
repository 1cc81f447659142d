# k2hft. `make help` lists targets and variables; README.md says more.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

B            ?= build
CFLAGS       ?= -O2 -g
CXX          ?= c++
PKG_CONFIG   ?= pkg-config
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
prefix       ?= $(or $(PREFIX),/usr/local)
bindir       ?= $(prefix)/bin
libdir       ?= $(prefix)/lib
includedir   ?= $(prefix)/include
datadir      ?= $(prefix)/share
mandir       ?= $(datadir)/man
docdir       ?= $(datadir)/doc/k2hft
pkgconfigdir ?= $(libdir)/pkgconfig
unitdir      ?= $(prefix)/lib/systemd/system
completiondir ?= $(datadir)/bash-completion/completions

Q   := $(if $(filter 1,$(V)),,@)
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say  = $(if $(filter 1,$(V))$(silent),@:,@printf '  %-7s %s\n' $(1) $(2))

# ---- version: written in version.h; the map must have a node for it, and debian/ is checked by tests/install/debian.sh

version_part = $(shell sed -n 's/^.define K2HFT_VERSION_$(1) *\([0-9]*\)$$/\1/p' include/k2hft/version.h)
SO_MAJOR := $(call version_part,MAJOR)
VERSION  := $(SO_MAJOR).$(call version_part,MINOR).$(call version_part,PATCH)
map_node = $(shell sed -n 's/^K2HFT_\([0-9.]*\) {.*/\1/p' $(1) | head -1)
$(foreach map,$(wildcard lib/*.map),$(if $(filter-out $(VERSION),$(call map_node,$(map))),$(error \
	include/k2hft/version.h says $(VERSION), the newest node of $(map) is $(call map_node,$(map)))))
ifneq ($(shell sed -n 's/^.define K2HFT_VERSION_STRING "\(.*\)"/\1/p' include/k2hft/version.h),$(VERSION))
$(error K2HFT_VERSION_STRING of include/k2hft/version.h is not $(VERSION))
endif

# ---- flags

SANITIZE ?=
OPTIMISED := $(filter -O1 -O2 -O3 -Os -Og -Ofast,$(CFLAGS))
WERROR    ?= $(if $(wildcard .git),-Werror)
WARNINGS  := -Wall -Wextra $(WERROR) -Wconversion -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes
HARDENING := -fstack-protector-strong $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS)$(CPPFLAGS)),,$(if $(OPTIMISED),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
PUBLIC    := -std=c11 -Iinclude -pthread $(WARNINGS) $(HARDENING) $(SANITIZER)
pkg        = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
# Modules are asked one by one: pkg-config says nothing at all when one of several is missing, and only the tests need cmocka.
cflags_of  = $(patsubst -I%,-isystem %,$(foreach module,$(1),$(call pkg,--cflags,$(module))))
MODULES   := fuse3 libevent libevent_pthreads zlib libzstd liblz4 libxxhash inih yaml-0.1 libpcre2-8 libssl libcrypto cmocka
# Files of more than 2 GiB where long has 32 bits; its time_t stays what the libraries have. clang takes it that memory's
# functions leave errno alone, and would drop a store that puts it back. Builds in two folders are the same, byte for byte.
COMPILE   := $(PUBLIC) $(addprefix -fno-builtin-,malloc calloc realloc aligned_alloc strdup) -D_GNU_SOURCE $(if $(findstring __SIZEOF_LONG__ 4,$(shell $(CC) $(CFLAGS) $(CPPFLAGS) -dM -E -xc /dev/null 2>/dev/null)),-D_FILE_OFFSET_BITS=64) $(if $(findstring -Og,$(CFLAGS)),-DXXH_NO_INLINE_HINTS) '-ffile-prefix-map=$(subst ','\'',$(CURDIR))=.' -DCMOCKA_DISABLE_DEPRECATION_WARNINGS -iquote lib -iquote . -fPIC -fvisibility=hidden $(call cflags_of,$(MODULES))
LINK      := -pthread $(SANITIZER) -Wl,-z,relro,-z,now,--as-needed
lib_LIBS  := $(or $(call pkg,--libs,liblz4 libssl libcrypto),-llz4 -lssl -lcrypto) -pthread
config_LIBS := $(or $(call pkg,--libs,inih yaml-0.1),-linih -lyaml)
app_LIBS  := $(call pkg,--libs,libpcre2-8) -lm -ldl
fuse_LIBS := $(call pkg,--libs,fuse3)
receiver_LIBS := $(call pkg,--libs,libevent_core libevent_extra libevent_pthreads zlib libzstd)
cmocka_LIBS   := $(call pkg,--libs,cmocka)

# ---- what is built from what

# sources FOLDER: its files and those of the folders in it. objects: what they are compiled to.
sources  = $(wildcard $(addprefix $(1),/*.c /*/*.c /*/*/*.c /*/*/*/*.c))
objects  = $(patsubst %.c,$(B)/obj/%.o,$(call sources,$(1)))
APP_OBJECTS := $(call objects,lib/app)
CONFIG_OBJECTS := $(call objects,lib/config)
LIB_OBJECTS := $(filter-out $(APP_OBJECTS) $(CONFIG_OBJECTS),$(call objects,lib))
# The helpers of libk2hft that others compile in, too. The process has one log callback and libk2hft one version.
BASE_OBJECTS := $(filter-out %/log_callback.o %/version.o,$(call objects,lib/base) $(call objects,lib/net))
FUSE_OBJECTS     := $(call objects,fuse)
TOOLS_OBJECTS    := $(call objects,tools)
UNIT_OBJECTS     := $(call objects,tests/unit)
LIB_SO   := $(B)/lib/libk2hft.so
LIB_A    := $(B)/lib/libk2hft.a
BASE_A   := $(B)/lib/libk2hft-base.a
CONFIG_SO := $(B)/lib/libk2hft-config.so
CONFIG_A := $(B)/lib/libk2hft-config.a
APP_A    := $(B)/lib/libk2hft-app.a
PROGRAMS := $(patsubst %,$(B)/bin/%,$(if $(wildcard fuse/main.c),k2hftfuse) \
	$(if $(wildcard receiver/main.c),k2hftfusesvr) $(if $(wildcard tools/k2hft.c),k2hft))
# Each program without its main, so that a test takes from it what it needs.
PARTS_A  := $(patsubst %,$(B)/lib/%-parts.a,k2hftfuse k2hftfusesvr k2hft)
UNIT     := $(patsubst %.o,$(B)/tests/%,$(notdir $(UNIT_OBJECTS)))
STRESS   := $(patsubst tests/stress/%.c,$(B)/tests/stress/%,$(wildcard tests/stress/*.c))
TOOLS    := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(wildcard tests/tools/*.c))
FUZZ     := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))
SCRIPTS   = $(wildcard $(patsubst %,tests/%/*.sh,$(1)) $(patsubst %,tests/%/*.py,$(1)))
include receiver/modules.mk
FUZZERS  := $(FUZZ:%=$(B)/tests/fuzz/%)

.PHONY: all unit stress examples deps check test dist bench demo lint check-asan check-tsan check-sanitized fuzz check-fuzz \
	install uninstall install-check clean help FORCE
all: $(LIB_SO) $(LIB_A) $(CONFIG_SO) $(CONFIG_A) $(APP_A) $(PROGRAMS)    ## libraries and programs, into $B/bin and $B/lib
unit: $(UNIT) $(TOOLS) $(FUZZERS)
stress: $(STRESS)
examples: $(EXAMPLES)
all unit stress examples: ; @:

# A stamp is written again only when its text differs: what depends on it is made again when flags or files change.
stamp = $(Q)mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || \
	printf '%s\n' '$(subst ','\'',$(1))' > $@
$(B)/flags: FORCE
	$(call stamp,$(CC) $(COMPILE) $(CFLAGS) $(CPPFLAGS) $(LINK) $(LDFLAGS))
$(B)/files: FORCE
	$(call stamp,$(VERSION) $(LIB_OBJECTS) $(BASE_OBJECTS) $(CONFIG_OBJECTS) $(APP_OBJECTS) $(FUSE_OBJECTS) $(RECEIVER_PARTS) $(TOOLS_OBJECTS))

$(B)/obj/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE) -MMD -MP $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

# Callers of these files ask the processor before. private: $(B)/flags, which each object needs, is the same for all.
$(B)/obj/lib/base/hash_avx2.o $(B)/obj/lib/app/rules/needles_avx2.o: private override CPPFLAGS += $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-mavx2)

$(LIB_A): $(LIB_OBJECTS)
$(BASE_A): $(BASE_OBJECTS)
# With what it needs of the helpers, so that it goes with either kind of libk2hft.
$(CONFIG_A): $(CONFIG_OBJECTS) $(BASE_OBJECTS)
$(APP_A): $(APP_OBJECTS)
$(B)/lib/k2hftfuse-parts.a: $(filter-out %/main.o,$(FUSE_OBJECTS))
$(B)/lib/k2hftfusesvr-parts.a: $(RECEIVER_PARTS)
$(B)/lib/k2hft-parts.a: $(filter-out %/k2hft.o,$(TOOLS_OBJECTS))
$(LIB_A) $(BASE_A) $(CONFIG_A) $(APP_A) $(PARTS_A): $(B)/files
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D); rm -f $@; $(AR) rcs $@ $(filter %.o,$^)

# nodelete: a thread that looks a name up is not waited for, and would go on in memory that dlclose(3) has given back.
# Bsymbolic-functions: the library calls its own functions at once, not through a table that others can change.
$(LIB_SO): $(LIB_OBJECTS) lib/k2hft.map $(B)/files $(B)/flags
	$(call link_shared,-z$(comma)nodelete$(comma)-Bsymbolic-functions,$(lib_LIBS))
$(CONFIG_SO): $(CONFIG_OBJECTS) lib/k2hft-config.map $(BASE_A) $(LIB_SO) $(B)/files $(B)/flags
	$(call link_shared,,$(config_LIBS) $(lib_LIBS))
# link_shared OPTIONS,LIBRARIES
define link_shared
$(call say,LINK,$@)
$(Q)mkdir -p $(@D)
$(Q)$(CC) -shared $(CFLAGS) $(LINK) $(if $(1),-Wl$(comma)$(1)) $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) \
	-Wl,-soname,$(@F).$(SO_MAJOR),--version-script=$(filter %.map,$^) $(LDFLAGS) -o $@.$(VERSION) \
	$(filter %.o %.a %.so,$^) $(2)
$(Q)ln -sf $(@F).$(VERSION) $@.$(SO_MAJOR); ln -sf $(@F).$(VERSION) $@
endef
comma := ,

# Programs use libk2hft.so as applications do. They find it from where they are, also below the prefix; elsewhere install
# links them anew, with the folder of the library or, where the loader looks by itself, without one.
multiarch  := $(shell $(CC) -print-multiarch 2>/dev/null)
run_path    = $(if $(filter /lib /lib64 /usr/lib /usr/lib64 $(if $(multiarch),/lib/$(multiarch) /usr/lib/$(multiarch)),$(libdir)),,$(libdir))
INSTALLED  := $(if $(filter $(bindir):$(libdir),$(prefix)/bin:$(prefix)/lib),$(if $(run_path),$(PROGRAMS)))
INSTALLED  := $(or $(INSTALLED),$(PROGRAMS:$(B)/bin/%=$(B)/installed/%))
$(B)/run_path: FORCE
	$(call stamp,$(run_path))
$(B)/bin/k2hftfuse $(B)/installed/k2hftfuse: $(FUSE_OBJECTS)
$(B)/bin/k2hftfuse $(B)/installed/k2hftfuse: LIBS = $(fuse_LIBS)
$(B)/bin/k2hftfusesvr $(B)/installed/k2hftfusesvr: $(RECEIVER_OBJECTS)
$(B)/bin/k2hft $(B)/installed/k2hft: $(TOOLS_OBJECTS)
$(foreach program,k2hftfusesvr k2hft,$(B)/bin/$(program) $(B)/installed/$(program)): LIBS = $(receiver_LIBS)
$(PROGRAMS): PATH_OF_LIBRARY = $$ORIGIN/../lib
$(PROGRAMS:$(B)/bin/%=$(B)/installed/%): PATH_OF_LIBRARY = $(run_path)
$(PROGRAMS:$(B)/bin/%=$(B)/installed/%): $(B)/run_path
$(PROGRAMS) $(PROGRAMS:$(B)/bin/%=$(B)/installed/%): $(APP_A) $(CONFIG_A) $(BASE_A) $(LIB_SO)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -pie $(CFLAGS) $(LINK) $(if $(PATH_OF_LIBRARY),-Wl$(comma)-rpath$(comma)'$(PATH_OF_LIBRARY)') $(LDFLAGS) -o $@ \
		$(filter %.o,$^) $(APP_A) $(CONFIG_A) $(BASE_A) $(LIB_SO) $(LIBS) $(app_LIBS) $(config_LIBS) $(lib_LIBS)
.SECONDEXPANSION:
unit_object = $(filter %/$(1).o,$(UNIT_OBJECTS))
$(UNIT): $(B)/tests/%: $$(call unit_object,$$*)
$(UNIT_OBJECTS): private override CPPFLAGS += -iquote tests/unit
$(STRESS) $(TOOLS): $(B)/%: $(B)/obj/%.o
# With libFuzzer's main where that is compiled for, else with one that runs files.
$(FUZZERS): $(B)/tests/fuzz/%: $(B)/obj/tests/fuzz/fuzz_%.o $(if $(findstring fuzzer,$(SANITIZE)),,$(B)/obj/tests/fuzz/replay.o)
$(FUZZERS): LIBS = $(receiver_LIBS) $(MODULES_LIBS) $(if $(findstring fuzzer,$(SANITIZE)),-fsanitize=fuzzer)
$(UNIT) $(STRESS): LIBS = $(cmocka_LIBS) $(receiver_LIBS) $(MODULES_LIBS) $(foreach name,$(wrapped_by_$(@F)),-Wl,--wrap=$(name),--wrap=$(name)64)
$(UNIT) $(STRESS) $(TOOLS) $(FUZZERS): $(APP_A) $(CONFIG_A) $(LIB_A)
tests_of = $(patsubst tests/unit/$(1)/%.c,$(B)/tests/%,$(wildcard tests/unit/$(1)/*.c)) $(addprefix $(B)/tests/fuzz/,$(2))
$(call tests_of,fuse,text): $(B)/lib/k2hftfuse-parts.a
$(call tests_of,receiver,session connection ledger control forward otlp): $(B)/lib/k2hftfusesvr-parts.a
$(call tests_of,tools,verify control): $(B)/lib/k2hft-parts.a
# Tests see what the shared library hides.
$(UNIT) $(STRESS) $(TOOLS) $(FUZZERS):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -pie $(CFLAGS) $(LINK) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %-parts.a,$^) $(APP_A) $(CONFIG_A) $(LIB_A) $(LIBS) $(app_LIBS) $(config_LIBS) $(lib_LIBS)

# As an application is built: public headers and the shared library only.
$(B)/examples/%: examples/%.c $(LIB_SO) $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PUBLIC) -fPIE -pie -MMD -MP $(CFLAGS) $(CPPFLAGS) $(LINK) $(LDFLAGS) -o $@ $< $(LIB_SO) \
		-Wl,-rpath,$(abspath $(B)/lib)

# ---- checks. The parts run in a make of their own: what deps has installed is found then.

deps:                   ## installs what building and checking need, or prints how to
	@pkgconfig/install-deps check
# The thread sanitizer wants addresses where it expects them.
fixed_addresses = $(if $(findstring thread,$(SANITIZE)),$(shell setarch -R true 2>/dev/null && echo setarch -R))
run_tests = $(Q)MAKEFLAGS= MAKELEVEL= B='$(B)' CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' SANITIZER='$(SANITIZER)' \
	K2HFT_MAKE='$(MAKE) $(MAKEOVERRIDES) --no-print-directory' $(fixed_addresses) tests/run -j $(JOBS)
remake    = $(Q)$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
LINT     := $(call SCRIPTS,lint)
INSTALL  := $(call SCRIPTS,install)
E2E      := $(call SCRIPTS,e2e)

check: deps             ## builds, lints and runs every test
	$(call remake) all unit stress examples
	$(call run_tests) $(E2E) $(STRESS) $(UNIT) $(INSTALL) $(call SCRIPTS,man model net) $(LINT)
test: all unit          ## the tests of units and manual: installs nothing, needs neither root nor a network
	$(call run_tests) $(UNIT) $(call SCRIPTS,man)
lint: deps              ## arrows between folders, banned constructs, sizes, prose, layout of sources, shell scripts
	$(call remake) all
	$(call run_tests) $(LINT)
bench: all              ## measures all, 37 minutes (BENCH=--brief: fewer records), into bench/; goes on where bench/results.json ends
	$(Q)mkdir -p bench; $(B)/bin/k2hft bench --all --resume --json bench/results.json --html bench/results.html \
		--markdown bench/RESULTS.md --note "$$(git describe --always --dirty 2>/dev/null)" $(BENCH)
demo:                   ## sends real logs from here to here, both ways, and compares
	@pkgconfig/install-deps build
	$(call remake) all
	@B='$(B)' tests/demo.sh
install-check: all      ## installs to a temporary root, uses it from C and C++, uninstalls
	$(call run_tests) $(INSTALL)
check-asan: deps        ## unit, stress and end-to-end tests with address and UB sanitizers
	$(call remake) B=build-asan SANITIZE=address,undefined CFLAGS='-O1 -g' all unit stress examples
	$(Q)$(MAKE) --no-print-directory B=build-asan SANITIZE=address,undefined check-sanitized SANITIZED_SCRIPTS='$(E2E)'
check-tsan: deps        ## the same with the thread sanitizer
	$(call remake) B=build-tsan SANITIZE=thread CFLAGS='-O1 -g' all unit stress examples
	$(Q)$(MAKE) --no-print-directory B=build-tsan SANITIZE=thread check-sanitized SANITIZED_SCRIPTS='$(E2E)'
fuzz = @pkgconfig/install-deps fuzz && $(MAKE) --no-print-directory B=build-fuzz CC=clang CFLAGS='-O1 -g' \
	SANITIZE=fuzzer-no-link,address,undefined $(1:%=build-fuzz/tests/fuzz/%) && tests/fuzz/run.sh $(2) $(1)
TIME ?= 60
fuzz check-fuzz:        ## each fuzz target for TIME=60 seconds; fuzz-NAME: one of them
	$(call fuzz,$(FUZZ),$(TIME))
$(FUZZ:%=fuzz-%): fuzz-%:
	$(call fuzz,$*,$(TIME))
include lib/app/program/page.mk pkgconfig/missing.mk tests/faults/faults.mk tests/model/model.mk tests/unit/wrapped.mk pkgconfig/install.mk
check-sanitized:
	$(call run_tests) $(SANITIZED_SCRIPTS) $(STRESS) $(UNIT)

clean:                  ## removes build and what other checks are built into
	rm -rf $(B) build-asan build-tsan build-fuzz build-crash

help:                   ## this
	@sed -n 's/^\([a-z -]*\):.*## \(.*\)/\1|\2/p' Makefile */*.mk tests/*/*.mk | while IFS='|' read -r t h; do printf '  make %-15s %s\n' "$$t" "$$h"; done
	@printf '%s\n' 'Variables: CC CXX CFLAGS CPPFLAGS LDFLAGS PKG_CONFIG JOBS SANITIZE WERROR;' \
		'  B: folder to build into; V=1: shows commands; DESTDIR prefix (PREFIX is the same)' '  bindir libdir includedir datadir mandir docdir pkgconfigdir unitdir completiondir zshdir fishdir sysusersdir tmpfilesdir; openrcdir, pythondir'

-include $(shell find $(B)/obj $(B)/examples -name '*.d' 2>/dev/null)
