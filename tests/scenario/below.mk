# A program that waits for known reasons; see tests/scenario/below_test.sh. Without frame pointers, as most programs are.
$O/tests/scenario/below_work: tests/scenario/below_work.c
	@mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -Wall -Wextra -o $@ $< -pthread
below-scenario: $O/tests/scenario/below_work $O/bench/below_cost_program
scenario-build: below-scenario
.PHONY: below-scenario

# What hone-below costs; see bench/below_cost.py.
$O/bench/below_cost_program: $O/bench/below_cost_program.o
	@mkdir -p $(@D) && $(CC) -rdynamic -o $@ $< $(LDFLAGS_ALL)

# Programs with the thread context of an OpenTelemetry SDK, whose thread-local pointer is reached in different ways.
OTEL_FLAGS_offset     := -ftls-model=initial-exec
OTEL_FLAGS_descriptor := -mtls-dialect=gnu2
OTEL_FLAGS_module     := -mtls-dialect=gnu
$O/tests/scenario/otel_context_%.so: tests/scenario/otel_context_set.c tests/scenario/otel_context.h
	@mkdir -p $(@D) && $(CC) -I. -std=gnu11 -O2 -g -fPIC -shared $(OTEL_FLAGS_$*) -o $@ $<
$O/tests/scenario/otel_context_fixed: tests/scenario/otel_context_program.c tests/scenario/otel_context_set.c tests/scenario/otel_context.h
	@mkdir -p $(@D) && $(CC) -I. -std=gnu11 -O2 -g -rdynamic -o $@ $(filter %.c,$^) -pthread -ldl
$O/tests/scenario/otel_context_late: tests/scenario/otel_context_program.c tests/scenario/otel_context.h
	@mkdir -p $(@D) && $(CC) -I. -std=gnu11 -O2 -g -o $@ $< -pthread -ldl
OTEL_LINKED := $(patsubst %,$O/tests/scenario/otel_context_with_%,offset descriptor module)
$(OTEL_LINKED): $O/tests/scenario/otel_context_with_%: tests/scenario/otel_context_program.c $O/tests/scenario/otel_context_%.so
	@mkdir -p $(@D) && $(CC) -I. -std=gnu11 -O2 -g -o $@ $< -Wl,--no-as-needed $O/tests/scenario/otel_context_$*.so '-Wl,-rpath,$$ORIGIN' -pthread -ldl
below-scenario: $O/tests/scenario/otel_context_fixed $O/tests/scenario/otel_context_late $(OTEL_LINKED)
