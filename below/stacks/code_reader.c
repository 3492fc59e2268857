/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/stacks/code_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "below/stacks/code_file.h"
#include "below/stacks/code_functions.h"
#include "below/stacks/code_maps.h"
#include "below/stacks/mapped_file.h"

enum {
	MAPS_BYTES_MAX = 4 << 20,
	NAME_BYTES_MAX = 64 << 20, /* of all names */
	FILE_MS_MAX = 10000,       /* CPU time for one file */
	FRAMES_MAX = PLACE_FRAMES_MAX * 4,
};

struct module { /* a file that is open */
	struct code_file *file;
	int fd; /* keeps the inode from being used again */
	struct file_identity identity;
	int64_t size, changed_ns;
	uint64_t number, used; /* of names; when it was used, in samples */
	int64_t spent_ns;
	char name[64]; /* the file's, without its folders */
};

struct resolved {        /* for a mapping */
	uint64_t module; /* its number; 0: not yet, or see state */
	bool known;
	enum mapped_state state;
};

struct code_process {
	pid_t pid;
	int maps_fd;
	char *text;
	struct hash128 text_hash;
	struct code_maps maps;
	struct resolved *resolved;
	uint64_t read_ns, since_ns, used;
};

struct named { /* an address */
	uint64_t module, address;
	uint32_t count;
	struct code_frame frames[];
};

struct code_reader {
	struct stacks_limits limits;
	const struct given_up *given_up;
	struct file_identity *working;
	struct map processes, modules; /* by pid, by number */
	struct map names;
	struct arena names_arena;
	struct code_frame frames[FRAMES_MAX];
	uint64_t samples, next_module;
	uint32_t new_names;
};

struct code_reader *
code_reader_new(const struct stacks_limits *limits, const struct given_up *given_up,
    struct file_identity *working)
{
	struct code_reader *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->limits = *limits;
	r->given_up = given_up;
	r->working = working;
	r->next_module = 1;
	return r;
}

/* ---- what is forgotten ---- */

static void
forget_maps(struct code_process *p)
{
	code_maps_release(&p->maps);
	free(p->text);
	free(p->resolved);
	if (p->maps_fd >= 0)
		close(p->maps_fd);
	p->text = NULL;
	p->resolved = NULL;
	p->maps_fd = -1;
	p->read_ns = 0;
}

static void
forget_process(struct code_reader *r, struct code_process *p)
{
	map_take(&r->processes, (uint64_t)p->pid);
	forget_maps(p);
	free(p);
}

static void
forget_module(struct code_reader *r, struct module *m)
{
	map_take(&r->modules, m->number);
	code_file_close(m->file);
	close(m->fd);
	free(m);
}

static void
forget_names(struct code_reader *r)
{
	map_release(&r->names);
	arena_release(&r->names_arena);
}

static void
forget_modules(struct code_reader *r)
{
	struct module *m;

	for (size_t at = 0; (m = map_next(&r->modules, &at, NULL)) != NULL;)
		forget_module(r, m);
}

static uint64_t
resident_bytes(void)
{
	char text[64];
	unsigned long total, pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = '\0';
		if (sscanf(text, "%lu %lu", &total, &pages) != 2)
			pages = 0;
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Between samples, as pointers into names and modules live no longer than one. */
static void
keep_limits(struct code_reader *r)
{
	enum { NAMES_A_CHECK = 32 };

	if (r->names.count > r->limits.names || r->names_arena.total_bytes > NAME_BYTES_MAX)
		forget_names(r);
	if (r->new_names < NAMES_A_CHECK)
		return;
	r->new_names = 0;
	if (resident_bytes() > r->limits.memory_bytes) {
		forget_names(r);
		forget_modules(r);
	}
}

/* ---- processes ---- */

static char *
read_maps(int fd, size_t *len)
{
	size_t cap = 64 << 10;
	char *text = malloc(cap), *more;
	ssize_t n;

	*len = 0;
	while (text != NULL && (n = pread(fd, text + *len, cap - *len, (off_t)*len)) > 0) {
		*len += (size_t)n;
		if (*len < cap)
			continue;
		if (cap >= MAPS_BYTES_MAX || (more = realloc(text, cap * 2)) == NULL)
			break;
		text = more;
		cap *= 2;
	}
	return text;
}

/* Reads the maps again. If they are the same, what was resolved remains. False: the process has ended, or is not
 * visible; the maps are as they were, since samples from before can still be unwound. */
static bool
update_maps(struct code_process *p, uint64_t now_ns)
{
	struct code_maps maps;
	struct hash128 hash;
	struct resolved *resolved;
	char path[32], *text;
	size_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)p->pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	p->read_ns = now_ns;
	if ((text = read_maps(fd, &len)) == NULL || len == 0)
		goto fail;
	hash = hash_bytes128(hash_seed(), text, len);
	if (p->text != NULL && hash.a == p->text_hash.a && hash.b == p->text_hash.b) {
		free(text);
		close(fd);
		return true;
	}
	if (!code_maps_parse(&maps, text, len))
		goto fail;
	if ((resolved = calloc((size_t)maps.count + 1, sizeof *resolved)) == NULL) {
		code_maps_release(&maps);
		goto fail;
	}
	forget_maps(p);
	p->maps = maps;
	p->text = text;
	p->text_hash = hash;
	p->resolved = resolved;
	p->maps_fd = fd;
	p->read_ns = now_ns;
	return true;
fail:
	free(text);
	close(fd);
	return false;
}

