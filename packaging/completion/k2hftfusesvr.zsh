#compdef k2hftfusesvr
# SPDX-License-Identifier: MIT
# zsh completion of k2hftfusesvr(8). Options and levels come from its own help, so that they can't be out of date.

_k2hftfusesvr() {
	local program=${(Q)words[1]}
	local -a offered
	case ${words[CURRENT - 1]} in
	-conf | --config) _files ;;
	-d | --debug)
		offered=(${=$($program --help | sed -n '/messages up to/{s/.*: //;s/[,;]//g;s/(default) //;p;}')})
		compadd -- $offered
		;;
	-json | --listen) ;;
	*)
		offered=(${=$($program --help | sed -n 's/^  \(-[^ ,]*\)\( [A-Z]*\)\{0,1\}\(, \(-[^ ]*\)\)\{0,1\} .*/\1 \4/p')})
		compadd -- $offered
		;;
	esac
}

_k2hftfusesvr "$@"
