# The reader on real LTTng sessions; see tests/scenario/source_test.sh, bench/agent_reader_read.sh.

$O/tests/scenario/source_program: $O/tests/scenario/source_program.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
$O/tests/scenario/source_brief: $O/tests/scenario/source_brief.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
$O/tests/scenario/source_session: $O/tests/scenario/source_session.o
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ctl
$O/tests/scenario/source_dump: $O/tests/scenario/source_dump.o $(call libs,agent/reader)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(foreach e,$(hone-agent_exports),'-Wl,--export-dynamic-symbol=$e') \
	    $(call foreign,agent/reader)
SOURCE_BINS := $(addprefix $O/tests/scenario/source_,program brief session dump)
source-scenario: $(SOURCE_BINS) $O/lib/libhone.so $O/lib/hone/source_babeltrace2.so

.PHONY: source-scenario