static struct code_process *
process_of(struct code_reader *r, pid_t pid, uint64_t now_ns)
{
	struct code_process *p = map_get(&r->processes, (uint64_t)pid), *q, *oldest = NULL;

	if (p != NULL) {
		if (now_ns - p->read_ns >= r->limits.maps_every_ms * UINT64_C(1000000))
			update_maps(p, now_ns);
		return p;
	}
	if (r->processes.count >= r->limits.processes) {
		for (size_t at = 0; (q = map_next(&r->processes, &at, NULL)) != NULL;)
			if (oldest == NULL || q->used < oldest->used)
				oldest = q;
		if (oldest != NULL)
			forget_process(r, oldest);
	}
	if ((p = calloc(1, sizeof *p)) == NULL)
		return NULL;
	p->pid = pid;
	p->maps_fd = -1;
	if (!update_maps(p, now_ns) || !map_put(&r->processes, (uint64_t)pid, p)) {
		forget_maps(p);
		free(p);
		return NULL;
	}
	return p;
}

void
code_reader_follow(struct code_reader *r, pid_t pid, uint64_t now_ns)
{
	process_of(r, pid, now_ns);
}

void
code_reader_forget(struct code_reader *r, pid_t pid, uint64_t since_ns)
{
	struct code_process *p = map_get(&r->processes, (uint64_t)pid);

	if (since_ns == UINT64_MAX) {
		if (p != NULL)
			forget_process(r, p);
		return;
	}
	if (p != NULL) {
		forget_maps(p);
		update_maps(p, since_ns);
	} else if ((p = process_of(r, pid, since_ns)) == NULL) {
		return;
	}
	p->since_ns = since_ns;
}

/* ---- files ---- */

static bool
is_given_up(const struct code_reader *r, const struct file_identity *f)
{
	for (uint32_t i = 0; i < r->given_up->count && i < GIVEN_UP_MAX; i++)
		if (r->given_up->files[i].device == f->device &&
		    r->given_up->files[i].inode == f->inode)
			return true;
	return false;
}

static int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static const char *
file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void
make_room(struct code_reader *r)
{
	struct module *m, *oldest = NULL;

	if (r->modules.count < r->limits.modules)
		return;
	for (size_t at = 0; (m = map_next(&r->modules, &at, NULL)) != NULL;)
		if (m->used != r->samples && (oldest == NULL || m->used < oldest->used))
			oldest = m;
	if (oldest != NULL)
		forget_module(r, oldest);
}

/* The module of a file that is open as fd, which this takes over. NULL: it is given up, or no file with code. */
static struct module *
module_of(struct code_reader *r, int fd, const char *path)
{
	struct module *m;
	struct stat st;
	int64_t began, changed;

	if (fstat(fd, &st) != 0)
		goto fail;
	changed = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	for (size_t at = 0; (m = map_next(&r->modules, &at, NULL)) != NULL;)
		if (m->identity.device == st.st_dev && m->identity.inode == st.st_ino &&
		    m->size == st.st_size && m->changed_ns == changed) {
			close(fd);
			return m;
		}
	make_room(r);
	if ((m = calloc(1, sizeof *m)) == NULL)
		goto fail;
	*m = (struct module){ .fd = fd,
		.identity = { st.st_dev, st.st_ino },
		.size = st.st_size,
		.changed_ns = changed,
		.number = r->next_module++ };
	snprintf(m->name, sizeof m->name, "%.63s", file_name(path));
	if (!map_put(&r->modules, m->number, m)) {
		free(m);
		goto fail;
	}
	if (is_given_up(r, &m->identity))
		return m;
	*r->working = m->identity;
	began = cpu_ns();
	m->file = code_file_open(fd, path);
	m->spent_ns = cpu_ns() - began;
	*r->working = (struct file_identity){ 0 };
	return m;
fail:
	close(fd);
	return NULL;
}

