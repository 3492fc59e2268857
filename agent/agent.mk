# hone-agent's own tests and measurements on a real tracer; see tests/scenario/agent_test.sh, bench/agent_toggle.sh.

$O/tests/scenario/agent_program: $O/tests/scenario/agent_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/tests/scenario/agent_controller: $O/tests/scenario/agent_controller.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
agent-scenario: $O/bin/hone-agent $O/tests/scenario/agent_program $O/tests/scenario/agent_controller
agent-bench: agent-scenario $O/bench/agent_toggle

.PHONY: agent-scenario agent-bench
