/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/functions.h"

#include <ctype.h>
#include <string.h>

bool
function_name(char ret[FUNCTION_NAME_MAX + 1], const struct difference_node *node)
{
	static const char *const BEGINS[] = { "main", "_start", "start_thread", "clone", "clone3" };
	const char *end = strstr(node->text, "() at ");
	size_t len = end != NULL ? (size_t)(end - node->text) : strlen(node->text);

	if (len == 0 || len > FUNCTION_NAME_MAX || isdigit((unsigned char)node->text[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)node->text[i]) && node->text[i] != '_')
			return false;
	memcpy(ret, node->text, len);
	ret[len] = '\0';
	for (size_t i = 0; i < sizeof BEGINS / sizeof *BEGINS; i++)
		if (strcmp(ret, BEGINS[i]) == 0)
			return false;
	return strncmp(ret, "__libc_start", 12) != 0;
}

static double
weight_of(const struct difference_node *n, bool by_latency)
{
	return by_latency ? n->slow_ns : n->slow_ns - n->usual_ns;
}

/* How far the node is below `at`; 0: it is not. */
static uint32_t
depth_below(const struct difference_node *tree, uint32_t node, uint32_t at)
{
	uint32_t depth = 0;

	for (; node != at && node != 0; node = tree[node].parent)
		depth++;
	return node == at ? depth : 0;
}

static void
mark(const struct difference_node *tree, uint32_t count, const char *name, bool *tried)
{
	char other[FUNCTION_NAME_MAX + 1];

	for (uint32_t i = 0; i < count; i++)
		if (function_name(other, &tree[i]) && strcmp(other, name) == 0)
			tried[i] = true;
}

uint32_t
functions_choose(uint32_t *ret, uint32_t max, const struct difference_node *tree, uint32_t count,
    uint32_t at, bool by_latency, double share_min, bool *tried)
{
	double least = count > 0 ? share_min * weight_of(&tree[0], by_latency) : 0;
	char name[FUNCTION_NAME_MAX + 1];
	uint32_t n = 0;

	while (least > 0 && n < max) {
		uint32_t best = UINT32_MAX, nearest = UINT32_MAX;

		for (uint32_t i = 1; i < count; i++) {
			double w = weight_of(&tree[i], by_latency);
			uint32_t depth = !tried[i] && w >= least ? depth_below(tree, i, at) : 0;

			if (depth == 0 || depth > nearest || !function_name(name, &tree[i]) ||
			    (depth == nearest && w <= weight_of(&tree[best], by_latency)))
				continue;
			best = i;
			nearest = depth;
		}
		if (best == UINT32_MAX)
			break;
		ret[n++] = best;
		function_name(name, &tree[best]);
		mark(tree, count, name, tried);
	}
	return n;
}

bool
function_is_timed(double calls, double edge_ns)
{
	return calls * FUNCTION_CALL_NS <= FUNCTION_COST_MAX * edge_ns;
}

bool
functions_are_unsure(
    const struct edge_share *functions, uint32_t n, double edge_share, double share_min)
{
	for (uint32_t i = 0; i < n; i++)
		if (functions[i].interval.low <= 0 && functions[i].interval.high > 0 &&
		    functions[i].share >= share_min * edge_share)
			return true;
	return false;
}

uint32_t
functions_follow(bool *over, const struct edge_share *functions, const uint32_t *nodes, uint32_t n,
    double edge_share, double share_min, const struct difference_node *tree)
{
	uint32_t best = UINT32_MAX, deepest = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t depth = depth_below(tree, nodes[i], 0);

		over[i] = functions[i].interval.low > 0 &&
		          functions[i].share >= share_min * edge_share;
		if (!over[i] || depth < deepest ||
		    (depth == deepest && best != UINT32_MAX &&
			functions[i].share <= functions[best].share))
			continue;
		best = i;
		deepest = depth;
	}
	return best;
}
