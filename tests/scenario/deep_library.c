/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that is slow to load; see deep_program.c. */
#include <time.h>

__attribute__((constructor)) static void
begin(void)
{
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
}
