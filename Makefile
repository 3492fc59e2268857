# Hone: rooms, what each may use, their external libraries, the programs, and the tests beside them.
#
#   make              builds everything into $(O)
#   make demo         sets up, builds, runs the main job end to end (FAULT=name)
#   make check        sets up, builds, passes all tests (also with sanitizers); its last line counts them
#   make quick        the part of it that starts no real processes, in under 3 minutes
#   make bench        measures ratios; make fuzz: tries bad input; make rooms: proves that calls run one way
#   make overhead     cost to the application: ROUNDS=10 SECONDS=6 RATE=150 SETTLE=12 SHOP_HOSTS=1
#   make sim          text simulations, and random ones with planted causes: APPS=1000 SEED=1 STRATEGY="flat bisect"
#   make eval         whether every planted fault is found: APP=news ROUNDS=5 FAULT="ads lock" JSON=1; docs/evaluation.md
#   make calibrate    how often findings are right where the truth is known; make calibrate-traces: on subsets of real traces; make eval-nezha: on real faults
#   make mutate       removes one mechanism at a time: its test must fail; MUTATIONS="tests/mutations/frame-crc.patch"
#   make nginx redis postgres   only the modules for these servers (docs/servers.md); part of all where they can be built
#   make ganesha      fetches and builds a real NFS server that has its own tracepoints (docs/ganesha.md)
#   make qemu         the same of QEMU's storage daemon (docs/qemu.md)
#   make deb          Debian packages into $(O)/deb; make deb-check: twice, installed in a clean root, where they diagnose a program
#   make install      DESTDIR= PREFIX= LIBDIR= ; SAN=address,undefined builds with sanitizers

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:	# keeps the objects of tests, so that only what changed is built again

# ---- rooms: each uses only the rooms named here -------------------------------
ROOMS             := base wire kernel kernel/spans mapping analysis kernel/requests formats kernel/files report forest searchspace \
                     controlplane/server controlplane/relay controlplane/search controlplane/alerts controlplane/engine controlplane/answers controlplane/metrics controlplane/web controlplane/honed \
                     agent/system agent/ctf agent/reader agent/tracer agent/guard agent/link agent/main otel/spans otel/control otel/http otel/grpc otel/main \
                     below/stacks below/probes below/kernel below/main kernel/patterns cli/export cli
base_uses         :=
wire_uses         := base
kernel_uses       := wire base
kernel/spans_uses := kernel wire base
kernel/patterns_uses := kernel analysis wire base
mapping_uses      := wire base
kernel/requests_uses := kernel analysis wire base
analysis_uses     := wire base
formats_uses      := analysis mapping wire base
kernel/files_uses := formats kernel analysis mapping wire base
report_uses       := analysis wire base
forest_uses       := analysis wire base
searchspace_uses  := forest analysis wire base
controlplane/server_uses  := wire base
controlplane/relay_uses   := analysis wire base
controlplane/search_uses  := searchspace forest analysis wire base
controlplane/alerts_uses  := forest analysis wire base
controlplane/engine_uses  := controlplane/search controlplane/alerts searchspace forest report analysis wire base
controlplane/answers_uses := controlplane/engine controlplane/search controlplane/alerts controlplane/server searchspace forest report analysis wire base
controlplane/metrics_uses := controlplane/engine controlplane/search controlplane/alerts searchspace forest report analysis wire base
controlplane/web_uses     := controlplane/server report analysis wire base
controlplane/honed_uses   := controlplane/answers controlplane/metrics controlplane/web controlplane/engine controlplane/search controlplane/alerts controlplane/relay controlplane/server \
	searchspace forest report analysis wire base
agent/system_uses := base
agent/ctf_uses    := wire base
agent/reader_uses := agent/ctf agent/system mapping kernel/requests kernel analysis wire base
agent/tracer_uses := agent/system wire base
agent/guard_uses  := agent/tracer agent/system wire base
agent/link_uses   := wire base
agent/main_uses   := agent/link agent/guard agent/tracer agent/reader agent/ctf agent/system mapping kernel/requests kernel analysis wire base
otel/spans_uses   := formats analysis mapping wire base
otel/control_uses := otel/spans formats analysis mapping wire base
otel/http_uses    := otel/spans formats analysis mapping wire base
otel/grpc_uses    := otel/http otel/spans formats analysis mapping wire base
otel/main_uses    := otel/grpc otel/http otel/control otel/spans agent/link formats analysis mapping wire base
below/stacks_uses := below/probes base
below/probes_uses := base
below/kernel_uses := kernel wire base
below/main_uses   := below/kernel below/stacks below/probes kernel agent/system wire base
cli/export_uses   := formats analysis mapping wire base
cli_uses          := cli/export kernel/patterns report kernel/spans kernel/requests kernel/files formats kernel searchspace forest analysis mapping wire base

