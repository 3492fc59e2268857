# honed killed at every write and every toggle of a diagnosis; see tests/scenario/kill_test.sh. `make kill-matrix` tries
# every point there is, `make check` some of them.

$O/tests/scenario/kill_shim.so: $O/tests/scenario/kill_shim.o
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ -ldl
kill-scenario: $O/tests/scenario/kill_shim.so
kill-matrix: all kill-scenario
	O=$(abspath $O) KILL_POINTS=all prove -e bash tests/scenario/kill_test.sh

.PHONY: kill-scenario kill-matrix
