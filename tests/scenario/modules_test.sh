#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Libraries that are loaded into traced programs do not allocate, lock, sleep, print or exit. Checked in the machine
# code, function by function, so that it also holds for paths that no request takes. O: the build folder.
. "$(dirname "$0")/lib.sh"
needs objdump

FORBIDDEN='malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|free|strdup|strndup|asprintf|vasprintf'
FORBIDDEN="$FORBIDDEN|exit|_exit|_Exit|abort|__assert_fail|raise|kill|longjmp|_longjmp|siglongjmp|__longjmp_chk|fork|vfork|system"
FORBIDDEN="$FORBIDDEN|pthread_mutex_lock|pthread_rwlock_rdlock|pthread_rwlock_wrlock|pthread_spin_lock|pthread_cond_wait|sem_wait|sem_timedwait"
FORBIDDEN="$FORBIDDEN|sleep|usleep|nanosleep|clock_nanosleep|printf|fprintf|__fprintf_chk|vfprintf|fwrite|puts|fputs|pg_fprintf|syslog"

# LTTng's headers add these constructors and destructors to every file with tracepoints; Hone's code does not call them.
LTTNG='lttng_ust__tracepoints__.*|lttng_ust_(constructor|destructor)_.*|lttng_ust_tracepoints_print_disabled_message'

# calls FILE: "function callee" for each forbidden call or jump out of the file
calls() {
	objdump -d --no-show-raw-insn "$1" | awk -v forbidden="^($FORBIDDEN)\$" -v lttng="^($LTTNG)\$" '
		/^[0-9a-f]+ <.*>:$/ { fn = $2; gsub(/[<>:]/, "", fn); plt = fn ~ /@/; sub(/\..*/, "", fn); next }
		!plt && fn !~ lttng && match($0, /<[A-Za-z_0-9]+@/) {
			callee = substr($0, RSTART + 1, RLENGTH - 2)
			if (callee ~ forbidden) print fn, callee
		}' | sort -u
}
# only FILE [ALLOWED]: ALLOWED is "function callee" lines
only() {
	local got
	got=$(calls "$1" | grep -vxF -- "${2:-none}")
	[ -z "$got" ] || { echo "$got"; return 1; }
}

check "the check itself works: it sees that credentials.so calls functions that allocate" eval '[ -n "$(calls "$O/lib/hone/credentials.so")" ]'
for library in libhone.so hone/ngx_http_hone_module.so hone/hone_redis.so hone/hone_postgres.so hone/libhone_postgres_waits.so; do
	[ -e "$O/lib/$library" ] || { echo "# $library is not built here"; continue; }
	case $library in
	# The server requires memory from malloc() there, once each time that hone.context is set, and frees it.
	*/hone_postgres.so) check "$library" only "$O/lib/$library" "setting_check malloc" ;;
	*) check "$library" only "$O/lib/$library" ;;
	esac
done
echo "1..$N"
exit $FAILED
