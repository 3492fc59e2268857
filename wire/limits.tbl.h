/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LIMIT(name, word in JSON, text): the limits that the cost of Hone on a node may exceed. In a text,
 * "{measured}", "{permitted}" and "{spender}" stand for those fields; bytes as kB and MiB.
 */
LIMIT(NETWORK,   "network",   "{measured} kB/s to the controller, over agents.network_max ({permitted}), at the lowest sampling share")
LIMIT(IDLE_CORE, "idle-core", "{measured} % of a core without any record, over the permitted {permitted} %: most by the {spender}")
LIMIT(CORE,      "core",      "{measured} % of a core, over the permitted {permitted} %, at the lowest sampling share: most by the {spender}")
LIMIT(MEMORY,    "memory",    "{measured} MiB of the tracer's buffers, over agents.memory_max ({permitted}): lower tracer.sub_buffer_size")
