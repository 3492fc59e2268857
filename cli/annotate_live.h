/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records what hone annotate needs, of running processes, for some seconds: their requests by an LTTng session of its own, unless only messages
 * show them, and the kernel by hone-below. Nothing is written by the programs but the records of that session, and nothing is left behind but the folder.
 *
 *	FOLDER/spans	CTF of LTTng-UST: hone:* and what --tracepoint names, of these processes
 *	FOLDER/kernel	CTF of the kernel (kernel/files/ctf_writer.h)
 */
#ifndef CLI_ANNOTATE_LIVE_H
#define CLI_ANNOTATE_LIVE_H

#include "cli/command.h"

/* programs_record: the processes record requests by LTTng-UST; else there is no session. Records for --seconds, of the processes of --pid and their children; SIGINT ends it early. The folder is new or empty, or is made. *taken: kernel events. The LTTng session is
 * gone afterwards, also after a failure. ERR_BUSY: the folder has files; ERR_DENIED, ERR_TRACER, ERR_MISSING, ERR_SYSTEM, ERR_MEMORY. */
int annotate_live(
    struct invocation *c, const char *folder, bool programs_record, uint64_t *taken, struct err *e);

#endif
