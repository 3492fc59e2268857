/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/entrance.h"

#include "base/stream.h"
#include "base/tls.h"
#include "controlplane/honed/file_limit.h"

int
entrance_open(struct entrance *n, const struct config *c, struct err *e)
{
	const struct tls_files keys = { c->ca, c->certificate, c->key, c->revoked };
	struct server_options so = config_server(c);
	int rc = config_roles(c, &n->roles, e);

	if (rc < 0)
		return rc;
	if (url_is_tls(c->agents) && (rc = tls_open(&n->tls, &keys, e)) < 0)
		return err_prefix(e, "[tls] in honed.conf");
	so.tls = n->tls;
	so.roles = n->roles;
	file_limit_raise(&so);
	return server_open(&n->server, &so, e);
}

void
entrance_close(struct entrance *n)
{
	server_close(n->server);
	tls_close(n->tls);
	roles_free(n->roles);
	*n = (struct entrance){ 0 };
}
