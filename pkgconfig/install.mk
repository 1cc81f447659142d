# SPDX-License-Identifier: MIT
# ---- installation: DESTDIR may have blanks, and ~ of a prefix is the shell's

sysusersdir ?= $(prefix)/lib/sysusers.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
# Nothing is installed into openrcdir and pythondir unless they are set.
root   = $(if $(DESTDIR),'$(DESTDIR)')
D_BIN  = $(root)$(bindir)
D_LIB  = $(root)$(libdir)
D_INC  = $(root)$(includedir)/k2hft
D_PC   = $(root)$(pkgconfigdir)
D_MAN  = $(root)$(mandir)
D_DOC  = $(root)$(docdir)
D_UNIT = $(root)$(unitdir)
D_COMP = $(root)$(completiondir)
zshdir  ?= $(datadir)/zsh/site-functions
fishdir ?= $(datadir)/fish/vendor_completions.d
D_ZSH  = $(root)$(zshdir)
D_FISH = $(root)$(fishdir)
# NAME.sysusers is installed as NAME.conf in the folder of its kind.
system_file = $(root)$($(patsubst .%,%,$(suffix $(1)))dir)/$(basename $(notdir $(1))).conf
HEADERS := $(wildcard include/k2hft/*.h include/k2hft/*.hpp)
PAGES   := $(wildcard man/man[1-8]/*.[1-8])
UNITS   := $(wildcard packaging/systemd/*.in)
SYSTEM_FILES := $(wildcard packaging/systemd/*.sysusers packaging/systemd/*.tmpfiles)
OPENRC  := $(wildcard packaging/openrc/*)
DOCS    := README.md README.ja.md CHANGELOG.md LICENSE
SAMPLES := $(wildcard examples/*.c examples/*.ini examples/*.yml examples/*.json examples/*.py)
COMPLETIONS := $(wildcard packaging/completion/*.bash)
ZSH_COMPLETIONS := $(COMPLETIONS:.bash=.zsh)
FISH_COMPLETIONS := $(COMPLETIONS:.bash=.fish)
LIBRARIES := libk2hft libk2hft-config
INSTALL_DATA = install -m 644
fill = sed -e 's|@prefix@|$(prefix)|g' -e 's|@libdir@|$(libdir)|g' -e 's|@includedir@|$(includedir)|g' \
	-e 's|@bindir@|$(bindir)|g' -e 's|@VERSION@|$(VERSION)|g'

install: all $(INSTALLED) ## into $DESTDIR$prefix
	$(Q)install -d $(D_BIN) $(D_LIB) $(D_INC) $(D_PC) $(D_DOC)/examples $(D_UNIT) $(D_COMP)
	$(Q)for p in $(INSTALLED); do install -m 755 $$p $(D_BIN)/ || exit 1; done
	$(Q)for l in $(LIBRARIES); do install -m 755 $(B)/lib/$$l.so.$(VERSION) $(D_LIB)/ && $(INSTALL_DATA) $(B)/lib/$$l.a $(D_LIB)/ && \
		ln -sf $$l.so.$(VERSION) $(D_LIB)/$$l.so.$(SO_MAJOR) && ln -sf $$l.so.$(VERSION) $(D_LIB)/$$l.so || exit 1; done
	$(Q)$(if $(MODULES_SO),install -d $(D_LIB)/k2hft && install -m 644 $(MODULES_SO) $(D_LIB)/k2hft/)
	$(Q)$(INSTALL_DATA) $(HEADERS) $(D_INC)/
	$(Q)for m in k2hft k2hft-config; do $(fill) pkgconfig/$$m.pc.in > $(D_PC)/$$m.pc && chmod 644 $(D_PC)/$$m.pc || exit 1; done
	$(Q)for u in $(UNITS); do t=$(D_UNIT)/$$(basename $$u .in); $(fill) $$u > "$$t" && chmod 644 "$$t" || exit 1; done
	$(Q)install -d $(root)$(sysusersdir) $(root)$(tmpfilesdir)
	$(Q)$(foreach f,$(SYSTEM_FILES),$(INSTALL_DATA) $(f) $(call system_file,$(f)) &&) :
	$(Q)$(if $(openrcdir),install -d $(root)$(openrcdir) && install -m 755 $(OPENRC) $(root)$(openrcdir)/)
	$(Q)for c in $(COMPLETIONS); do $(INSTALL_DATA) $$c $(D_COMP)/$$(basename $$c .bash) || exit 1; done
	$(Q)install -d $(D_ZSH) $(D_FISH)
	$(Q)for c in $(ZSH_COMPLETIONS); do $(INSTALL_DATA) $$c $(D_ZSH)/_$$(basename $$c .zsh) || exit 1; done
	$(Q)$(INSTALL_DATA) $(FISH_COMPLETIONS) $(D_FISH)/
	$(Q)for p in $(PAGES); do d=$(D_MAN)/$$(basename $$(dirname $$p)); install -d "$$d" && $(INSTALL_DATA) $$p "$$d/" || exit 1; done
	$(Q)$(if $(pythondir),install -d $(root)$(pythondir)/k2hft && $(INSTALL_DATA) bindings/python/k2hft/*.py $(root)$(pythondir)/k2hft/)
	$(Q)$(INSTALL_DATA) $(DOCS) $(D_DOC)/
	$(Q)$(if $(SAMPLES),$(INSTALL_DATA) $(SAMPLES) $(D_DOC)/examples/)
	$(Q)$(if $(DESTDIR),,ldconfig 2>/dev/null || :)

uninstall:              ## removes what install put there; below $DESTDIR also what is empty then
	$(Q)rm -f $(addprefix $(D_BIN)/,$(notdir $(PROGRAMS))) $(D_PC)/k2hft.pc $(D_PC)/k2hft-config.pc \
		$(foreach end,a so so.$(SO_MAJOR) so.$(VERSION),$(addprefix $(D_LIB)/,$(LIBRARIES:%=%.$(end)))) \
		$(SINK_MODULES:%=$(D_LIB)/k2hft/%.so) $(addprefix $(D_INC)/,$(notdir $(HEADERS))) $(addprefix $(D_UNIT)/,$(patsubst %.in,%,$(notdir $(UNITS)))) \
		$(addprefix $(D_COMP)/,$(patsubst %.bash,%,$(notdir $(COMPLETIONS)))) \
		$(addprefix $(D_ZSH)/_,$(patsubst %.zsh,%,$(notdir $(ZSH_COMPLETIONS)))) $(addprefix $(D_FISH)/,$(notdir $(FISH_COMPLETIONS))) \
		$(foreach f,$(SYSTEM_FILES),$(call system_file,$(f))) $(if $(openrcdir),$(addprefix $(root)$(openrcdir)/,$(notdir $(OPENRC)))) \
		$(if $(pythondir),$(root)$(pythondir)/k2hft/__init__.py) $(addprefix $(D_DOC)/,$(DOCS)) $(addprefix $(D_DOC)/examples/,$(notdir $(SAMPLES))) $(addprefix $(D_MAN)/,$(PAGES:man/%=%))
	$(Q)rmdir $(D_LIB)/k2hft $(D_INC) $(D_DOC)/examples $(D_DOC) 2>/dev/null || :
	$(Q)if [ "$(DESTDIR)" ] && [ -d "$(DESTDIR)" ]; then find "$(DESTDIR)" -mindepth 1 -type d -empty -delete; fi

# The commit's time is the files' and gzip has no other, so the same commit gives the same bytes.
dist:                   ## the sources of the commit, build/k2hft-VERSION.tar.gz, the same bytes wherever it is made, and their SBOM
	$(Q)mkdir -p $(B)
	$(Q)git archive --prefix=k2hft-$(VERSION)/ HEAD | gzip -9n > $(B)/k2hft-$(VERSION).tar.gz
	$(Q)packaging/sbom.py $(B)/k2hft-$(VERSION).tar.gz > $(B)/k2hft-$(VERSION).spdx.json
	$(call say,DIST,$(B)/k2hft-$(VERSION).tar.gz)

html:                   ## the manual as a site, into build/html, with an index and a search; needs mandoc
	$(Q)man/website.py $(B)/html
	$(call say,HTML,$(B)/html/index.html)

abi:                    ## the interface of the libraries as it is now, into abi/ and debian/*.symbols, which tests compare with
	$(Q)for l in $(LIBRARIES); do $(ABIDW) $(B)/lib/$$l.so.$(VERSION) >abi/$$l.abi || exit 1; \
		{ sed '/^ k2hft_/d' debian/$${l}0.symbols; sed -n 's/^\t\(k2hft_[a-z0-9_]*\);$$/ \1@K2HFT_$(VERSION) $(VERSION)/p' lib/$${l#lib}.map | \
		LC_ALL=C sort; } >$(B)/symbols && cp $(B)/symbols debian/$${l}0.symbols; done
ABIDW = abidw --headers-dir include/k2hft --drop-private-types --no-corpus-path --no-show-locs --no-comp-dir-path \
	--drop-undefined-syms --type-id-style hash
abi: all
.PHONY: abi html
