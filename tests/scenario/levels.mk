# A program with tracepoints of three log levels; see tests/scenario/levels_test.sh.
$O/tests/scenario/levels_program: $O/tests/scenario/levels_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
levels-scenario: $O/bin/honed $O/bin/hone-agent $O/lib/hone/hone-cost $O/bin/hone $O/tests/scenario/levels_program
scenario-build: levels-scenario
.PHONY: levels-scenario
