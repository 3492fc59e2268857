# Recording kernel events; see tests/scenario/kernel_record_test.sh.
$O/tests/scenario/kernel_stream: $O/tests/scenario/kernel_stream.o $(call libs,kernel)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,kernel)
$O/tests/scenario/kernel_events $O/tests/scenario/kernel_causes: $O/tests/scenario/%: $O/tests/scenario/%.o $(call libs,kernel/files) \
		$(LOADED_CTF_KERNEL:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_ALL) $(call foreign,kernel/files) -lbabeltrace2
$O/tests/scenario/kernel_tcp: $O/tests/scenario/kernel_tcp.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
$O/tests/scenario/kernel_children: $O/tests/scenario/kernel_children.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
kernel-record-scenario: $(addprefix $O/tests/scenario/,kernel_stream kernel_events kernel_causes kernel_tcp kernel_children below_work)
scenario-build: kernel-record-scenario
.PHONY: kernel-record-scenario
