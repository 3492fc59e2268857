# A separate program that measures the cost of a record, run by hone-agent (agent/main/cost.c).
$O/lib/hone/hone-cost: $O/agent/cost/main.o $O/lib/libhone.so $(call libs,agent/tracer)
	@mkdir -p $(@D) && $(CC) -o $@ $(filter %.o %.a,$^) $(LDFLAGS_ALL) -L$O/lib -lhone -Wl,-rpath,'$$ORIGIN/..' \
	    $(call foreign,agent/tracer) -llttng-ust
all: $O/lib/hone/hone-cost

# hone-agent's own tests and measurements on a real tracer; see tests/scenario/agent_test.sh, bench/agent_scale.sh.

$O/tests/scenario/agent_program: $O/tests/scenario/agent_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/tests/scenario/agent_controller: $O/tests/scenario/agent_controller.o $O/tests/common/accepted.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
$O/tests/scenario/below_sampled: $O/tests/scenario/below_sampled.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)
$O/tests/scenario/below_program: $O/tests/scenario/below_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)
$O/tests/scenario/before_program $O/tests/scenario/switch_program: %: %.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)
agent-scenario: $O/tests/scenario/before_program $O/tests/scenario/switch_program
agent-scenario: $O/bin/hone-agent $O/lib/hone/hone-cost $O/tests/scenario/agent_program $O/tests/scenario/agent_controller \
	$O/tests/scenario/below_program $O/tests/scenario/below_sampled
$O/tests/scenario/hostile_knock: $O/tests/scenario/hostile_knock.o
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL)
$O/tests/scenario/hostile_records: $O/tests/scenario/hostile_records.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)
agent-scenario: $O/tests/scenario/hostile_knock $O/tests/scenario/hostile_records
$O/bench/agent_scale_program: $O/bench/agent_scale_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/bench/agent_scale: $O/bench/agent_scale.o $O/tests/common/accepted.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
agent-bench: agent-scenario $O/bench/agent_scale $O/bench/agent_scale_program

.PHONY: agent-scenario agent-bench

# A program that fills its rings; see tests/scenario/burst_test.sh.
$O/tests/scenario/burst_program: $O/tests/scenario/burst_program.o $O/lib/libhone.so $(call libs,agent/reader)
	@mkdir -p $(@D) && $(CC) -o $@ $(filter %.o %.a,$^) $(LDFLAGS_ALL) $(HONE_LINK) $(call foreign,agent/reader) -llttng-ust
agent-scenario: $O/tests/scenario/burst_program
bursts: all agent-scenario	# BURSTS=1000 BURST_SEED=1
	@O=$(abspath $O) BURSTS=$(or $(BURSTS),1000) BURST_SEED=$(or $(BURST_SEED),1) bash tests/scenario/burst_test.sh
.PHONY: bursts

# A program in C++ whose functions are probed; see tests/scenario/functions_test.sh.
$O/tests/scenario/functions_program: tests/scenario/functions_program.cc $O/lib/libhone.so
	@mkdir -p $(@D) && $(CXX) -std=c++17 -O2 -g $(SAN) -Wall -Wextra -I. -o $@ $< $(HONE_LINK) -pthread
agent-scenario: $O/tests/scenario/functions_program
