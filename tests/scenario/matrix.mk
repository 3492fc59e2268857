# Kills each process of a node at many moments, on many nodes side by side (tests/scenario/matrix.py), and honed at each
# write and toggle of a diagnosis (tests/scenario/kill_test.sh). `make check` tries a few of these moments.
#
#   make kill-matrix    MOMENTS=200 of each kind; KINDS='agent,network cut' (all), NODES=10 side by side, SEED=1,
#                       SUSPEND=60 seconds that a host is suspended, KILL_POINTS=all (or a number; 0: none) for honed

$O/tests/scenario/matrix_program: $O/tests/scenario/matrix_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/tests/scenario/matrix_tap: $O/tests/scenario/matrix_tap.o $O/tests/common/accepted.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
matrix-scenario: agent-scenario $O/tests/scenario/matrix_program $O/tests/scenario/matrix_tap
scenario-build: matrix-scenario

MOMENTS ?= 200
kill-matrix: all matrix-scenario kill-scenario
	@O=$(abspath $O) tests/scenario/matrix.py --moments $(MOMENTS) $(if $(KINDS),--kinds '$(KINDS)') \
	    --nodes $(or $(NODES),10) --seed $(or $(SEED),1) --suspend $(or $(SUSPEND),60) --log $O/kill-matrix.jsonl
	@[ '$(KILL_POINTS)' = 0 ] || O=$(abspath $O) KILL_POINTS=$(or $(KILL_POINTS),all) prove -e bash tests/scenario/kill_test.sh

.PHONY: matrix-scenario kill-matrix
