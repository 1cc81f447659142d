# SPDX-License-Identifier: MIT
# What proves that nothing is lost: faults under load, crash points, power cuts.
.PHONY: check-faults check-crash crash-build

check-faults: deps      ## FAULTS faults (200) under load, see tests/faults/faults.py; SEED=S; RECORD=1 keeps the result
	$(call remake) all unit
	$(Q)B='$(B)' tests/faults/faults.py --faults $(or $(FAULTS),200) $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record)

# The build in which processes can be made to die at each point of lib/crash.def.
B_CRASH := build-crash
crash-build: deps
	$(call remake) B=$(B_CRASH) CPPFLAGS='$(CPPFLAGS) -DK2I_CRASH_POINTS' all $(B_CRASH)/tests/tools/ring_client
check-crash: crash-build ## death at each of the points of lib/crash.def, once and five times in a row; SEED=S
	$(Q)B=$(B_CRASH) tests/faults/crash.py $(if $(SEED),--seed $(SEED))
