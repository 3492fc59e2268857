# Recording kernel events; see tests/scenario/kernel_record_test.sh.
$O/tests/scenario/kernel_stream: $O/tests/scenario/kernel_stream.o $(call libs,kernel)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,kernel)
kernel-record-scenario: $O/tests/scenario/kernel_stream
scenario: kernel-record-scenario
.PHONY: kernel-record-scenario