# Rooms without circular dependencies between files; `make rooms` lists the circles of the others. Add rooms until all
# are here.
WITHOUT_CIRCLES   := base wire mapping searchspace controlplane/server controlplane/relay controlplane/search controlplane/alerts controlplane/answers controlplane/engine controlplane/metrics controlplane/web controlplane/honed agent/system agent/ctf agent/reader agent/tracer agent/guard agent/link agent/main otel/spans otel/control otel/http otel/grpc otel/main kernel kernel/files kernel/spans kernel/requests kernel/patterns below/stacks below/probes below/kernel below/main cli/export cli

# ---- external libraries of a room (pkg-config names, or -l flags) -------------
base_libs         := nng openssl
analysis_libs     := gsl
formats_libs      := z deflate
report_libs       := jansson gsl
forest_libs       := sqlite3
searchspace_libs  := sqlite3
controlplane/answers_libs := jansson
controlplane/alerts_libs  := sqlite3
controlplane/web_libs     := z
controlplane/honed_libs   := microhttpd curl
agent/system_libs := elf
agent/tracer_libs := lttng-ctl
otel/http_libs    := z
otel/control_libs := jansson
otel/grpc_libs    := nghttp2
otel/main_libs    := microhttpd
below/stacks_libs := dw elf
below/probes_libs := Zydis
below/kernel_libs := bpf
below/main_libs   := jansson
kernel/patterns_libs := jansson gsl
cli/export_libs   := jansson z
cli_libs          := jansson

PROGRAMS          := honed hone-agent hone-otel hone
honed_room        := controlplane/honed
hone-agent_room   := agent/main
hone-otel_room    := otel/main
hone_room         := cli

# Shared objects that hone loads on demand (formats/format_ctf.c, cli/command_keys.c), and the symbols of hone that they
# use.
LOADED_CTF        := formats/format_ctf_babeltrace.c wire/graph_babeltrace2.c kernel/files/ctf_door_babeltrace.c wire/field_babeltrace2.c
LOADED_CTF_KERNEL := wire/graph_babeltrace2.c kernel/files/ctf_door_babeltrace.c wire/field_babeltrace2.c
LOADED_PUSH       := cli/export/push_curl.c
LOADED_KAFKA      := controlplane/honed/kafka_rdkafka.c
LOADED_CREDENTIALS       := base/credentials_openssl.c base/credentials_folder_openssl.c
hone_exports      := reading_* correlate_* ctf_* err_* map_* arena_* array_grow
# Shared objects that hone-agent loads if agent.reader names them (agent/reader/sources.tbl.h), and the symbols that
# they use.
LOADED_BABELTRACE2 := agent/reader/source_babeltrace2.c agent/reader/packets_babeltrace2.c wire/field_babeltrace2.c wire/graph_babeltrace2.c
hone-agent_exports := source_labels_* losses_* trouble_set record_list_* ring_* ctf_* err_* arena_* array_grow
LOADED            := $(LOADED_CTF) $(LOADED_BABELTRACE2) $(LOADED_PUSH) $(LOADED_KAFKA)
honed_exports     := err_*

# ---- build rules ------------------------------------------------------------
VERSION := 0.1.0
NPROC   := $(shell nproc)
O       ?= build
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
ZSH_PLACE ?= site-functions
CC      ?= cc
SAN     ?=
OPT     ?= -O2 -g
# Tests with sanitizers: line numbers are all that their reports need of debug information.
SAN_OPT := -O1 -g1
# They are linked by the faster linker if it is there.
LD_SAN  := $(if $(SAN),$(if $(shell command -v ld.lld),-fuse-ld=lld))
CFLAGS_ALL = -std=gnu11 $(OPT) -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wno-missing-field-initializers -fno-omit-frame-pointer -fPIC -I. -DHONE_VERSION='"$(VERSION)"' \
	-MMD -MP $(SAN:%=-fsanitize=% -DHONE_DEBUG) $(CFLAGS)
LDFLAGS_ALL = -pthread $(SAN:%=-fsanitize=%) $(LD_SAN) $(LDFLAGS)

