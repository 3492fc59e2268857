# Recording kernel events; see tests/scenario/kernel_record_test.sh.
$O/tests/scenario/kernel_stream $O/tests/scenario/kernel_causes: $O/tests/scenario/%: $O/tests/scenario/%.o $(call libs,kernel)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,kernel)
kernel-record-scenario: $O/tests/scenario/kernel_stream $O/tests/scenario/kernel_causes $O/tests/scenario/below_work
scenario: kernel-record-scenario
.PHONY: kernel-record-scenario
$O/tests/scenario/kernel_tcp: $O/tests/scenario/kernel_tcp.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
kernel-record-scenario: $O/tests/scenario/kernel_tcp
