# The second example: a news site. news-gate, -desk, -kv, -find (C++), -shard, -ads (not instrumented), -stall and -load.

news_dir    := $O/examples/news
news_traced := gate desk kv find shard
news_gate   := gate message
news_desk   := desk message pool
news_kv     := kv message serve
news_find   := find message pool
news_shard  := shard message serve
news_ads    := ads message serve
news_stall  := stall

define news_program
$(news_dir)/news-$1: $(patsubst %,$(news_dir)/%.o,$(news_$1) switches work) $(if $(filter $1,$(news_traced)),$O/lib/libhone.so)
	$$(if $$(filter find,$1),$$(CXX),$$(CC)) -o $$@ $$(filter %.o,$$^) $$(LDFLAGS_ALL) \
	    $(if $(filter $1,$(news_traced)),-L$O/lib -lhone -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../lib' -llttng-ust -ldl) -lm
endef
comma := ,
$(foreach p,$(news_traced) ads stall,$(eval $(call news_program,$p)))

$(news_dir)/find.o: examples/news/find.cc
	@mkdir -p $(@D) && $(CXX) -std=c++11 -O2 -g -Wall -Wextra -fno-omit-frame-pointer -I. -MMD -MP $(SAN:%=-fsanitize=%) -c -o $@ $<

$(news_dir)/news-load: $(news_dir)/news_load.o $O/examples/load.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lcurl -lm

news: $(patsubst %,$(news_dir)/news-%,$(news_traced) ads stall load)
.PHONY: news
