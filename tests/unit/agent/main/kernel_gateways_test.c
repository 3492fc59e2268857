/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/main/kernel_gateways.h"

static void
a_list_has_commas_or_blanks_between_its_items(void **state)
{
	const char *items[3];
	struct arena a = { 0 };
	uint32_t n = 0;
	struct err e;
	(void)state;

	assert_int_equal(kernel_list_read(" front, back*,,\tmiddle ", &a, items, &n, 3, &e), 0);
	assert_int_equal(n, 3);
	assert_string_equal(items[0], "front");
	assert_string_equal(items[1], "back*");
	assert_string_equal(items[2], "middle");
	assert_int_equal(kernel_list_read("", &a, items, &n, 3, &e), 0);
	assert_int_equal(n, 3);
	assert_int_equal(kernel_list_read("more", &a, items, &n, 3, &e), ERR_INPUT);
	arena_release(&a);
}

static bool
is_gateway(const struct gateways *g, const char *end)
{
	struct kernel_end k;

	assert_true(kernel_end_read(&k, end));
	return gateways_match(g, &k);
}

static void
gateways_are_addresses_ports_and_networks(void **state)
{
	struct gateways *g;
	struct err e;
	(void)state;

	assert_int_equal(kernel_gateways_read(&g, "10.0.0.1:80, 10.1.0.0/16 [fe80::1]:443", &e), 0);
	assert_true(is_gateway(g, "10.0.0.1:80"));
	assert_false(is_gateway(g, "10.0.0.1:81"));
	assert_true(is_gateway(g, "10.1.2.3:4"));
	assert_true(is_gateway(g, "[fe80::1]:443"));
	assert_false(is_gateway(g, "10.2.0.1:80"));
	assert_int_equal(gateways_add_process(g, 0, 7, &e), 0);
	assert_true(gateways_match_process(g, 0, 7));
	gateways_forget_processes(g);
	assert_false(gateways_match_process(g, 0, 7));
	assert_true(is_gateway(g, "10.0.0.1:80"));
	gateways_free(g);
	assert_int_equal(kernel_gateways_read(&g, "10.0.0.1, nobody", &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "nobody"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_commas_or_blanks_between_its_items),
		cmocka_unit_test(gateways_are_addresses_ports_and_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
