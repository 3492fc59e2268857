# A program that waits for known reasons; see tests/scenario/below_test.sh. Without frame pointers, as most programs are.
$O/tests/scenario/below_work: tests/scenario/below_work.c
	@mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -Wall -Wextra -o $@ $< -pthread
below-scenario: $O/tests/scenario/below_work
scenario: below-scenario
.PHONY: below-scenario

# What hone-below costs; see bench/below_cost.py.
$O/bench/below_cost_program: $O/bench/below_cost_program.o
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL)
