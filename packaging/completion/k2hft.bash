# SPDX-License-Identifier: MIT
# bash completion of k2hft(1). All words come from its own help, tables and /proc, so that they can't be out of date.

_k2hft_words() {
	local word
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <(compgen -W "$1" -- "$2")
}

_k2hft_files() {
	local file
	compopt -o filenames 2>/dev/null || : # outside of a completion, as in a test, it fails
	while IFS= read -r file; do
		COMPREPLY+=("$file")
	done < <(compgen -f -- "$1")
}

_k2hft_commands() {
	"$1" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

_k2hft_options() {
	"$1" help "$2" 2>/dev/null | sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# The words that an option's help lists, as "received, written or synced (written)".
_k2hft_values() {
	"$1" help "$2" 2>/dev/null | sed -nE "s/^ *(-[a-z], )?$3 [A-Z]+ +([a-z]+(, [a-z]+)* or [a-z]+)( \(.*)?\$/\2/p" |
		sed 's/,/ /g; s/ or / /'
}

_k2hft_mounts() {
	local mount
	while IFS= read -r mount; do
		[[ $mount && $mount == "$1"* ]] && COMPREPLY+=("$mount")
	done < <(printf '%b\n' "$(sed -n 's/^[^ ]* \([^ ]*\) fuse\.k2hftfuse .*/\1/p' /proc/self/mounts)")
}

_k2hft() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} values=
	((COMP_CWORD < 3)) || values=$(_k2hft_values "$program" "$command" "${COMP_WORDS[COMP_CWORD - 1]}")
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_k2hft_words "$(_k2hft_commands "$program") --help --version" "$word"
	elif [[ $command == help ]]; then
		_k2hft_words "$(_k2hft_commands "$program") $("$program" check --table | cut -f 2 | sort -u) $(
			"$program" stat --table | cut -f 2 | sort -u)" "$word"
		((${#COMPREPLY[@]})) || _k2hft_words "$("$program" check --table | cut -f 2 | sort -u)" "${word^^}"
	elif [[ $word == -* ]]; then
		_k2hft_words "$(_k2hft_options "$program" "$command")" "$word"
	elif [[ $values ]]; then
		_k2hft_words "$values" "$word"
	else
		case $command in
		stat | tap | reload | serve) _k2hft_mounts "$word" ;;
		esac
		_k2hft_files "$word"
	fi
}

complete -F _k2hft k2hft
