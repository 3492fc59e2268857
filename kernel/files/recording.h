/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording that is being read: kernel events with marks (translate.h), in the order of time. */
#ifndef KERNEL_FILES_RECORDING_H
#define KERNEL_FILES_RECORDING_H

#include "kernel/files/translate.h"

struct recorded_item {
	struct kernel_event ev;
	uint64_t order; /* among events of equal times: of Hone's own as written, else as read */
};

struct recording_setting {   /* what all recordings of a reading share */
	const char *counted; /* patterns of names, or NULL */
	const char *meta;    /* MiSeRTrace's file, or NULL */
	bool raw_times;
	_Atomic uint64_t *read_bytes; /* progress; or NULL */
	struct kernel_names *names;
	struct account *account;
	size_t texts_left;   /* bytes */
	size_t waiting_left; /* bytes of events that wait to be sorted, for each text file */
};

struct recording {
	/* The events that are ready: items[at, count). The reader moves `at`. */
	struct recorded_item *items;
	uint32_t at, count;
	const char *path;
	bool
	    has_base; /* its times are since the epoch; once it was read. Of Hone's own: they were merged before */
	/* Makes more events ready, when at == count; 0: the end. ERR_MEMORY, ERR_SYSTEM. */
	int (*more)(struct recording *s, struct err *e);
	void (*close)(struct recording *s); /* frees it */
};

/* Opens a folder that is one CTF trace. ERR_INPUT: babeltrace2 cannot read it; ERR_SYSTEM, ERR_MEMORY. */
int recording_ctf_open(
    struct recording **ret, const char *folder, struct recording_setting *setting, struct err *e);

/* Reads text. Takes over *in, also if it fails; the host has the name of the file. ERR_SYSTEM, ERR_MEMORY. */
struct input;
int recording_ftrace_open(struct recording **ret, struct input *in, const char *path,
    struct recording_setting *setting, struct err *e);
int recording_psv_open(struct recording **ret, struct input *in, const char *path,
    struct recording_setting *setting, struct err *e);

/* Whether the bytes at the begin of a file are of this format: 0 to 100. */
int recording_ftrace_sniff(const char *head, size_t len);
int recording_psv_sniff(const char *head, size_t len);

#endif