# Small libraries are linked statically if their archive exists: each shared library makes a program's start slower. STATIC=no: none
# is, as in Debian's packages, where a library is mended without them.
STATIC ?= yes
small = $(if $(filter yes,$(STATIC)),$(if $(filter /%,$(shell $(CC) -print-file-name=lib$1.a 2>/dev/null)),-l:lib$1.a,-l$1),-l$1)
lib_flags_nng       := -lnng
lib_flags_gsl       := $(call small,gsl) $(call small,gslcblas)
lib_flags_z         := $(call small,z)
lib_flags_deflate   := $(call small,deflate)
lib_flags_sqlite3   := $(call small,sqlite3)
lib_flags_jansson   := $(call small,jansson)
lib_flags_lttng-ctl := -llttng-ctl
lib_flags_elf       := -lelf
lib_flags_dw        := -ldw
lib_flags_Zydis     := -lZydis
lib_flags_bpf       := -lbpf
lib_flags_microhttpd := -lmicrohttpd
lib_flags_curl    := -lcurl
lib_flags_nghttp2   := -lnghttp2
# Only for programs that call tls_open(): hone does not, and starts faster without OpenSSL. One word, since flags are
# sorted.
lib_flags_openssl   := -Wl,--push-state,--as-needed,-lssl,-lcrypto,--pop-state
# $(call libs,room): its archive and those it uses, lower rooms last; $(call foreign,room): -l flags
# A room inside a room has a slash in its name, and an underscore in the names of its archive, tests and benches.
flat    = $(subst /,_,$1)
archive = $O/lib/lib$(call flat,$1).a
libs    = $(foreach r,$1 $($1_uses),$(call archive,$r))
foreign = $(sort $(foreach r,$1 $($1_uses),$(foreach l,$($r_libs),$(lib_flags_$l)))) -lm

