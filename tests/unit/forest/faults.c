/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/forest/faults.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Our file, and behind it the file of the VFS that we wrap. */
struct file {
	sqlite3_file base;
	sqlite3_file *real;
	const char *name; /* SQLite's, valid until it is closed; NULL: temporary */
};

static sqlite3_vfs ours, *theirs;

/* A test changes these while another of its threads writes to a database. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*watcher)(void *ctx, const struct file_change *c);
static void *watcher_ctx;
static uint64_t count, at;
static enum fault fault;
static int happened;

enum verdict_of_fault { GO_ON, HALF, REFUSE };

static void
die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static enum verdict_of_fault
operation(void)
{
	enum verdict_of_fault verdict = REFUSE;

	pthread_mutex_lock(&lock);
	count++;
	if (fault == FAULT_NONE || (fault == FAULT_FULL_FROM ? count < at : count != at))
		verdict = GO_ON;
	else if (fault == FAULT_KILL)
		die();
	else if (fault == FAULT_TORN)
		verdict = HALF;
	else
		happened++;
	pthread_mutex_unlock(&lock);
	return verdict;
}

void
faults_watch(void (*see)(void *ctx, const struct file_change *c), void *ctx)
{
	pthread_mutex_lock(&lock);
	watcher = see;
	watcher_ctx = ctx;
	pthread_mutex_unlock(&lock);
}

static void
watched(enum change_kind kind, const char *name, const void *data, int64_t len, int64_t offset)
{
	struct file_change c = { kind, name, data, len, offset };

	pthread_mutex_lock(&lock);
	if (watcher != NULL && name != NULL)
		watcher(watcher_ctx, &c);
	pthread_mutex_unlock(&lock);
}

static const char *
name_of(sqlite3_file *f)
{
	return ((struct file *)f)->name;
}

static sqlite3_file *
real(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

static int
f_close(sqlite3_file *f)
{
	sqlite3_file *r = real(f);
	int rc = r->pMethods != NULL ? r->pMethods->xClose(r) : SQLITE_OK;

	return rc;
}

static int
f_read(sqlite3_file *f, void *data, int len, sqlite3_int64 offset)
{
	return real(f)->pMethods->xRead(real(f), data, len, offset);
}

static int
f_write(sqlite3_file *f, const void *data, int len, sqlite3_int64 offset)
{
	enum verdict_of_fault v = operation();

	if (v == REFUSE)
		return SQLITE_FULL;
	if (v == HALF) {
		real(f)->pMethods->xWrite(real(f), data, len / 2, offset);
		die();
	}
	watched(CHANGE_WRITE, name_of(f), data, len, offset);
	return real(f)->pMethods->xWrite(real(f), data, len, offset);
}

static int
f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	enum verdict_of_fault v = operation();

	if (v == HALF)
		die();
	if (v == GO_ON)
		watched(CHANGE_TRUNCATE, name_of(f), NULL, size, 0);
	return v == REFUSE ? SQLITE_IOERR_TRUNCATE : real(f)->pMethods->xTruncate(real(f), size);
}

static int
f_sync(sqlite3_file *f, int flags)
{
	enum verdict_of_fault v = operation();

	if (v == HALF)
		die();
	if (v == GO_ON)
		watched(CHANGE_SYNC, name_of(f), NULL, 0, 0);
	return v == REFUSE ? SQLITE_FULL : real(f)->pMethods->xSync(real(f), flags);
}

static int
f_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real(f)->pMethods->xFileSize(real(f), size);
}

static int
f_lock(sqlite3_file *f, int level)
{
	return real(f)->pMethods->xLock(real(f), level);
}

static int
f_unlock(sqlite3_file *f, int level)
{
	return real(f)->pMethods->xUnlock(real(f), level);
}

static int
f_reserved(sqlite3_file *f, int *ret)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), ret);
}

static int
f_control(sqlite3_file *f, int op, void *arg)
{
	return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int
f_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int
f_is(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int
f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return real(f)->pMethods->xShmMap(real(f), page, size, extend, ret);
}

static int
f_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}

static void
f_shm_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}

static int
f_shm_unmap(sqlite3_file *f, int remove)
{
	return real(f)->pMethods->xShmUnmap(real(f), remove);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_is,
	.xShmMap = f_shm_map,
	.xShmLock = f_shm_lock,
	.xShmBarrier = f_shm_barrier,
	.xShmUnmap = f_shm_unmap,
};

static int
v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct file *file = (struct file *)f;
	int rc;
	(void)v;

	file->real = (sqlite3_file *)(file + 1);
	file->name = name;
	memset(file->real, 0, (size_t)theirs->szOsFile);
	rc = theirs->xOpen(theirs, name, file->real, flags, out);
	file->base.pMethods = file->real->pMethods != NULL ? &methods : NULL;
	return rc;
}

static int
v_delete(sqlite3_vfs *v, const char *name, int sync)
{
	enum verdict_of_fault verdict = operation();
	(void)v;

	if (verdict == HALF)
		die();
	if (verdict == GO_ON)
		watched(CHANGE_DELETE, name, NULL, sync, 0);
	return verdict == REFUSE ? SQLITE_IOERR_DELETE : theirs->xDelete(theirs, name, sync);
}

static void
install(void)
{
	theirs = sqlite3_vfs_find(NULL);
	ours =
	    *theirs; /* the rest is valid for any VFS of the same kind, and does not refer to ours */
	ours.zName = "faults";
	ours.szOsFile = (int)sizeof(struct file) + theirs->szOsFile;
	ours.xOpen = v_open;
	ours.xDelete = v_delete;
	if (sqlite3_vfs_register(&ours, 1) != SQLITE_OK)
		abort();
}

void
faults_at(uint64_t n, enum fault what)
{
	if (theirs == NULL)
		install();
	pthread_mutex_lock(&lock);
	count = 0;
	at = n;
	fault = what;
	happened = 0;
	pthread_mutex_unlock(&lock);
}

uint64_t
faults_count(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

int
faults_happened(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = happened;
	pthread_mutex_unlock(&lock);
	return n;
}
