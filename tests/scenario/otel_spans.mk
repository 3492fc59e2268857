# Programs with OpenTelemetry spans as events of LTTng-UST; see tests/scenario/otel_spans_test.sh.
$O/tests/scenario/otel_spans_program: $O/tests/scenario/otel_spans_program.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
otel-spans-scenario: $O/tests/scenario/otel_spans_program
scenario-build: otel-spans-scenario
.PHONY: otel-spans-scenario
