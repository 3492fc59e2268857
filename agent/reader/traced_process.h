/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One traced process in one session, as its folders show it:
 *
 *	shm_dir/ust/pid/NAME/		while the daemons know the process
 *		metadata		text, appended to before a tracepoint is armed
 *		CHANNEL_CPU		a ring: produced, consumed, lost
 *	output_dir/ust/pid/NAME/	stays until traced_process_remove_folder()
 *		metadata		the same text in packets, some seconds later
 *		CHANNEL_CPU		packets, one after the other
 *		index/CHANNEL_CPU.idx	one entry for each packet, written after the packet
 *
 * Once the first folder is gone, the daemons have written their last to the second one.
 */
#ifndef AGENT_READER_TRACED_PROCESS_H
#define AGENT_READER_TRACED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct lttng_source;
struct session_folder;
struct traced_process;

/* A folder's name has the name that the program gave itself, and its process id, which the session daemon has from the
 * kernel. */
struct folder_name {
	char comm[256];
	long pid;
};
/* Splits "comm-PID-DATE-TIME". False: not such a name. */
bool folder_name_read(const char *name, struct folder_name *ret);

/* NULL: out of memory. */
struct traced_process *traced_process_new(struct lttng_source *src, struct session_folder *f,
    const char *name, bool live, int64_t now_ns);
void traced_process_died(struct lttng_source *src, struct traced_process *p, int64_t now_ns);
void traced_process_free(struct lttng_source *src, struct traced_process *p);

/* Maps new rings; after the process' death, finds streams that were missed. */
void traced_process_list(struct lttng_source *src, struct traced_process *p);
/* Reads and parses what was appended to the metadata. */
void traced_process_metadata(struct lttng_source *src, struct traced_process *p, int64_t now_ns);
/* Looks at its rings, and decides whether it is read on (quarantine.h); if not, all processes of this
 * name in other sessions are not read either. Reports the records that are lost by that. */
void traced_process_look(struct lttng_source *src, struct traced_process *p, int64_t now_ns);
/* Decides by its user about a new process: one that is not listed is in quarantine from its begin on, and no loss is reported.
 * So is one that has ended before its user could be seen. */
void traced_process_judge_user(const struct lttng_source *src, struct traced_process *p);
/* Once a second, whether the controller says that the node is overrun, and whose fault that is (overrun.h). O(processes), and while
 * it says so a file of /proc for each. */
void traced_processes_weigh(struct lttng_source *src, int64_t now_ns);
/* Frees the space of what a process in quarantine wrote since the last call. */
void traced_process_discard(struct lttng_source *src, struct traced_process *p);

/* Removes the files that LTTng wrote in the output folder, and the folder if it is empty then. */
void traced_process_remove_folder(struct lttng_source *src, const struct traced_process *p);

#endif
