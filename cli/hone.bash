# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of hone for bash: commands, flags, and the request types that honed knows.

_hone_baselines() {
	hone baseline list --json 2>/dev/null | sed -n 's/^ *"name": "\([^"]*\)",*$/\1/p'
}
_hone_keys() {
	hone keys show --json 2>/dev/null | sed -n 's/^ *"name": "\([^"]*\)",*$/\1/p' | sort -u
}
_hone() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}

	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "$(hone --complete) --help --version" -- "$word"))
		return
	fi
	case $before in
	--strategy)
		COMPREPLY=($(compgen -W "flat hierarchical bisect random exhaustive" -- "$word"))
		return ;;
	--format)
		case $command in
		kernel) COMPREPLY=($(compgen -W "ctf ftrace psv" -- "$word")) ;;
		annotate) COMPREPLY=($(compgen -W "otlp jaeger zipkin" -- "$word")) ;;
		export) COMPREPLY=($(compgen -W "otlp zipkin jaeger chrome folded pprof" -- "$word")) ;;
		*) COMPREPLY=($(compgen -W "jaeger otlp_json otlp_proto zipkin xtrace nezha ctf ftrace psv" -- "$word")) ;;
		esac
		return ;;
	--baseline)
		COMPREPLY=($(compgen -W "$(_hone_baselines)" -- "$word"))
		return ;;
	--dir|--write)
		COMPREPLY=($(compgen -d -- "$word"))
		return ;;
	--html|--dot|--space|--map|--spans|--output)
		COMPREPLY=($(compgen -f -- "$word"))
		return ;;
	--events)
		if [ "$command" = kernel ]; then
			COMPREPLY=($(compgen -W "lean full sched net irq syscalls packets block faults migrations units stacks" -- "${word##*,}" |
			    sed "s/^/$(case $word in *,*) echo "${word%,*}," ;; esac)/"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi
		return ;;
	--pid)
		COMPREPLY=($(compgen -W "$(cd /proc && ls -d [0-9]*)" -- "$word"))
		return ;;
	--rule)
		COMPREPLY=($(compgen -W "current all" -- "$word"))
		return ;;
	--tracepoint)
		COMPREPLY=($(compgen -W "$(hone tracepoints --json --timeout 1 2>/dev/null |
		    sed -n 's/^ *"tracepoint": "\([^"]*\)",*$/\1/p')" -- "$word"))
		return ;;
	--since)
		COMPREPLY=($(compgen -W "10min 1h 1d 7d" -- "$word"))
		return ;;
	--host|--days|--k|--effort|--effect|--tail|--run|--limit|--version|--seed|--seconds|--timeout|--socket|--correlate|--thread|--support|--type|--ignore|--bin|--confidence|--cv|--min-traces|--memory|--ring|--gateway|--count|--over|--call-over|--calls|--slowest|--to)
		return ;;
	esac
	if [ "${word#-}" != "$word" ]; then
		COMPREPLY=($(compgen -W "$(hone --complete "$command")" -- "$word"))
		return
	fi
	case $command in
	analyze|annotate|export)
		COMPREPLY=($(compgen -f -- "$word")) ;;
	space)
		if [ "$COMP_CWORD" -eq 2 ]; then
			COMPREPLY=($(compgen -W "show stats versions export import merge use" -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi ;;
	keys)
		case $COMP_CWORD:${COMP_WORDS[2]} in
		2:*) COMPREPLY=($(compgen -W "init agent controller show revoke" -- "$word")) ;;
		3:show|3:revoke|3:agent) COMPREPLY=($(compgen -W "$(_hone_keys)" -- "$word")) ;;
		esac ;;
	map)
		if [ "$COMP_CWORD" -eq 2 ]; then
			COMPREPLY=($(compgen -W "check show" -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi ;;
	kernel)
		if [ "$COMP_CWORD" -eq 2 ]; then
			COMPREPLY=($(compgen -W "read record" -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi ;;
	baseline)
		case $COMP_CWORD in
		2) COMPREPLY=($(compgen -W "save list show delete" -- "$word")) ;;
		3) COMPREPLY=($(compgen -W "$(_hone_baselines)" -- "$word")) ;;
		*) COMPREPLY=($(compgen -f -- "$word")) ;;
		esac ;;
	check)
		COMPREPLY=($(compgen -f -- "$word") $(compgen -W "$(hone status --json --timeout 1 2>/dev/null |
		    sed -n 's/^ *"type": "\([^"]*\)",*$/\1/p' | sort -u)" -- "$word")) ;;
	levels)
		case $COMP_CWORD in
		2) COMPREPLY=($(compgen -W "$(hone levels --json --timeout 1 2>/dev/null |
		    sed -n 's/^ *"service": "\([^"]*\)",*$/\1/p' | sort -u)" -- "$word")) ;;
		3) COMPREPLY=($(compgen -W "emerg alert crit err warning notice info debug-system debug-program debug-process debug-module debug-unit debug-function debug-line debug off" -- "$word")) ;;
		esac ;;
	start|stop|forest|report|why|history)
		COMPREPLY=($(compgen -W "$(hone status --json --timeout 1 2>/dev/null |
		    sed -n 's/^ *"type": "\([^"]*\)",*$/\1/p' | sort -u)" -- "$word")) ;;
	esac
}
complete -F _hone hone
