/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
shared_object_symbol(
    void **ret, const char *file, const char *symbol, const char *failure, struct err *e)
{
	char self[PATH_MAX], path[PATH_MAX + 128], other[PATH_MAX + 128], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	void *object;

	if (len < 0)
		return err_errno(e, "cannot find %s: the path of this program is unknown", file);
	self[len] = '\0';
	if ((slash = strrchr(self, '/')) != NULL)
		*slash = '\0';
	snprintf(path, sizeof path, "%s/../lib/hone/%s", self, file);
	snprintf(other, sizeof other, "%s/../../lib/hone/%s", self, file);
	if (access(path, F_OK) != 0 && access(other, F_OK) == 0)
		memcpy(path, other, sizeof path);
	if ((object = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL ||
	    (*ret = dlsym(object, symbol)) == NULL)
		return err_set(e, ERR_SYSTEM, "%s: %s", failure, dlerror());
	return 0;
}
