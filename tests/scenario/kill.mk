# Kills honed at each write and each toggle of a diagnosis; see tests/scenario/kill_test.sh. `make check` tries
# some of these points, `make kill-matrix` (tests/scenario/matrix.mk) all of them.

$O/tests/scenario/kill_shim.so: $O/tests/scenario/kill_shim.o
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ -ldl
kill-scenario: $O/tests/scenario/kill_shim.so

.PHONY: kill-scenario
