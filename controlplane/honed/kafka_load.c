/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/kafka.h"

#include "base/shared_object.h"

int
kafka_load(const struct kafka_calls **ret, struct err *e)
{
	void *found;
	int rc = shared_object_symbol(&found, "kafka.so", "kafka_calls",
	    "kafka.brokers is set, but kafka.so, which uses librdkafka, cannot be loaded", e);

	if (rc == 0)
		*ret = found;
	return rc;
}
