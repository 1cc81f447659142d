#compdef k2hftfuse
# SPDX-License-Identifier: MIT
# zsh completion of k2hftfuse(8). Options come from its own help, so that they can't be out of date.

_k2hftfuse() {
	local program=${(Q)words[1]} word=${words[CURRENT]}
	local -a offered
	if [[ ${words[CURRENT - 1]} == -o && $word == (|*,)(conf=*) ]]; then
		compset -P '*conf='
		_files
	elif [[ ${words[CURRENT - 1]} == -o ]]; then
		offered=(${=$($program --help | sed -n 's/^ *-o \([a-z_]*=\{0,1\}\)[A-Z]*\(, \([a-z_]*=\)[A-Z]*\)\{0,1\} .*/\1 \3/p')})
		compset -P '*,'
		compadd -S '' -- $offered
	elif [[ $word == -* ]]; then
		offered=(${=$($program --help | sed -n 's/^  \(-[a-zA-Z]\|--[a-z]*=\)[A-Z]*\(, \(-[a-zA-Z]\)\)\{0,1\} .*/\1 \3/p')})
		compadd -- ${(u)offered}
	else
		_files -/
	fi
}

_k2hftfuse "$@"
