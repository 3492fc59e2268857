/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/honed/kafka.h"

int
kafka_load(const struct kafka_calls **ret, struct err *e)
{
	char self[PATH_MAX], file[PATH_MAX + 32], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	void *object;

	if (len < 0)
		return err_errno(e, "cannot find kafka.so: the path of honed is unknown");
	self[len] = '\0';
	if ((slash = strrchr(self, '/')) != NULL)
		*slash = '\0';
	snprintf(file, sizeof file, "%s/../lib/hone/kafka.so", self);
	if ((object = dlopen(file, RTLD_NOW | RTLD_LOCAL)) == NULL ||
	    (*ret = dlsym(object, "kafka_calls")) == NULL)
		return err_set(e, ERR_SYSTEM,
		    "kafka.brokers is set, but kafka.so, which uses librdkafka, cannot be loaded: %s",
		    dlerror());
	return 0;
}
