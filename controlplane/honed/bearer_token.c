/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/bearer_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static int
read_line(char *ret, int fd, const char *path, struct err *e)
{
	char text[TOKEN_MOST + 3]; /* and "\r\n", and one byte that says that there is more */
	struct stat s;
	ssize_t n;
	size_t len;

	if (fstat(fd, &s) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISREG(s.st_mode) || (s.st_mode & S_IRWXO) != 0)
		return err_set(e, ERR_DENIED,
		    "%s is no file, or all users have access to it; chmod 640 takes that away",
		    path);
	if ((n = read(fd, text, sizeof text)) < 0)
		return err_errno(e, "%s", path);
	for (len = 0; len < (size_t)n && text[len] > ' ' && text[len] < 127;)
		len++;
	if (len < TOKEN_LEAST || len > TOKEN_MOST ||
	    (len < (size_t)n && text[len] != '\n' && text[len] != '\r' && text[len] != ' '))
		return err_set(e, ERR_INPUT,
		    "%s: the first line is no token: %d to %d printable characters without blanks",
		    path, TOKEN_LEAST, TOKEN_MOST);
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

int
bearer_token_read(char ret[TOKEN_MOST + 1], const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	ret[0] = '\0';
	if (fd < 0)
		return err_errno(e, "%s", path);
	rc = read_line(ret, fd, path, e);
	close(fd);
	return rc;
}

bool
bearer_token_is_shown(const char *authorization, const char *token)
{
	static const char SCHEME[] = "Bearer ";
	size_t len = strlen(token), shown;
	unsigned char differs;

	if (authorization == NULL || strncasecmp(authorization, SCHEME, sizeof SCHEME - 1) != 0 ||
	    len == 0)
		return false;
	authorization += sizeof SCHEME - 1;
	shown = strlen(authorization);
	differs = shown != len;
	for (size_t i = 0; i < shown; i++)
		differs |= (unsigned char)(authorization[i] ^ token[i % len]);
	return differs == 0;
}
