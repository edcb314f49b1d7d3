# checks.mk: checks: one script each, usable on any copy of the tree. Part of
# ../../Makefile.

CHECKS = checks commits tests rows freestanding layers cxx stack fuel
CHECKS += readme install deb bindings

check:  ## Run the checks below it
	@TEST_TIMEOUT=2400 $(RUN) $(CHECKS:%=$(CHECK_DIR)/%.sh)

check-freestanding:  ## No libc, heap, globals; few imports; links -nostdlib
check-layers:  ## Sections only use those above them; limits of the house style
check-cxx:  ## No warning in C99..C2x, C++11..20, gcc, clang, any target
check-stack:  ## Deepest call chain below 1 KiB, no recursion
check-fuel:  ## A unit of fuel costs no more than the README says
check-install:  ## make install, make uninstall: what is found where
check-deb:  ## Debian packages: the same files, no error by lintian
check-bindings:  ## What is generated from ipt.h is its; one version everywhere
check-readme:  ## Each command on each page runs, and prints what is said
check-commits:  ## Subjects of commits are `section: what changes`
check-distros:  ## demo, test on bare Debian 12, 13; SYSTEMS=trixie-gcc, QUICK=1
check-checks:  ## Each check fails on a planted violation
$(CHECKS:%=check-%) check-distros: check-%:
	@sh $(CHECK_DIR)/$*.sh .

PLACES = pvh uefi linux windows cortex-m portable
check-pvh:  ## Decodes on a bare machine, with 4 KiB of stack
check-uefi:  ## ... as a UEFI application
check-linux:  ## ... as a kernel module; ptcapture on a PMU there
check-windows:  ## ... as a Windows driver
check-cortex-m:  ## ... on a Cortex-M3 that faults on unaligned accesses
check-portable:  ## Tests on six other cpus; ARCHS="armhf s390x" for two
$(PLACES:%=check-%): check-%:
	@TRACES=$(TRACES) sh $(CHECK_DIR)/targets.sh $* .

size:  ## Lines, code, structs by section and layer; fails above the limits
	@CC=$(CC) sh $(CHECK_DIR)/size.sh .
