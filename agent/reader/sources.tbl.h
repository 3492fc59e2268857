/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sources of records that agent.reader in hone-agent.conf(5) can name.
 *
 *	SOURCE(NAME, OPEN, READS, DESCRIPTION)		linked in; OPEN is a source_open_fn
 *	SOURCE_LOADED(NAME, READS, DESCRIPTION)		PREFIX/lib/hone/source_NAME.so, loaded when it is
 *							configured; its opener is source_NAME_open
 *
 * READS names what a source reads. Of sources with the same READS only one may be configured, since
 * each record would be delivered twice.
 */
SOURCE(hone, source_lttng_follow, "sessions", "LTTng-UST 2.13 by Hone's own decoder")
SOURCE_LOADED(babeltrace2, "sessions", "any LTTng version that libbabeltrace2 understands; slower, coarser watermark")
SOURCE(auto, source_auto_open, "sessions", "hone, and from the first metadata on that it does not understand babeltrace2")
