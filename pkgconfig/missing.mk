# SPDX-License-Identifier: MIT
# A missing library is reported before the compiler complains of its header. Only the tests need cmocka.
missing = $(strip $(foreach module,$(filter-out cmocka,$(MODULES)),$(if $(call pkg,--modversion,$(module)),,$(module))))

.PHONY: say-missing
say-missing:
	@: $(if $(missing),$(info $(PKG_CONFIG) does not find $(missing): "make deps" installs what is missing))
$(B)/flags: | say-missing
