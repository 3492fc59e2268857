/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder for the socket of a test. Behind cmocka.h; make_folder() and remove_folder() are its set-up and tear-down. */
#ifndef TESTS_UNIT_BASE_SOCKET_FOLDER_H
#define TESTS_UNIT_BASE_SOCKET_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/socket_test.XXXXXX", ipc_url[128];
static const char *const tcp_url = "tcp://127.0.0.1:0";
static const char *path; /* the path of ipc_url */

static int
make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(ipc_url, sizeof ipc_url, "ipc://%s/socket", folder);
	path = ipc_url + strlen("ipc://");
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

#endif
