# SPDX-License-Identifier: MIT
# ---- the page for browsers, as the numbers of its bytes: in a string literal it could be neither read nor edited

$(B)/obj/lib/app/program/page.o: $(B)/obj/lib/app/program/page.inc
$(B)/obj/lib/app/program/page.o: override CPPFLAGS += -iquote $(B)/obj/lib/app/program
$(B)/obj/lib/app/program/page.inc: lib/app/program/page.html
	$(Q)mkdir -p $(@D)
	$(Q)od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' > $@
