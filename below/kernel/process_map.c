/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/process_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>

uint32_t
process_map_each(int map, process_map_take *take, void *of)
{
	uint32_t pid, next, n = 0;
	bool more;

	/* The next one first: `take` may delete this one. */
	for (more = bpf_map_get_next_key(map, NULL, &pid) == 0; more; pid = next, n++) {
		more = bpf_map_get_next_key(map, &pid, &next) == 0;
		take(of, (pid_t)pid);
	}
	return n;
}

struct ended {
	int map;
	bool any_left;
};

static void
forget(void *of, pid_t pid)
{
	struct ended *x = of;
	uint32_t key = (uint32_t)pid;

	if (kill(pid, 0) != 0 && errno == ESRCH)
		bpf_map_delete_elem(x->map, &key);
	else
		x->any_left = true;
}

bool
process_map_forget_ended(int map)
{
	struct ended x = { .map = map };

	process_map_each(map, forget, &x);
	return x.any_left;
}
