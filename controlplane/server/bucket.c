/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/server/bucket.h"

void
bucket_init(struct bucket *p, double per_s, double most, struct mono now)
{
	*p = (struct bucket){ .per_s = per_s, .most = most, .left = most, .at = now };
}

static void
refill(struct bucket *p, struct mono now)
{
	if (mono_since_ns(now, p->at) <= 0)
		return;
	p->left += (double)mono_since_ns(now, p->at) / 1e9 * p->per_s;
	p->left = p->left < p->most ? p->left : p->most;
	p->at = now;
}

bool
bucket_empty(struct bucket *p, struct mono now)
{
	refill(p, now);
	return p->per_s > 0 && p->left < 1;
}

int64_t
bucket_wait_ns(struct bucket *p, struct mono now)
{
	if (p->per_s <= 0)
		return 0;
	refill(p, now);
	if (p->left >= 1) {
		p->left -= 1;
		return 0;
	}
	return (int64_t)((1 - p->left) / p->per_s * 1e9) + 1;
}