/* The module of a mapping. NULL: see the state that is resolved. */
static struct module *
resolve(struct code_reader *r, struct code_process *p, int i)
{
	struct resolved *to = &p->resolved[i];
	struct module *m = to->module != 0 ? map_get(&r->modules, to->module) : NULL;
	int fd;

	if (m == NULL &&
	    (!to->known || to->module != 0)) { /* the first time, or it was forgotten since */
		to->known = true;
		to->module = 0;
		to->state = p->maps.maps[i].path[0] == '/' ||
		                    strcmp(p->maps.maps[i].path, "[vdso]") == 0
		                ? mapped_file_open(p->pid, p->maps_fd, &p->maps.maps[i],
				      r->limits.file_bytes, &fd)
		                : MAPPED_UNREADABLE;
		if (to->state == MAPPED_OPEN &&
		    (m = module_of(r, fd, p->maps.maps[i].path)) == NULL)
			to->state = MAPPED_UNREADABLE;
		to->module = m != NULL ? m->number : 0;
	}
	if (m != NULL)
		m->used = r->samples;
	return m;
}

/* ---- names ---- */

static struct named *
keep_name(struct code_reader *r, uint64_t key, const struct module *m, uint64_t address,
    const struct code_name *names, int n)
{
	struct named *to = arena_calloc(
	    &r->names_arena, 1, sizeof *to + (size_t)n * sizeof *to->frames);

	if (to == NULL)
		return NULL;
	to->module = m->number;
	to->address = address;
	to->count = (uint32_t)n;
	for (int i = 0; i < n; i++) {
		to->frames[i] = (struct code_frame){
			arena_text(&r->names_arena, names[i].function, strlen(names[i].function)),
			arena_text(&r->names_arena, names[i].file, strlen(names[i].file)),
			names[i].line,
			code_is_library(m->name) || strcmp(names[i].function, CODE_LINK_NAME) == 0
		};
		if (to->frames[i].function == NULL || to->frames[i].file == NULL)
			return NULL;
	}
	r->new_names++;
	return map_put(&r->names, key, to) ? to : NULL;
}

static struct named *
name_of(struct code_reader *r, struct module *m, uint64_t address)
{
	uint64_t key = hash_u64(hash_u64(m->number) ^ address), start;
	struct named *known = map_get(&r->names, key);
	struct code_name names[CODE_INLINED_MAX];
	int64_t began;
	int n;

	if (known != NULL && known->module == m->number && known->address == address)
		return known;
	*r->working = m->identity;
	began = cpu_ns();
	n = code_file_name(m->file, address, names);
	if (n == 0) {
		n = 1;
		memset(names, 0, sizeof *names);
		if (!code_file_function_start(m->file, address, &start))
			start = address;
		snprintf(names[0].function, sizeof names[0].function, "%s+0x%lx", m->name,
		    (unsigned long)start);
	}
	m->spent_ns += cpu_ns() - began;
	*r->working = (struct file_identity){ 0 };
	return keep_name(r, key, m, address, names, n);
}

/* Adds a frame for a mapping whose file cannot be read. */
static bool
add_unread(struct code_reader *r, const struct code_map *map, const struct resolved *resolved,
    uint64_t address, size_t *n)
{
	char text[128];
	const char *name = map->path[0] != '\0' ? file_name(map->path) : "[code made at run time]";
	bool has_file = map->path[0] == '/';

	if (resolved->state == MAPPED_REPLACED)
		snprintf(text, sizeof text, "%.100s (replaced)", name);
	else if (has_file)
		snprintf(text, sizeof text, "%.100s+0x%lx", name,
		    (unsigned long)(address - map->start + map->offset));
	else
		snprintf(text, sizeof text, "%.100s", name);
	r->frames[*n] = (struct code_frame){ arena_text(&r->names_arena, text, strlen(text)), "", 0,
		has_file && code_is_library(name) };
	return r->frames[*n].function != NULL && ++*n > 0;
}

static bool
add_named(struct code_reader *r, struct module *m, uint64_t address, size_t *n)
{
	struct named *name = name_of(r, m, address);

	if (name == NULL)
		return false;
	for (uint32_t i = 0; i < name->count && *n < FRAMES_MAX; i++)
		r->frames[(*n)++] = name->frames[i];
	return true;
}

/* ---- one stack ---- */

