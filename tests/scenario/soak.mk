# Load with programs that start, end and crash, diagnoses and operators; checks that no process grows: tests/scenario/soak.sh.

$O/tests/scenario/soak_program: $O/tests/scenario/soak_program.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust -ldl
$O/tests/scenario/soak_late.so: $O/tests/scenario/soak_late.o
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -llttng-ust -ldl
$O/tests/scenario/soak_load: $O/tests/scenario/soak_load.o $(call libs,base)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,base)
$O/tests/scenario/soak_tap: $O/tests/scenario/soak_tap.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
soak-scenario: $(addprefix $O/tests/scenario/,soak_program soak_late.so soak_load soak_tap)

SOAK_MINUTES ?= 30
soak: all soak-scenario
	O=$(abspath $O) SOAK_SECONDS=$$(($(SOAK_MINUTES) * 60)) bash tests/scenario/soak.sh
scenario-build: soak-scenario

.PHONY: soak soak-scenario

# Peers that send invalid data to a running controller and agent, built with sanitizers; see tests/scenario/bad_peer.sh.
$O/tests/scenario/bad_peer: $O/tests/scenario/bad_peer.o $O/tests/scenario/bad_peer_make.o $(call libs,wire)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,wire)
bad-peer-scenario: soak-scenario $O/tests/scenario/bad_peer $O/bin/hone
	@$(MAKE) --no-print-directory O=$O-san SAN=address,undefined OPT="$(SAN_OPT)" \
	    $(addprefix $(O)-san/,bin/honed bin/hone-agent lib/hone/hone-cost)
BAD_PEER_SECONDS ?= 600
bad-peer: all bad-peer-scenario
	O=$(abspath $O) BAD_PEER_SECONDS=$(BAD_PEER_SECONDS) bash tests/scenario/bad_peer.sh
scenario-build: bad-peer-scenario

.PHONY: bad-peer bad-peer-scenario
