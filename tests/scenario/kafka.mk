# Several honed that share the work by Kafka; see tests/scenario/kafka_test.sh.

$O/tests/scenario/kafka_mock: $O/tests/scenario/kafka_mock.o
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) -lrdkafka
$O/tests/scenario/kafka_agents: $O/tests/scenario/kafka_agents.o $(call libs,agent/link)
	@mkdir -p $(@D) && $(CC) -o $@ $^ $(LDFLAGS_ALL) $(call foreign,agent/link)
scenario-build: $O/tests/scenario/kafka_mock $O/tests/scenario/kafka_agents
