/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/system/symbol_file.h"
#include "agent/system/thread_context.h"
#include "instrument/hone.h"

static void (*request_begin)(const char *type, const struct hone_carrier *from);
static void (*request_end)(int status);
static uint64_t (*trace_id)(void);
static uint64_t (*unit_id)(void);

static void *
function_of(void *library, const char *name)
{
	void *f = dlsym(library, name);

	assert_non_null(f);
	return f;
}

/* The libhone of the same build. */
static void
library_load(void)
{
	char path[PATH_MAX + 64] = "", *folder;
	void *library;

	assert_true(readlink("/proc/self/exe", path, PATH_MAX) > 0);
	folder = dirname(path);
	strcat(folder, "/../../../../lib/libhone.so");
	library = dlopen(folder, RTLD_NOW);
	assert_non_null(library);
	request_begin = (void (*)(const char *, const struct hone_carrier *))(uintptr_t)function_of(
	    library, "hone_request_begin");
	request_end = (void (*)(int))(uintptr_t)function_of(library, "hone_request_end");
	trace_id = (uint64_t(*)(void))(uintptr_t)function_of(library, "hone_trace_id");
	unit_id = (uint64_t(*)(void))(uintptr_t)function_of(library, "hone_unit_id");
}

static uint64_t
word_at(const struct hone_context_place *p, uint16_t member)
{
	const char *context = (const char *)__builtin_thread_pointer() + p->offset;
	uint64_t word;

	memcpy(&word, context + member, sizeof word);
	return word;
}

static void *
a_request_on_this_thread(void *arg)
{
	const struct hone_context_place *p = arg;

	assert_int_equal(word_at(p, p->trace_id), 0);
	request_begin("PLACE", NULL);
	assert_int_not_equal(trace_id(), 0);
	assert_int_equal(word_at(p, p->trace_id), trace_id());
	assert_int_equal(word_at(p, p->unit_id), unit_id());
	request_end(0);
	assert_int_equal(word_at(p, p->trace_id), 0);
	return NULL;
}

static void
the_published_place_is_that_of_each_threads_request(void **state)
{
	struct hone_context_place p;
	uint64_t address = 0;
	pthread_t thread;
	(void)state;

	assert_int_equal(thread_context_find(getpid(), &p, &address), THREAD_CONTEXT_NONE);
	library_load();
	assert_int_equal(thread_context_find(getpid(), &p, &address), THREAD_CONTEXT_FOUND);
	assert_memory_equal((const void *)(uintptr_t)address, &p, sizeof p);
	assert_int_equal(p.context_bytes, sizeof(struct hone_unit));
	a_request_on_this_thread(&p);
	assert_int_equal(pthread_create(&thread, NULL, a_request_on_this_thread, &p), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
a_process_that_does_not_exist_publishes_nothing(void **state)
{
	struct hone_context_place p;
	uint64_t address;
	(void)state;

	assert_int_equal(thread_context_find(INT32_MAX, &p, &address), THREAD_CONTEXT_NONE);
}

static void
a_malformed_place_is_refused(void **state)
{
	const struct hone_context_place GOOD = { .magic = HONE_CONTEXT_MAGIC,
		.size = sizeof GOOD,
		.context_bytes = 56,
		.offset = -336,
		.trace_id_high = 0,
		.trace_id = 8,
		.unit_id = 32,
		.request_type = 24,
		.sampled = 28,
		.probed = 29 };
	struct hone_context_place p = GOOD;
	(void)state;

#define REFUSED(member, value)                                                  \
	do {                                                                    \
		p = GOOD;                                                       \
		p.member = (value);                                             \
		assert_int_equal(thread_context_check(&p), THREAD_CONTEXT_BAD); \
	} while (0)
	assert_int_equal(thread_context_check(&p), THREAD_CONTEXT_FOUND);
	REFUSED(magic, 0);
	REFUSED(size, sizeof GOOD - 1);
	REFUSED(context_bytes, 4104);
	REFUSED(context_bytes, 39);
	REFUSED(offset, 0);
	REFUSED(offset, -335);
	REFUSED(offset, INT64_MIN);
	REFUSED(offset, INT64_MAX - 7);
	REFUSED(trace_id, 12);
	REFUSED(trace_id_high, 56);
	REFUSED(unit_id, UINT16_MAX - 7);
	REFUSED(request_type, 54);
	REFUSED(sampled, 56);
	REFUSED(probed, 56);
	p = GOOD;
	p.size = 4096; /* a later version */
	assert_int_equal(thread_context_check(&p), THREAD_CONTEXT_FOUND);
}

static void
an_exported_object_is_found_by_its_name(void **state)
{
	uint64_t from_start = 0;
	Dl_info info;
	void *libc;
	int fd;
	(void)state;

	assert_non_null(libc = dlopen("libc.so.6", RTLD_NOW));
	assert_int_not_equal(dladdr(dlsym(libc, "_IO_2_1_stdout_"), &info), 0);
	assert_true((fd = open(info.dli_fname, O_RDONLY)) >= 0);
	assert_true(symbol_file_place(fd, "_IO_2_1_stdout_", sizeof(FILE), &from_start));
	assert_ptr_equal((char *)info.dli_fbase + from_start, info.dli_saddr);
	assert_false(symbol_file_place(fd, "_IO_2_1_stdout_", 1 << 20, &from_start)); /* smaller */
	assert_false(symbol_file_place(fd, "printf", 1, &from_start)); /* a function */
	assert_false(symbol_file_place(fd, HONE_CONTEXT_SYMBOL, 1, &from_start));
	close(fd);
	dlclose(libc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_place_is_that_of_each_threads_request),
		cmocka_unit_test(a_process_that_does_not_exist_publishes_nothing),
		cmocka_unit_test(a_malformed_place_is_refused),
		cmocka_unit_test(an_exported_object_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
