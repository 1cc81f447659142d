# SPDX-License-Identifier: MIT
# bash completion of k2hftfusesvr(8). Options come from its own help, so that they can't be out of date.

_k2hftfusesvr_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_k2hftfusesvr_options() {
	"$1" --help 2>/dev/null | sed -n 's/^  \(-[^ ,]*\)\( [A-Z]*\)\{0,1\}\(, \(-[^ ]*\)\)\{0,1\} .*/\1 \4/p'
}

_k2hftfusesvr_levels() {
	"$1" --help 2>/dev/null | sed -n '/messages up to/{s/.*: //;s/[,;]//g;s/(default) //;p;}'
}

_k2hftfusesvr() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	# To bash "=" is a word of its own, so what is before it is the word before.
	[[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $word == = ]] && word=
	case $option in
	-conf | --conf | --config)
		compopt -o filenames 2>/dev/null || : # outside of a completion, as in a test, it fails
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	-d | --debug)
		_k2hftfusesvr_words "$(_k2hftfusesvr_levels "$program")" "$word"
		;;
	-json | --listen) ;;
	*)
		_k2hftfusesvr_words "$(_k2hftfusesvr_options "$program")" "$word"
		;;
	esac
}

complete -F _k2hftfusesvr k2hftfusesvr
