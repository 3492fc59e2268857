# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of hone for bash: commands, flags, and the request types that honed knows.

_hone() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local flags="--json --socket --timeout --help"

	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "start stop status learn forest tracepoints agents --help --version" -- "$word"))
		return
	fi
	case $before in
	--strategy)
		COMPREPLY=($(compgen -W "flat" -- "$word"))
		return ;;
	--k|--seed|--seconds|--timeout|--socket)
		return ;;
	esac
	case $command in
	start) flags="$flags --strategy --k --seed --wait" ;;
	learn) flags="$flags --seconds --wait" ;;
	esac
	if [ "${word#-}" != "$word" ]; then
		COMPREPLY=($(compgen -W "$flags" -- "$word"))
		return
	fi
	case $command in
	start|stop|forest)
		COMPREPLY=($(compgen -W "$(hone status --json --timeout 1 2>/dev/null |
		    sed -n 's/^ *"type": "\([^"]*\)",*$/\1/p' | sort -u)" -- "$word")) ;;
	esac
}
complete -F _hone hone
