/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of the batches to the controller, for the table of an agent's configuration, which has members of these names. */
	{ "queue", "batch", INI_BYTES, AT(batch_bytes), "64KiB", 1 << 10, 512 << 10,
	    "A batch of this size is sent at once." },
	{ "queue", "batch_time", INI_TIME, AT(batch_ns), "100ms", 0, 10 * SECOND,
	    "Time between two batches while there are records; after a pause a batch is sent at once." },
	{ "queue", "watermark", INI_TIME, AT(watermark_ns), "100ms", 0.001 * SECOND, 10 * SECOND,
	    "Longest time between two batches, also without records." },
	{ "queue", "calm", INI_TIME, AT(calm_ns), "1s", 0, 10 * SECOND,
	    "The same on a node that had no records for 2 s. The controller waits for a node only in requests that pass it." },
	{ "queue", "window", INI_COUNT, AT(window), "64", 16, 4096,
	    "Batches that may be unacknowledged at a time." },
