/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A link to the live page. */
#include "controlplane/answers/answer_inside.h"

json_t *
ask_web(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	struct web_link_text link = { 0 };
	struct err e = { 0 };
	int rc;

	(void)g;
	(void)f;
	(void)ask;
	if (c->web.link == NULL)
		return answer_refuse(
		    ERR_MISSING, "there is no live page: web.listen in honed.conf is empty");
	if ((rc = c->web.link(c->web.of, &c->who, c->now, &link, &e)) < 0)
		return answer_refuse(rc, "%s", e.text);
	return json_pack("{s:s, s:s, s:o, s:i, s:s}", "url", link.url, "path", link.path, "socket",
	    link.socket[0] != '\0' ? answer_text(link.socket) : json_null(), "seconds",
	    link.seconds, "role", role_word(c->who.role));
}
