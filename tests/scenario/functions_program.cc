// SPDX-License-Identifier: GPL-3.0-or-later
// functions_program: requests of type ORDER, handed to a thread whose unit has no tracepoint inside. One in five looks for a thing on a shelf
// for long, which is deep in it; one in five, independently, applies a coupon that is not valid: an exception leaves the function. Each counts
// small change very often. The shelf has 96 % of the variance, much more than waits for a processor on a busy machine.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "instrument/hone.h"

namespace {

enum { SHELF_US = 40000, COUPON_US = 8000, REST_US = 3000, COINS = 3000 };

struct order {
	struct hone_carrier carrier;
	bool on_shelf, has_coupon;
};

std::atomic<struct order *> next_order;
volatile unsigned long coins; // of the clerk alone

class Store {
    public:
	[[gnu::noinline]] void look_at(int us)
	{
		usleep((useconds_t)us);
		__asm__ volatile("");
	}
	[[gnu::noinline]] void scan_shelf(const struct order &o)
	{
		if (o.on_shelf)
			look_at(SHELF_US);
		look_at(300);
		__asm__ volatile("");
	}
};

[[gnu::noinline]] void
apply_coupon(const struct order &o)
{
	if (!o.has_coupon)
		return;
	usleep(COUPON_US);
	throw 1;
}

[[gnu::noinline]] void
count_coin()
{
	coins = coins + 1;
	__asm__ volatile("");
}

[[gnu::noinline]] void
count_change()
{
	for (int i = 0; i < COINS; i++)
		count_coin();
	__asm__ volatile("");
}

[[gnu::noinline]] void
serve(const struct order &o)
{
	static Store store;

	store.scan_shelf(o);
	count_change();
	try {
		apply_coupon(o);
	} catch (int) {
		coins = coins + 1;
	}
	__asm__ volatile("");
}

void *
clerk(void *unused)
{
	for (;;) {
		struct order *o = next_order.load();

		if (o == nullptr) {
			usleep(50);
			continue;
		}
		hone_unit_begin(&o->carrier, "serve");
		serve(*o);
		hone_unit_end();
		next_order.store(nullptr);
	}
	return unused;
}

} // namespace

int
main()
{
	pthread_t thread;
	unsigned dice = 1;

	if (pthread_create(&thread, nullptr, clerk, nullptr) != 0)
		return 1;
	for (;;) {
		struct order o = { {}, rand_r(&dice) % 5 == 0, rand_r(&dice) % 5 == 0 };

		hone_request_begin("ORDER", nullptr);
		hone_fork("serve", &o.carrier);
		next_order.store(&o);
		while (next_order.load() != nullptr)
			usleep(50);
		hone_join(&o.carrier, "serve");
		hone_request_end(200);
		usleep(REST_US);
	}
}
