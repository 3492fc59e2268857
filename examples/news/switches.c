/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "switches.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAULT(name, what) #name,
static const char *const names[] = {
#include "faults.tbl.h"
};
#undef FAULT

static atomic_uchar *degrees;

int
switches_open(const char *dir)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/switches", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, SWITCHES) != 0) {
		perror(path);
		return -1;
	}
	degrees = mmap(NULL, SWITCHES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (degrees == MAP_FAILED) {
		perror(path);
		return -1;
	}
	return 0;
}

int
switch_degree(enum news_switch s)
{
	return atomic_load_explicit(&degrees[s], memory_order_relaxed);
}

int
switch_set(const char *name, int degree)
{
	for (int i = 0; i < SWITCHES; i++)
		if (strcmp(names[i], name) == 0) {
			atomic_store(&degrees[i], (unsigned char)degree);
			return 0;
		}
	return -1;
}