static enum stack_end
unwind(struct code_reader *r, struct code_process *p, struct code_state *s, uint64_t now_ns,
    size_t *nframes, uint16_t *depth)
{
	static const enum stack_end ends[] = { [STEP_START] = STACK_COMPLETE,
		[STEP_NO_RULES] = STACK_NO_RULES,
		[STEP_BYTES_MISSED] = STACK_BYTES_MISSED };

	for (; *depth < PLACE_FRAMES_MAX; (*depth)++) {
		uint64_t pc = s->registers[STACK_RIP] - !s->exact, address;
		int i = code_maps_find(&p->maps, pc);
		enum code_step step;
		struct module *m;

		if (i < 0) {
			/* It may have been mapped since the maps were read. */
			if (p->read_ns == now_ns || !update_maps(p, now_ns) ||
			    (i = code_maps_find(&p->maps, pc)) < 0)
				return STACK_UNMAPPED;
		}
		m = resolve(r, p, i);
		if (m == NULL || m->file == NULL ||
		    !code_file_address(
			m->file, pc - p->maps.maps[i].start + p->maps.maps[i].offset, &address)) {
			if (add_unread(r, &p->maps.maps[i], &p->resolved[i], pc, nframes))
				(*depth)++;
			if (m != NULL && is_given_up(r, &m->identity))
				return STACK_GIVEN_UP;
			return p->resolved[i].state == MAPPED_REPLACED ? STACK_REPLACED
			                                               : STACK_NO_RULES;
		}
		if (m->spent_ns > FILE_MS_MAX * INT64_C(1000000) ||
		    !add_named(r, m, address, nframes))
			return STACK_GIVEN_UP;
		*r->working = m->identity;
		step = code_file_step(m->file, address, s);
		*r->working = (struct file_identity){ 0 };
		if (step != STEP_CALLER) {
			(*depth)++;
			return ends[step];
		}
	}
	return STACK_TOO_DEEP;
}

uint32_t
code_reader_place(struct code_reader *r, const struct stack_sample *sample, uint64_t now_ns,
    struct code_place *ret)
{
	struct code_state s = { .low = sample->registers[STACK_RSP],
		.bytes = sample->bytes,
		.nbytes = sample->nbytes < STACK_BYTES_MAX ? sample->nbytes : STACK_BYTES_MAX,
		.exact = true };
	enum stack_end end = STACK_NO_PROCESS;
	uint32_t before = r->new_names;
	struct code_process *p;
	uint16_t depth = 0;
	size_t n = 0;

	_Static_assert((int)CODE_REGISTERS == (int)STACK_REGISTERS, "the same registers");
	memcpy(s.registers, sample->registers, sizeof s.registers);
	keep_limits(r);
	before = r->new_names;
	r->samples++;
	p = process_of(r, sample->pid, now_ns);
	if (p != NULL && sample->time_ns >= p->since_ns) {
		p->used = r->samples;
		end = unwind(r, p, &s, now_ns, &n, &depth);
	}
	code_place_make(ret, r->frames, n, depth, end);
	return r->new_names - before;
}

/* ---- probes ---- */

bool
code_reader_probes(struct code_reader *r, pid_t pid, uint32_t file, uint32_t from, uint64_t now_ns,
    struct file_identity *identity, struct file_probes *ret, int *fd)
{
	struct code_process *p = process_of(r, pid, now_ns);
	const struct code_map *map;
	struct stat st;

	*fd = -1;
	*identity = (struct file_identity){ 0 };
	memset(ret, 0, sizeof *ret);
	if (p == NULL || file >= p->maps.count)
		return false;
	map = &p->maps.maps[file];
	if (map->path[0] != '/')
		return true;
	if (mapped_file_open(pid, p->maps_fd, map, r->limits.file_bytes, fd) != MAPPED_OPEN) {
		*identity = (struct file_identity){ makedev(map->major, map->minor), map->inode };
		ret->unread = true;
		return true;
	}
	if (fstat(*fd, &st) == 0)
		*identity = (struct file_identity){ st.st_dev, st.st_ino };
	if (identity->inode == 0 || is_given_up(r, identity)) {
		close(*fd);
		*fd = -1;
		return true;
	}
	*r->working = *identity;
	file_probes_read(ret, *fd, from);
	*r->working = (struct file_identity){ 0 };
	return true;
}

bool
code_reader_functions(struct code_reader *r, pid_t pid, uint32_t file, const char *name,
    uint64_t now_ns, struct file_identity *identity, struct file_functions *ret, int *fd)
{
	struct code_process *p;
	struct module *m;
	int64_t began;

	*fd = -1;
	*identity = (struct file_identity){ 0 };
	*ret = (struct file_functions){ .lack = FUNCTION_MISSING };
	keep_limits(r);
	p = process_of(r, pid, now_ns);
	if (p == NULL || file >= p->maps.count)
		return false;
	if (p->maps.maps[file].path[0] != '/' || (m = resolve(r, p, (int)file)) == NULL)
		return true;
	*identity = m->identity;
	if (m->file == NULL || code_is_library(m->name) ||
	    m->spent_ns > FILE_MS_MAX * INT64_C(1000000))
		return true;
	*r->working = m->identity;
	began = cpu_ns();
	code_file_functions(ret, m->file, m->fd, name);
	m->spent_ns += cpu_ns() - began;
	*r->working = (struct file_identity){ 0 };
	if (ret->count > 0 && (*fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0)) < 0)
		ret->count = 0;
	return true;
}
