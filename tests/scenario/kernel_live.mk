# Programs without any instrumentation; see tests/scenario/kernel_live_test.sh.
$O/tests/scenario/kernel_live: tests/scenario/kernel_live.c
	@mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g -Wall -Wextra -o $@ $< -pthread
kernel-live-scenario: $O/tests/scenario/kernel_live
scenario-build: kernel-live-scenario
.PHONY: kernel-live-scenario
