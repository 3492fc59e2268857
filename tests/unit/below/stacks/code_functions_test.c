/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void
a_symbol_is_of_the_name_that_stacks_give_its_function(void **state)
{
	(void)state;

	assert_true(code_name_is_of("lookup", "lookup"));
	assert_true(code_name_is_of("lookup.isra.0", "lookup"));
	assert_true(code_name_is_of("lookup.cold", "lookup"));
	assert_false(code_name_is_of("lookups", "lookup"));
	assert_true(code_name_is_of("_Z6lookupi", "lookup"));
	assert_true(code_name_is_of("_ZN5Store6lookupEi", "lookup"));
	assert_true(code_name_is_of("_ZNK5Store6lookupIiEEvT_", "lookup"));
	assert_true(code_name_is_of("_ZN5Store6lookupEi", "_ZN5Store6lookupEi"));
	assert_false(code_name_is_of("_ZN6lookup5StoreEi", "lookup")); /* its scope */
	assert_false(code_name_is_of("_ZN5Store7prelookupEi", "lookup"));
	assert_false(code_name_is_of("_Z3getN6lookup1xE", "lookup")); /* its argument */
	assert_true(code_name_is_of("_ZN12_GLOBAL__N_15serveERKNS_5orderE", "serve"));
	assert_true(code_name_is_of("_ZN12_GLOBAL__N_1L5serveEv", "serve"));
	assert_true(code_name_is_of("_ZL5servev", "serve"));
	assert_true(code_name_is_of("_ZNSt6vectorIiSaIiEE4pushEi", "push"));
	assert_true(code_name_is_of("_ZN5StoreIN1A1BELi3EE4pushEi", "push"));
	assert_false(code_name_is_of("_ZNSt6vectorIiSaIiEE4pushEi", "vector"));
	assert_false(
	    code_name_is_of("_ZN5StoreC1Ev", "Store")); /* a constructor: its name is another one */
	assert_false(code_name_is_of("_Z99x", "x"));
	assert_false(code_name_is_of("_ZNS", "x"));
	assert_false(code_name_is_of("_ZN1AI1BN", "B"));
	assert_false(code_name_is_of("", ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_is_of_the_name_that_stacks_give_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
