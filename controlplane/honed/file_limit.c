/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/file_limit.h"

#include <sys/resource.h>

#include "base/log.h"

enum { OTHER_FILES = 64 }; /* databases, listeners, and what doors have open */

static rlim_t started_with; /* 0: nothing was raised */

rlim_t
file_limit_of_others(void)
{
	struct rlimit files;

	if (started_with != 0)
		return started_with;
	return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

void
file_limit_raise(const struct server_options *o)
{
	uint64_t most = (uint64_t)o->connections_max +
	                4 * (uint64_t)(o->strangers_max > 0 ? o->strangers_max
							    : DEFAULT_STRANGERS) +
	                OTHER_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	started_with = files.rlim_cur;
	if (files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files) != 0)
			getrlimit(RLIMIT_NOFILE, &files);
	}
	if (files.rlim_cur < most)
		log_line(LOG_WARN,
		    "honed may have %llu files open, but connections_max and strangers_max permit %llu connections and files: "
		    "beyond that, connections wait; raise the limit (LimitNOFILE= in honed.service, ulimit -Hn) or lower the keys in honed.conf",
		    (unsigned long long)files.rlim_cur, (unsigned long long)most);
}