sources = $(filter-out %/main.c %.bpf.c $(LOADED),$(wildcard $1/*.c))
tests   = $(patsubst %.c,$O/%,$(wildcard tests/unit/$1/*_test.c))

all: $(PROGRAMS:%=$O/bin/%) $O/lib/hone/hone-below $O/lib/hone/ctf.so $O/lib/hone/source_babeltrace2.so $O/lib/hone/credentials.so $O/lib/hone/push.so $O/lib/hone/kafka.so instrument examples

$(patsubst %,$O/tests/unit/forest/%_test,store store_copy faults power salvage prune): $(patsubst %,$O/tests/unit/forest/%.o,made faults)
$O/tests/unit/controlplane/honed/honed_test: $O/tests/unit/forest/faults.o
$(patsubst %,$O/tests/unit/controlplane/%_test,engine/engine_runs engine/queues engine/sampler engine/capture_engine engine/levels answers/answer_levels answers/steady): $O/tests/sim/stage.o

$(patsubst %,$O/tests/unit/%_test,base/stream base/tls agent/link/link cli/client cli/command) $O/bench/base_stream: $O/tests/common/accepted.o

# A trace source that is a shared object is linked into its own test.
$O/tests/unit/agent/reader/source_babeltrace2_test: $(LOADED_BABELTRACE2:%.c=$O/%.o)
$O/tests/unit/agent/reader/source_babeltrace2_test: LDFLAGS_ALL += -lbabeltrace2

# So is the reader of CTF.
$(patsubst %,$O/tests/unit/kernel/files/%_test,recordings ctf_writer) $O/bench/kernel_files_read: $(LOADED_CTF_KERNEL:%.c=$O/%.o)
$(patsubst %,$O/tests/unit/kernel/files/%_test,recordings ctf_writer) $O/bench/kernel_files_read: LDFLAGS_ALL += -lbabeltrace2

# Programs that block in known places, without frame pointers, for the test of unwinding.
$O/tests/unit/below/stacks/stacks_test: $(addprefix $O/tests/unit/below/stacks/,blocked blocked_other)
$O/tests/unit/below/stacks/blocked $O/tests/unit/below/stacks/blocked_other: tests/unit/below/stacks/blocked.c
	@mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -Wall -Wextra $(if $(findstring other,$@),-DOTHER) -o $@ $< -pthread
# Its subject is how much work a trace takes: what it passes is compiled so that it counts its basic blocks.
COUNTED := $(addprefix analysis/,assemble trace_builder thread_units retired_ids heap always_on_path critpath done_units shape) \
	$(addprefix base/,hash_table hash_map)
$O/tests/unit/analysis/work_test: $(COUNTED:%=$O/counted/%.o)
$O/counted/%.o: %.c
	@mkdir -p $(@D) && $(CC) $(CFLAGS_ALL) -fsanitize-coverage=trace-pc -c -o $@ $<
# Its subject is what libhone publishes.
$O/tests/unit/agent/system/thread_context_test: | $O/lib/libhone.so

define room
$(call archive,$1): $(patsubst %.c,$O/%.o,$(call sources,$1))
	@mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$^
$O/tests/unit/$1/%_test: $O/tests/unit/$1/%_test.o $(call libs,$1)
	$$(CC) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(LDFLAGS_ALL) $(call foreign,$1) -lcmocka
$O/tests/fuzz/$(call flat,$1)_%: $O/tests/fuzz/$(call flat,$1)_%.o $(call libs,$1)
	$$(CC) -fsanitize=fuzzer -o $$@ $$^ $$(LDFLAGS_ALL) $(call foreign,$1)
$O/bench/$(call flat,$1)_%: $O/bench/$(call flat,$1)_%.o $(call libs,$1)
	@mkdir -p $$(@D) && $$(CC) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(LDFLAGS_ALL) $(call foreign,$1)
UNIT_TESTS += $(call tests,$1)
endef
$(foreach r,$(ROOMS),$(eval $(call room,$r)))

define program
$O/bin/$1: $O/$(or $($1_main),$($1_room))/main.o $(call libs,$($1_room))
	@mkdir -p $$(@D) && $$(CC) -o $$@ $$^ $$(LDFLAGS_ALL) $(foreach e,$($1_exports),'-Wl,--export-dynamic-symbol=$e') \
	    $(call foreign,$($1_room))
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$p)))

$O/lib/hone/hone-below: $O/below/main/main.o $(call libs,below/main)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,below/main)
$O/lib/hone/ctf.so: $(LOADED_CTF:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -lbabeltrace2
$O/lib/hone/source_babeltrace2.so: $(LOADED_BABELTRACE2:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -lbabeltrace2
$O/lib/hone/push.so: $(LOADED_PUSH:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -lcurl
$O/lib/hone/kafka.so: $(LOADED_KAFKA:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -lrdkafka
$O/lib/hone/credentials.so: $(LOADED_CREDENTIALS:%.c=$O/%.o)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -lcrypto

$O/%.o: %.c
	@mkdir -p $(@D) && $(CC) $(CFLAGS_ALL) -c -o $@ $<

# BPF programs, for the kernel; the objects are inside the programs that load them, so the build folder must not be in their debug information.
$O/%.bpf.o: %.bpf.c below/kernel/core.h below/kernel/futex_owner.h below/kernel/raw.h below/kernel/record_raw.h kernel/events.tbl.h
	@mkdir -p $(@D) && clang -target bpf $(BPF_CPU) -O2 -g -Wall -Wextra -Wno-unused-parameter -D__TARGET_ARCH_x86 -I. -ffile-prefix-map=$(CURDIR)=. \
	    -I/usr/include/$(shell uname -m)-linux-gnu -c -o $@ $<
$O/below/kernel/record.bpf.o: BPF_CPU := -mcpu=v3
$O/below/kernel/trace_bpf.o: CFLAGS_ALL += -DTRACE_OBJECT='"$O/below/kernel/trace.bpf.o"'
$O/below/kernel/trace_bpf.o: $O/below/kernel/trace.bpf.o
$O/below/kernel/record_bpf.o: CFLAGS_ALL += -DRECORD_OBJECT='"$O/below/kernel/record.bpf.o"'
$O/below/kernel/record_bpf.o: $O/below/kernel/record.bpf.o

# The compiler does not list files that .incbin reads as dependencies.
$O/report/page.o: $(addprefix report/,page.html page.css elements.js draw.js figures.js table.js group.js times.js below.js change.js page.js)
$O/controlplane/web/uplot.js.gz: npm/uplot/package-lock.json tools/uplot.sh $(wildcard npm/uplot/dist/*)
	@tools/uplot.sh $(abspath $@) $(abspath $O)/controlplane/web/uplot.css.gz
$O/controlplane/web/web_files.o: CFLAGS_ALL += -DUPLOT_JS='"$O/controlplane/web/uplot.js.gz"' -DUPLOT_CSS='"$O/controlplane/web/uplot.css.gz"'
$O/controlplane/web/web_files.o: $O/controlplane/web/uplot.js.gz $(wildcard controlplane/web/*.js) controlplane/web/live.html controlplane/web/live.css report/page.css \
	$(addprefix report/,elements.js table.js draw.js figures.js group.js times.js below.js)
$O/cli/forest_page.o: report/page.css cli/forest.css
$O/cli/thread_page.o: report/page.css report/elements.js report/draw.js cli/thread.css cli/thread.js cli/annotation.js cli/states.js

include instrument/instrument.mk
include $(wildcard tests/scenario/*.mk examples/*/*.mk instrument/*/*.mk)

examples: shop news otel-stock

# ---- tests --------------------------------------------------------------------
SIMS      := $(wildcard tests/sim/*.sim)
# Each scenario has its own session daemons and mostly waits, so three run at a time, the longest first. Those that diagnose
# a whole shop under load, or load the machine fully, run one by one (two shops would wait for each other's processors, longer
# than for the faults that are looked for), and beside them those that record the kernel or judge what is healthy; those
# that measure processor time, clocks, or how fast queues fill run alone.
SCENARIO_JOBS ?= 3
scenario_files = $(patsubst %,tests/scenario/%_test.sh,$1)
LONG      := $(call scenario_files,kill report recovery check map below_agent agent bad_peer otel matrix budget redis otel_gate otel_nodes overrun \
	kernel_requests hostile probes below_sampled tls deep)
SHOPS     := $(call scenario_files,questions demo alerts overhead)
PAIRED    := $(call scenario_files,news company soak web below states kernel_record annotate)
ALONE     := $(call scenario_files,kernel_live switches burst clock cost source)
SCENARIOS  = $(LONG) $(filter-out $(LONG),$(sort $(wildcard tests/scenario/*_test.sh)))
FUZZERS    = $(patsubst tests/fuzz/%.c,$O/tests/fuzz/%,$(wildcard tests/fuzz/*.c))
FUZZ_SECONDS ?= 3
# tests/fuzz/common/work.c takes their places: it counts the work of each input.
FUZZ_WRAPPED := __sanitizer_cov_trace_pc LLVMFuzzerTestOneInput
comma := ,
MAN       := $(wildcard */*.[1358] */*/*.[1358])

$O/tests/sim/sim: $O/tests/sim/sim.o $O/tests/sim/stage.o $(call libs,controlplane/honed)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,controlplane/honed)

$O/tests/sim/random: $(patsubst %.c,$O/%.o,$(wildcard tests/sim/random*.c)) $O/tests/sim/stage.o $(call libs,controlplane/honed)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,controlplane/honed)

# UNIT selects: ROOM/%, ROOM/NAME_test. Unit tests mostly wait, so twice as many run at a time as there are processors; those that
# compute for long begin first, or the last of them would run alone at the end.
UNIT      ?= %
COMPUTING  = $(patsubst %,$O/tests/unit/%_test,forest/faults controlplane/answers/steady controlplane/honed/honed report/change formats/span_set \
	forest/power kernel/requests/requests analysis/assemble formats/zipkin base/tls)
TAP       ?= $O/tap
unit: $(filter $(UNIT:%=$O/tests/unit/%),$(UNIT_TESTS))
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp CMOCKA_MESSAGE_OUTPUT=TAP prove -j$(shell expr $(NPROC) '*' 2) -e 'tools/tap.sh $(TAP)' \
	    $(filter $^,$(COMPUTING)) $(filter-out $(COMPUTING),$(sort $^))
unit-build: $(filter $(UNIT:%=$O/tests/unit/%),$(UNIT_TESTS)) $O/tests/sim/sim $O/tests/sim/random
# Tests of what starts threads, and that can start one, under the thread sanitizer.
THREADED   = $(foreach r,$(ROOMS) instrument,$(if $(shell grep -l pthread_ $r/*.c),$r/%)) \
	$(patsubst tests/unit/%.c,%,$(shell grep -rl --include=*_test.c pthread_ tests/unit))
unit-tsan: unit-build
	@$(MAKE) --no-print-directory O=$O-tsan SAN=thread OPT='$(SAN_OPT)' UNIT="$$(tools/threaded.sh $O/tests/unit \
	    $(patsubst $O/tests/unit/%,%,$(filter $(THREADED:%=$O/tests/unit/%),$(UNIT_TESTS))))" unit
APPS ?= 40
COMPARED ?= 30
SEED ?= 1
sim: $O/tests/sim/sim $O/tests/sim/random	# APPS=1000 COMPARED=30 SEED=1 STRATEGY="flat bisect" PER_CYCLE=1 SIZE=100000 SEEDS=1
	prove -j$(NPROC) -e 'tools/tap.sh $(TAP) $<$(if $(SEEDS), --seeds $(SEEDS))' $(SIMS)
	@mkdir -p $(TAP) && rm -f $(TAP)/random.tap
	@{ $O/tests/sim/random --apps $(APPS) --seed $(SEED) $(if $(STRATEGY),--strategy "$(STRATEGY)") \
	    $(if $(PER_CYCLE),--per-cycle $(PER_CYCLE)) $(if $(SIZE),--size-max $(SIZE)) && \
	    echo "ok - random applications" >$(TAP)/random.tap; } | tee $(TAP)/random.txt; \
	[ -e $(TAP)/random.tap ] || { echo "not ok - random applications" >$(TAP)/random.tap; exit 1; }
	@rm -f $(TAP)/compared.tap; [ "$(COMPARED)" = 0 ] || { \
	{ $(word 2,$^) --baseline --apps $(COMPARED) --seed $(SEED) --strategy hierarchical --size-max 600 && \
	    echo "ok - random applications with a baseline" >$(TAP)/compared.tap; } | tee $(TAP)/compared.txt; \
	[ -e $(TAP)/compared.tap ] || { echo "not ok - random applications with a baseline" >$(TAP)/compared.tap; exit 1; }; }
scenario-build: all instrument-scenario agent-scenario source-scenario clock-scenario report-scenario kill-scenario
scenario: scenario-build
	@TAP=$(TAP) exec tools/scenarios.sh $(abspath $O) $(SCENARIO_JOBS) "$(filter-out $(SHOPS) $(PAIRED) $(ALONE),$(SCENARIOS))" "$(SHOPS)" "$(PAIRED)" "$(ALONE)"
fuzz:	# clang's libFuzzer; its objects are separate
	@$(MAKE) --no-print-directory O=$O-fuzz CC=clang SAN=fuzzer-no-link,address,undefined OPT="$(SAN_OPT)" \
	    CFLAGS=-fsanitize-coverage=trace-pc LDFLAGS="$(addprefix -Wl$(comma)--wrap=,$(FUZZ_WRAPPED))" fuzzers
$(FUZZERS): $O/tests/fuzz/common/work.o
fuzzers: $(FUZZERS)
	@exec tools/fuzz.sh $(FUZZ_SECONDS) $O/corpus $(sort $(FUZZERS))
rooms: $(foreach r,$(ROOMS),$(call archive,$r))
	@WITHOUT_CIRCLES="$(WITHOUT_CIRCLES)" tools/rooms.sh $O $(foreach r,$(ROOMS),"$r:$($r_uses)")
man:
	@mandoc -T lint -W warning $(MAN) && echo "man: $(words $(MAN)) pages without a warning"

# The part of docs/forest.md that is generated from the code
$O/tools/forest_docs: $O/tools/forest_docs.o $(call libs,forest)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,forest)
docs: $O/tools/forest_docs
	@$< docs/forest.md >$O/forest.md && cp $O/forest.md docs/forest.md
docs-check: $O/tools/forest_docs
	@$< docs/forest.md | diff -u docs/forest.md - && echo "docs: as the code has it"

# Every file is exactly as clang-format writes it.
FORMATTED = $(filter-out %.tbl.h %_tp.h,$(shell find . -name 'build*' -prune -o -name '*.[ch]' -print))
format:
	@echo $(FORMATTED) | xargs -P$(NPROC) -n 50 clang-format -i
format-check:
	@echo $(FORMATTED) | xargs -P$(NPROC) -n 50 clang-format --dry-run -Werror && \
	    echo "format: $(words $(FORMATTED)) files as .clang-format has them"

habits:
	@tools/habits.sh $(FORMATTED)

setup:
	@tools/setup.sh $(APP)
setup-tests:
	@tools/setup.sh tests
# As many jobs as processors, unless -j was given.
JOBS = $(if $(findstring j,$(filter-out --%,$(MAKEFLAGS))),,-j$(NPROC))
# All tests, those that fail soonest first, and those of the sanitizers beside the scenarios, which mostly wait; the last line
# counts what passed, failed, was retried and was skipped.
check: setup-tests
	+@exec tools/check.sh $(abspath $O)/check \
	    "build: $(JOBS) all unit-build scenario-build" \
	    "rooms: rooms" "man: man" "docs: docs-check" "format: format-check" "habits: habits" \
	    "unit: $(JOBS) unit" "sim: $(JOBS) sim" \
	    "& unit-asan: $(JOBS) O=$O-san SAN=address,undefined OPT='$(SAN_OPT)' unit" \
	    "& sim-asan: $(JOBS) O=$O-san SAN=address,undefined OPT='$(SAN_OPT)' APPS=10 COMPARED=0 SIZE=1000 SEEDS=1 sim" \
	    "& unit-tsan: $(JOBS) unit-tsan" \
	    "& fuzz: $(JOBS) fuzz" \
	    "scenario: scenario"
# During development: tests that start no real processes, in under 3 minutes.
quick: setup-tests
	+@exec tools/check.sh $(abspath $O)/check "build: $(JOBS) all unit-build" "rooms: rooms" "man: man" "docs: docs-check" \
	    "format: format-check" "habits: habits" "unit: $(JOBS) unit" "sim: $(JOBS) APPS=20 COMPARED=10 SEEDS=1 sim"
demo: setup
	@$(MAKE) --no-print-directory $(JOBS) all
	@O=$(abspath $O) examples/demo.sh $(FAULT)
calibrate: $O/bench/analysis_calibrate	# how often the analysis is right, where the truth is known: docs/calibration.md
	@$< $(CALIBRATE)
ROUNDS ?= 10
SECONDS ?= 6
RATE ?= 150
SETTLE ?= 12
overhead: setup-tests all instrument-bench
	@O=$(abspath $O) bench/instrument_cost.sh
	@O=$(abspath $O) bench/overhead.sh $(ROUNDS) $(SECONDS) $(RATE) $(SETTLE)
eval: setup-tests	# all faults of an example, ROUNDS times each
	@$(MAKE) --no-print-directory $(JOBS) all
	@O=$(abspath $O) APP=$(or $(APP),shop) ROUNDS=$(if $(filter file,$(origin ROUNDS)),5,$(ROUNDS)) bench/eval.sh $(if $(JSON),--json) $(FAULT)
MUTATIONS ?= $(wildcard tests/mutations/*.patch)
mutate: unit-build	# in a copy of the tree; too long for `make check`: about twenty minutes
	@CC="$(CC)" CXX="$(CXX)" exec tools/mutate.sh $O $(MUTATIONS)

bench: setup-tests all instrument-bench agent-bench source-scenario preload-bench $O/bench/agent_reader_read
	@O=$(abspath $O) bench/bench.sh
$O/bench/controlplane_decide: $O/bench/controlplane_decide.o $O/tests/sim/stage.o $(call libs,controlplane/honed)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,controlplane/honed)

# Real faults with published labels; DATA: the folder of the data sets (docs/nezha.md)
DATA ?= $(or $(HONE_DATA),../shared/data)
$O/bench/report_nezha: $O/bench/report_nezha.o $O/lib/libreport.a $(call libs,formats)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(sort $(call foreign,report) $(call foreign,formats))
eval-nezha: setup-tests $O/bench/report_nezha
	@$O/bench/report_nezha $(addprefix $(DATA)/nezha/,2022-08-22 2023-01-29 2023-01-30)

$O/bench/analysis_subsets: $O/bench/analysis_subsets.o $(call libs,formats)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,formats)
calibrate-traces: setup-tests $O/bench/analysis_subsets	# how often intervals hold on subsets of real traces: docs/calibration.md
	@$O/bench/analysis_subsets $(addprefix $(DATA)/nezha/,2022-08-22 2023-01-29 2023-01-30)

# The part of docs/space.md that is generated from the code
$O/tools/space_docs: $O/tools/space_docs.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL)
docs: docs-space
docs-check: docs-space-check docs-questions-check
docs-questions-check:
	@tools/questions.sh
docs-space: $O/tools/space_docs
	@$< docs/space.md >$O/space.md && cp $O/space.md docs/space.md
docs-space-check: $O/tools/space_docs
	@$< docs/space.md | diff -u docs/space.md - && echo "docs: the space's tables are as the code has them"
.PHONY: docs docs-check docs-space docs-space-check docs-questions-check

# The config keys in honed.conf(5) are generated from the table of the parser.
$O/tools/config_man: $O/tools/config_man.o $(call libs,controlplane/honed)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,controlplane/honed)
docs: docs-config
docs-check: docs-config-check
docs-config: $O/tools/config_man
	@$< controlplane/honed/honed.conf.5 >$O/honed.conf.5 && cp $O/honed.conf.5 controlplane/honed/honed.conf.5
docs-config-check: $O/tools/config_man
	@$< controlplane/honed/honed.conf.5 | diff -u controlplane/honed/honed.conf.5 - && echo "docs: honed.conf(5) has the keys of the parser"
.PHONY: docs-config docs-config-check

# The tables of rooms and threads in docs/architecture.md are generated.
architecture = tools/architecture_docs.sh docs/architecture.md $(foreach r,$(ROOMS),"$r:$($r_uses)") -- $(foreach p,$(PROGRAMS),"$p:$($p_room)")
docs: docs-architecture
docs-check: docs-architecture-check
docs-architecture:
	@mkdir -p $O && $(architecture) >$O/architecture.md && cp $O/architecture.md docs/architecture.md
docs-architecture-check:
	@$(architecture) | diff -u docs/architecture.md - && echo "docs: architecture.md has the rooms and threads of the code"
	@tools/drawing_check.sh docs/architecture.md $(PROGRAMS)
.PHONY: docs-architecture docs-architecture-check

# The space is also learned from real traces, which the room formats reads.
$O/bench/searchspace_learn: $O/bench/searchspace_learn.o $O/lib/libsearchspace.a $O/lib/libforest.a $(call libs,formats)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(sort $(call foreign,searchspace) $(call foreign,formats))

# ---- install -------------------------------------------------------------------
install: all install-instrument
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/sbin $(addprefix $(DESTDIR)$(PREFIX)/share/man/man,1 5 8)
	install -m755 $O/bin/hone $(DESTDIR)$(PREFIX)/bin
	install -Dm755 $O/lib/hone/ctf.so $(DESTDIR)$(PREFIX)/lib/hone/ctf.so
	install -Dm755 $O/lib/hone/source_babeltrace2.so $(DESTDIR)$(PREFIX)/lib/hone/source_babeltrace2.so
	install -Dm755 $O/lib/hone/credentials.so $(DESTDIR)$(PREFIX)/lib/hone/credentials.so
	install -Dm755 $O/lib/hone/push.so $(DESTDIR)$(PREFIX)/lib/hone/push.so
	install -Dm755 $O/lib/hone/kafka.so $(DESTDIR)$(PREFIX)/lib/hone/kafka.so
	install -Dm755 $O/lib/hone/hone-cost $(DESTDIR)$(PREFIX)/lib/hone/hone-cost
	install -Dm755 $O/lib/hone/hone-below $(DESTDIR)$(PREFIX)/lib/hone/hone-below
	install -d $(DESTDIR)$(PREFIX)/share/hone/maps
	install -m644 $(wildcard examples/*/*.map) $(DESTDIR)$(PREFIX)/share/hone/maps
	install -Dm644 cli/hone.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hone
	install -Dm644 cli/hone.zsh $(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_PLACE)/_hone
	install -m755 $O/bin/honed $O/bin/hone-agent $O/bin/hone-otel $(DESTDIR)$(PREFIX)/sbin
	install -d $(foreach d,systemd/system sysusers.d tmpfiles.d,$(DESTDIR)$(PREFIX)/lib/$d)
	$(foreach u,honed hone-agent hone-otel,sed 's|@sbindir@|$(PREFIX)/sbin|' units/$u.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/$u.service;)
	install -m644 units/hone.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/hone.conf
	install -m644 units/hone.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/hone.conf
	$(foreach m,$(filter-out instrument/%,$(MAN)),install -m644 $m $(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $m));)

deb:	# Debian packages, in $O/deb
	@tools/setup.sh deb
	@tools/deb.sh $(abspath $O)/deb
deb-try:	# installs them into a root of its own, and diagnoses a program there
	@tools/deb_try.sh $O/deb
deb-check:	# builds them twice, installs them in a clean root, and diagnoses a program there
	@tools/setup.sh deb-check
	@tools/deb_check.sh $(abspath $O)/deb-check
.PHONY: deb deb-try deb-check

help:
	@sed -n '/^#   make/s/^#   //p' Makefile
	@echo 'alone: unit sim scenario kill-matrix fuzz rooms man docs docs-check format format-check habits setup setup-tests clean'
clean:
	rm -rf $O $O-san $O-tsan $O-fuzz $O-ganesha $O-qemu

-include $(shell find $O -path '$O/deb*' -prune -o -type f -name '*.d' -print 2>/dev/null)
export SHOP_HOSTS
.PHONY: mutate overhead help all instrument examples shop news unit unit-build unit-tsan sim scenario scenario-build fuzz fuzzers rooms man docs docs-check format format-check habits setup setup-tests check quick demo eval bench calibrate calibrate-traces eval-nezha install clean
