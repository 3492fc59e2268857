# States of operations; see tests/scenario/states_test.sh.
$O/tests/scenario/states_work: $O/tests/scenario/states_work.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
states-scenario: $O/tests/scenario/states_work
scenario-build: states-scenario
.PHONY: states-scenario
