/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/baseline_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/document.h"

int
baseline_name_check(const char *name, struct err *e)
{
	size_t len = strlen(name);
	bool good = len >= 1 && len <= BASELINE_NAME_MAX && name[0] != '.';

	for (size_t i = 0; i < len && good; i++)
		good = isalnum((unsigned char)name[i]) || strchr("-_.", name[i]) != NULL;
	if (good)
		return 0;
	return err_set(e, ERR_INPUT,
	    "%.80s: a baseline's name is 1 to %d letters, digits, - _ and ., and does not begin "
	    "with .",
	    name, BASELINE_NAME_MAX);
}

/* ---- paths ---- */

static int
folder_path(char out[PATH_MAX], struct err *e)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int n;

	/* the XDG specification: a path that is not absolute is ignored */
	if (data != NULL && data[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/hone/baselines", data);
	else if (home != NULL && home[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/.local/share/hone/baselines", home);
	else
		return err_set(e, ERR_MISSING,
		    "where are baselines kept? Neither XDG_DATA_HOME nor HOME says");
	return n < PATH_MAX - BASELINE_NAME_MAX - 32
	           ? 0
	           : err_set(e, ERR_INPUT, "%.80s...: too long a path", out);
}

static int
file_path(char out[PATH_MAX + BASELINE_NAME_MAX + 8], const char *name, struct err *e)
{
	char folder[PATH_MAX];
	int rc;

	if ((rc = baseline_name_check(name, e)) != 0 || (rc = folder_path(folder, e)) != 0)
		return rc;
	snprintf(out, PATH_MAX + BASELINE_NAME_MAX + 8, "%s/%s.json", folder, name);
	return 0;
}

static int
make_folders(struct err *e)
{
	char path[PATH_MAX];
	int rc;

	if ((rc = folder_path(path, e)) != 0)
		return rc;
	for (char *slash = path; slash != NULL;) {
		if ((slash = strchr(slash + 1, '/')) != NULL)
			*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return err_errno(e, "%s: cannot be made", path);
		if (slash != NULL)
			*slash = '/';
	}
	return 0;
}

/* ---- saving ---- */

static int
sync_folder(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) != 0)
		rc = err_errno(e, "%s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* When it returns 0, the whole file is on the disk. */
static int
write_out(int fd, const char *path, const json_t *document, struct err *e)
{
	if (json_dumpfd(
		document, fd, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) != 0 ||
	    fchmod(fd, 0644) != 0 || fsync(fd) != 0) {
		err_errno(e, "%s: cannot be written", path);
		close(fd);
		return ERR_SYSTEM;
	}
	return close(fd) == 0 ? 0 : err_errno(e, "%s: cannot be written", path);
}

int
baseline_save(const char *name, const json_t *document, struct err *e)
{
	return baseline_save_as(name, document, document_check, e);
}

int
baseline_save_as(const char *name, const json_t *document, baseline_check *check, struct err *e)
{
	char path[PATH_MAX + BASELINE_NAME_MAX + 8], folder[PATH_MAX], unfinished[PATH_MAX + 16];
	int rc, fd;

	if ((rc = check(document, name, e)) != 0 || (rc = file_path(path, name, e)) != 0 ||
	    (rc = make_folders(e)) != 0 || (rc = folder_path(folder, e)) != 0)
		return rc;
	snprintf(unfinished, sizeof unfinished, "%s/.new-XXXXXX", folder);
	if ((fd = mkstemp(unfinished)) < 0)
		return err_errno(e, "%s: cannot be written to", folder);
	if ((rc = write_out(fd, unfinished, document, e)) == 0 && rename(unfinished, path) != 0)
		rc = err_errno(e, "%s: cannot be written", path);
	if (rc == 0)
		return sync_folder(folder, e);
	unlink(unfinished);
	return rc;
}

/* ---- loading, deleting, listing ---- */

static int
load_file(const char *path, const char *name, baseline_check *check, json_t **ret, struct err *e)
{
	json_error_t why;
	json_t *document;
	int rc;

	if (access(path, R_OK) != 0)
		return errno == ENOENT ? err_set(e, ERR_MISSING,
					     "%s: no such baseline; hone baseline list says which "
					     "there are",
					     name)
		                       : err_errno(e, "%s", path);
	if ((document = json_load_file(path, JSON_REJECT_DUPLICATES, &why)) == NULL)
		return err_set(e, ERR_INPUT, "%s: line %d: %s", path, why.line, why.text);
	if ((rc = check(document, path, e)) != 0)
		json_decref(document);
	else
		*ret = document;
	return rc;
}

int
baseline_load(const char *name, json_t **ret, struct err *e)
{
	return baseline_load_as(name, document_check, ret, e);
}

int
baseline_load_as(const char *name, baseline_check *check, json_t **ret, struct err *e)
{
	char path[PATH_MAX + BASELINE_NAME_MAX + 8];

	if (baseline_name_check(name, e) == 0 && file_path(path, name, e) == 0 &&
	    access(path, F_OK) == 0)
		return load_file(path, name, check, ret, e);
	return load_file(name, name, check, ret, e);
}

int
baseline_delete(const char *name, struct err *e)
{
	char path[PATH_MAX + BASELINE_NAME_MAX + 8];
	int rc;

	if ((rc = file_path(path, name, e)) != 0)
		return rc;
	if (unlink(path) == 0)
		return 0;
	return errno == ENOENT
	           ? err_set(e, ERR_MISSING,
			 "%s: no such baseline; hone baseline list says which there are", name)
	           : err_errno(e, "%s", path);
}

static bool
is_baseline(const struct dirent *d, char name[BASELINE_NAME_MAX + 1])
{
	size_t len = strlen(d->d_name);

	if (len < 6 || len > BASELINE_NAME_MAX + 5 || strcmp(d->d_name + len - 5, ".json") != 0)
		return false;
	snprintf(name, BASELINE_NAME_MAX + 1, "%.*s", (int)len - 5, d->d_name);
	return baseline_name_check(name, NULL) == 0;
}

int
baseline_list(json_t **ret, struct err *e)
{
	char folder[PATH_MAX], name[BASELINE_NAME_MAX + 1];
	struct dirent **all = NULL;
	struct stat st;
	int rc, n;

	if ((rc = folder_path(folder, e)) != 0)
		return rc;
	if ((n = scandir(folder, &all, NULL, alphasort)) < 0 && errno != ENOENT)
		return err_errno(e, "%s", folder);
	*ret = json_array();
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX + 264];

		snprintf(path, sizeof path, "%s/%s", folder, all[i]->d_name);
		if (is_baseline(all[i], name) && stat(path, &st) == 0)
			json_array_append_new(*ret,
			    json_pack("{s:s, s:o, s:I}", "name", name, "saved",
				wall_json((struct wall){
				    st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec }),
				"bytes", (json_int_t)st.st_size));
		free(all[i]);
	}
	free(all);
	return 0;
}
