# honed killed at every write and every toggle of a diagnosis; see tests/scenario/kill_test.sh. `make check` tries
# some of the points there are, `make kill-matrix` (tests/scenario/matrix.mk) all of them.

$O/tests/scenario/kill_shim.so: $O/tests/scenario/kill_shim.o
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ -ldl
kill-scenario: $O/tests/scenario/kill_shim.so

.PHONY: kill-scenario
