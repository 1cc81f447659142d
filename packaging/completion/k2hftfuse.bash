# SPDX-License-Identifier: MIT
# bash completion of k2hftfuse(8). Options come from its own help, so that they can't be out of date.

_k2hftfuse_help() { # what the program's own help says, as sed finds it
	"$1" --help 2>/dev/null | sed -n "$2" | tr ' ' '\n'
}

_k2hftfuse_options() {
	_k2hftfuse_help "$1" 's/^  \(-[a-zA-Z]\|--[a-z]*=\)[A-Z]*\(, \(-[a-zA-Z]\)\)\{0,1\} .*/\1 \3/p' | sort -u
}

# Words that -o takes: the names after "-o", those with a value with their "=".
_k2hftfuse_names() {
	_k2hftfuse_help "$1" 's/^ *-o \([a-z_]*=\{0,1\}\)[A-Z]*\(, \([a-z_]*=\)[A-Z]*\)\{0,1\} .*/\1 \3/p'
}

# A word after -o: options with commas between them, of which the last one is typed.
_k2hftfuse_mount_option() {
	local before=
	[[ $2 == *,* ]] && before=${2%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(_k2hftfuse_names "$1")" -- "${2##*,}")
	# Its value, or a comma and the next one, is typed right behind.
	compopt -o nospace 2>/dev/null || : # outside of a completion, as in a test, it fails
}

_k2hftfuse_value() {
	case $2 in
	conf)
		compopt -o filenames 2>/dev/null || :
		mapfile -t COMPREPLY < <(compgen -f -- "$3")
		;;
	dbglevel)
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_k2hftfuse_help "$1" '/-o dbglevel/{s/.*LEVEL *//;s/,//g;s/(default) //;p;}')" -- "$3")
		;;
	esac
}

_k2hftfuse() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} name=
	COMPREPLY=()
	# To bash "=" is a word of its own, so what is before it is the word before.
	if [[ $word == = ]]; then
		name=$before word=
	elif [[ $before == = ]]; then
		name=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $name && $word != *,* ]]; then
		_k2hftfuse_value "$program" "${name##*,}" "$word"
	elif [[ $name || $before == -o ]]; then
		_k2hftfuse_mount_option "$program" "$word"
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_k2hftfuse_options "$program")" -- "$word")
	else
		compopt -o filenames 2>/dev/null || :
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
	fi
}

complete -F _k2hftfuse k2hftfuse
