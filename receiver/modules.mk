# SPDX-License-Identifier: MIT
# ---- modules: sinks of the receiver that want libraries of their own, which it loads when TYPE names them

# A module is receiver/sink/NAME, what they share is remote. What its library's pkg-config does not find is left out.
SINK_MODULES  := $(foreach name,kafka forward otlp,$(if $(wildcard receiver/sink/$(name)/*.c),$(name)))
forward_NEEDS := zlib
kafka_NEEDS   := rdkafka
otlp_NEEDS    := libcurl libprotobuf-c zlib
otlp_TOOLS    := protoc-c
module_missing = $(strip $(foreach need,$($(1)_NEEDS),$(if $(call pkg,--modversion,$(need)),,$(need))) \
	$(foreach tool,$($(1)_TOOLS),$(if $(shell command -v $(tool)),,$(tool))))
MODULES_LEFT  := $(foreach name,$(SINK_MODULES),$(if $(call module_missing,$(name)),$(name)))
MODULES_BUILT := $(filter-out $(MODULES_LEFT),$(SINK_MODULES))
MODULES_SO    := $(MODULES_BUILT:%=$(B)/lib/k2hft/%.so)
module_objects = $(patsubst %.c,$(B)/obj/%.o,$(wildcard receiver/sink/$(1)/*.c)) $(patsubst %.proto,$(B)/obj/%.pb-c.o,$(wildcard receiver/sink/$(1)/*.proto))
# The program has none of them; its parts, which the tests take from, have all.
RECEIVER_PARTS   := $(filter-out %/main.o $(foreach name,$(MODULES_LEFT),$(call module_objects,$(name))),$(call objects,receiver)) \
	$(foreach name,$(MODULES_BUILT),$(filter %.pb-c.o,$(call module_objects,$(name))))
RECEIVER_OBJECTS := $(filter-out $(foreach name,kafka forward otlp remote,$(call module_objects,$(name))),$(call objects,receiver))
# Their tests are named after them.
module_tests  = $(patsubst tests/unit/receiver/%.c,$(1)%$(2),$(foreach name,$(MODULES_LEFT),$(wildcard tests/unit/receiver/test_$(name)*.c)))
UNIT_OBJECTS := $(filter-out $(call module_tests,$(B)/obj/tests/unit/receiver/,.o),$(UNIT_OBJECTS))
UNIT         := $(filter-out $(call module_tests,$(B)/tests/),$(UNIT))
FUZZ         := $(filter-out $(MODULES_LEFT),$(FUZZ))
MODULES_LIBS  = $(foreach name,$(MODULES_BUILT),$(foreach need,$($(name)_NEEDS),$(call pkg,--libs,$(need))))

.PHONY: say-left
say-left:
	@: $(foreach name,$(MODULES_LEFT),$(info $(PKG_CONFIG) does not find $(call module_missing,$(name)): the receiver's module $(name) is left out))
$(B)/flags: | say-left

# A module has its own copy of what it uses of the receiver, and shares libk2hft.so with it.
all: $(MODULES_SO)
define module_rules
$(call module_objects,$(1)): private override CPPFLAGS += $(call cflags_of,$($(1)_NEEDS))
$(B)/lib/k2hft/$(1).so: $(call module_objects,$(1))
$(B)/lib/k2hft/$(1).so: LIBS = $(foreach need,$($(1)_NEEDS),$(call pkg,--libs,$(need)))
endef
$(foreach name,$(MODULES_BUILT),$(eval $(call module_rules,$(name))))
$(MODULES_SO): $(B)/lib/k2hftfusesvr-parts.a $(APP_A) $(CONFIG_A) $(BASE_A) $(LIB_SO) receiver/sink/module.map $(B)/flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared $(CFLAGS) $(LINK) $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) -Wl,--version-script=receiver/sink/module.map \
		$(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_SO) $(LIBS) $(app_LIBS) $(config_LIBS) $(lib_LIBS)

# Messages of protocol buffers become sources of C, whose warnings are nobody's here.
$(B)/obj/%.pb-c.c: %.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c -I$(<D) --c_out=$(@D) $<
$(B)/obj/%.pb-c.o: $(B)/obj/%.pb-c.c $(B)/flags
	$(call say,CC,$<)
	$(Q)$(CC) $(COMPILE) $(call cflags_of,libprotobuf-c) -w $(CFLAGS) $(CPPFLAGS) -c -o $@ $<
otlp_USERS := $(call module_objects,otlp) $(B)/obj/tests/unit/receiver/test_otlp.o
$(otlp_USERS): private override CPPFLAGS += -iquote $(B)/obj $(call cflags_of,$(otlp_NEEDS))
$(filter-out %.pb-c.o,$(otlp_USERS)): | $(patsubst %.proto,$(B)/obj/%.pb-c.c,$(wildcard receiver/sink/otlp/*.proto))
# The tests have brokers of the library's own.
ifeq ($(call module_missing,kafka),)
$(B)/obj/tests/tools/kafka_mock.o: private override CPPFLAGS += $(call cflags_of,$(kafka_NEEDS))
$(B)/tests/tools/kafka_mock: LIBS = $(call pkg,--libs,$(kafka_NEEDS))
endif
