# Request graphs of programs without instrumentation; see tests/scenario/kernel_requests_test.sh.
$O/tests/scenario/kernel_requests_truth: $O/tests/scenario/kernel_requests_truth.o $(call archive,kernel/requests) $(call libs,kernel/files) \
		$(LOADED_CTF_KERNEL:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_ALL) $(call foreign,kernel/files) $(call foreign,kernel/requests) -lbabeltrace2
$O/tests/scenario/kernel_requests_work: $O/tests/scenario/kernel_requests_work.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
kernel-requests-scenario: $(addprefix $O/tests/scenario/kernel_requests_,truth work)
scenario-build: kernel-requests-scenario
.PHONY: kernel-requests-scenario
