# A program with libhone that calls one with OpenTelemetry; see tests/scenario/otel_mixed_test.sh.
$O/tests/scenario/otel_caller: $O/tests/scenario/otel_caller.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)
agent-scenario: $O/tests/scenario/otel_caller
