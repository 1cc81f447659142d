# k2hft: make [all], check, demo, install, install-check, uninstall, check-asan, check-tsan, lint, clean
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

B      ?= build
CC     ?= cc
CFLAGS ?= -O2 -g
PKG    ?= pkg-config

WARN     = -Wall -Wextra -Werror -Wconversion -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes
K_CFLAGS = -std=c11 -D_GNU_SOURCE -Iinclude -Ilib -Ilib/app -fPIC -fvisibility=hidden -pthread $(WARN) -MMD -MP
DEPS     = fuse3 libevent libevent_pthreads liblz4 libxxhash inih libpcre2-8
D_CFLAGS := $(shell $(PKG) --cflags $(DEPS) 2>/dev/null)
lib_LIBS     := $(shell $(PKG) --libs liblz4 inih 2>/dev/null) -pthread
app_LIBS     := $(shell $(PKG) --libs inih libpcre2-8 2>/dev/null)
fuse_LIBS    := $(shell $(PKG) --libs fuse3 2>/dev/null)
receiver_LIBS := $(shell $(PKG) --libs libevent_core libevent_pthreads 2>/dev/null)
cmocka_LIBS  := $(shell $(PKG) --libs cmocka 2>/dev/null)

src = $(wildcard $(1)/*.c)
obj = $(patsubst %.c,$(B)/obj/%.o,$(call src,$(1)))

LIB_A = $(B)/lib/libk2hft.a
APP_A = $(B)/lib/libk2hft-app.a
PROGRAMS = $(if $(wildcard fuse/main.c),$(B)/bin/k2hftfuse) \
           $(if $(wildcard receiver/main.c),$(B)/bin/k2hftfusesvr) $(if $(wildcard tools/k2hft.c),$(B)/bin/k2hft)
UNIT = $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))

.PHONY: all unit clean
all: $(LIB_A) $(APP_A) $(PROGRAMS)
unit: $(UNIT)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(K_CFLAGS) $(D_CFLAGS) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

$(LIB_A): $(call obj,lib)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(APP_A): $(call obj,lib/app)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(B)/bin/k2hftfuse: $(call obj,fuse)
$(B)/bin/k2hftfusesvr: $(call obj,receiver)
$(B)/bin/k2hft: $(call obj,tools)
$(PROGRAMS): $(APP_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(APP_A) $(LIB_A) \
		$(if $(filter %fuse,$@),$(fuse_LIBS)) $(if $(filter %svr,$@),$(receiver_LIBS)) $(app_LIBS) $(lib_LIBS)
$(B)/tests/%: $(B)/obj/tests/unit/%.o $(APP_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(APP_A) $(LIB_A) $(cmocka_LIBS) $(app_LIBS) $(lib_LIBS)

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
