# The report on a running program; see tests/scenario/report_test.sh.

$O/tests/scenario/report_rounds: $O/tests/scenario/report_rounds.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
report-scenario: $O/tests/scenario/report_rounds

.PHONY: report-scenario
