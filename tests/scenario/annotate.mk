# Annotated spans of a program whose system calls and waits are known; see tests/scenario/annotate_test.sh.

$O/tests/scenario/annotate_program: $O/tests/scenario/annotate_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
annotate-scenario: $O/tests/scenario/annotate_program
scenario-build: annotate-scenario
.PHONY: annotate-scenario
