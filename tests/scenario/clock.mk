# Clock correction between real nodes; see tests/scenario/clock_test.sh.

$O/tests/scenario/clock_collect: $O/tests/scenario/clock_collect.o $(call libs,controlplane/honed)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,controlplane/honed)
clock-scenario: $O/tests/scenario/clock_collect

.PHONY: clock-scenario
