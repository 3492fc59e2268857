# A program with LTTng's helpers preloaded; see tests/scenario/deep_test.sh, docs/preload.md.

$O/tests/scenario/deep_program: $O/tests/scenario/deep_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -rdynamic -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/tests/scenario/deep_library.so: $O/tests/scenario/deep_library.o
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL)
deep-scenario: $O/tests/scenario/deep_program $O/tests/scenario/deep_library.so
scenario-build: deep-scenario
.PHONY: deep-scenario

# The cost of the helpers with all tracepoints disabled; see bench/preload_cost.sh.
$O/bench/preload_program: $O/bench/preload_program.o
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) -ldl
preload-bench: $O/bench/preload_program
.PHONY: preload-bench
