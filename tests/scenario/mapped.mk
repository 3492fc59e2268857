# A program that does not use Hone; see tests/scenario/map_test.sh.
$O/tests/scenario/map_program: $O/tests/scenario/map_program.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
agent-scenario: $O/tests/scenario/map_program
