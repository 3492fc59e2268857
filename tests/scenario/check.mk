# Two programs with mistakes in their instrumentation; see tests/scenario/check_test.sh.

$O/tests/scenario/check_front $O/tests/scenario/check_back: %: %.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
# The same work by a program without instrumentation.
$O/tests/scenario/check_plain: tests/scenario/check_back.c
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) -I. -O2 -DPLAIN -o $@ $< -lpthread
check-scenario: $O/tests/scenario/check_front $O/tests/scenario/check_back $O/tests/scenario/check_plain
scenario-build: check-scenario
.PHONY: check-scenario
