/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/wall_offset.h"

#define MOST_NS (INT64_MAX / 2)

bool
wall_offset_look(struct wall_offset *o, struct mono before, struct wall wall, struct mono after)
{
	int64_t width_ns = after.ns - before.ns, now_ns = before.ns + width_ns / 2 - wall.ns;
	int64_t change_ns = now_ns - o->offset_ns;
	bool first = !o->known;

	if (!first && width_ns > WALL_STEP_NS)
		return false;
	o->known = true;
	o->offset_ns = now_ns;
	if (first || (change_ns <= WALL_STEP_NS && change_ns >= -WALL_STEP_NS))
		return false;
	o->steps++;
	return true;
}

int64_t
wall_offset_mono_ns(const struct wall_offset *o, int64_t wall_ns)
{
	int64_t ns;

	if (__builtin_add_overflow(wall_ns, o->offset_ns, &ns))
		return wall_ns < 0 ? -MOST_NS : MOST_NS;
	return ns > MOST_NS ? MOST_NS : ns < -MOST_NS ? -MOST_NS : ns;
}
