# SPDX-License-Identifier: MIT
# Proofs that nothing is lost: faults under load, crash points, power cuts.
.PHONY: check-faults check-net check-crash crash-build check-power-cut

# Mostly these wait: with more jobs than processors they are done sooner.
in_jobs = --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record)
check-faults: deps      ## FAULTS faults (200) under load; SEED=S JOBS=N; RECORD=1 keeps the result
	$(call remake) all unit
	$(Q)B='$(B)' tests/faults/faults.py --faults $(or $(FAULTS),200) $(in_jobs)

check-net: deps         ## several hosts: scenarios of tests/net with their long times and sizes; SEED=S
	$(call remake) all unit
	$(Q)K2HFT_NET=long K2HFT_SEED=$(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')) B='$(B)' tests/run -j 1 -t 3600 $(call SCRIPTS,net)

# The build in which processes can be made to die at each point of the tables crash.def.
B_CRASH := build-crash
crash-build: deps
	$(call remake) B=$(B_CRASH) CPPFLAGS='$(CPPFLAGS) -DK2I_CRASH_POINTS' all $(addprefix $(B_CRASH)/tests/tools/,kafka_mock moving_send ring_client wire_send)
check-crash: crash-build ## death at each point of the tables crash.def, once and five times; SEED JOBS RECORD=1
	$(Q)B=$(B_CRASH) tests/faults/crash.py $(in_jobs)

check-power-cut: deps   ## CUTS power cuts (1000) of the receiver's machine; SEED=S
	$(call remake) all unit
	$(Q)B='$(B)' tests/faults/power_cut.py --cuts $(or $(CUTS),1000) $(if $(SEED),--seed $(SEED))
unit: $(B)/tests/recorder.so
$(B)/tests/recorder.so: $(B)/obj/tests/faults/recorder.o
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D); $(CC) -shared $(CFLAGS) $(LINK) $(LDFLAGS) -o $@ $< -ldl
$(B)/obj/tests/faults/recorder.o: override CFLAGS += -U_FORTIFY_SOURCE -fvisibility=default
