# SPDX-License-Identifier: MIT
# The ring's schedules, see tests/model/model.h. Its coroutines are for x86-64 and without sanitizers: they copy stacks.
.PHONY: check-model
MODEL := $(B)/tests/model/explore
check-model: deps       ## schedules of the ring's code, STATES (250000) of each scenario in ORDERS (4)
	$(call remake) $(MODEL)
	$(Q)$(MODEL) 15000 32 mutations
	$(Q)$(MODEL) $(or $(STATES),250000) $(or $(ORDERS),4)

# musl has no coroutines.
ifneq ($(and $(filter-out %musl,$(filter x86_64-%,$(shell $(CC) -dumpmachine))),$(if $(SANITIZE),,yes)),)
unit: $(MODEL)
endif
MODEL_RING  := $(patsubst %,$(B)/model/lib/ring/%.o,ring consumer producer repair slot stream table_lock space wake)
MODEL_OWN   := $(patsubst %.c,$(B)/model/%.o,$(wildcard tests/model/*.c))
# Bytes of a stack that nobody has written yet must be the same in equal states.
MODEL_BUILD  = $(CC) -std=c11 -D_GNU_SOURCE -Iinclude -iquote lib -iquote . -Itests/model $(WARNINGS) -O1 -g \
	$(shell $(CC) -ftrivial-auto-var-init=pattern -xc -fsyntax-only /dev/null 2>/dev/null && echo -ftrivial-auto-var-init=pattern)
$(MODEL_RING): override MODEL_SHIM := -include tests/model/shim.h
$(MODEL_RING) $(MODEL_OWN): $(B)/model/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(MODEL_BUILD) $(MODEL_SHIM) -MMD -MP -c -o $@ $<
$(MODEL): $(MODEL_RING) $(MODEL_OWN) $(LIB_A)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -pthread -o $@ $(filter %.o,$^) $(LIB_A) $(lib_LIBS)
-include $(patsubst %.o,%.d,$(MODEL_RING) $(MODEL_OWN))
