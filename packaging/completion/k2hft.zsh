#compdef k2hft
# SPDX-License-Identifier: MIT
# zsh completion of k2hft(1). All words come from its own help, tables and /proc, so that they can't be out of date.

_k2hft_mounts() {
	print -l ${(g::)${(f)"$(sed -n 's/^[^ ]* \([^ ]*\) fuse\.k2hftfuse .*/\1/p' /proc/self/mounts)"}}
}

# The words that an option's help lists, as "received, written or synced (written)".
_k2hft_values() {
	$1 help $2 2>/dev/null | sed -nE "s/^ *(-[a-z], )?$3 [A-Z]+ +([a-z]+(, [a-z]+)* or [a-z]+)( \(.*)?\$/\2/p" |
		sed 's/,/ /g; s/ or / /'
}

_k2hft() {
	local program=${(Q)words[1]} command=${words[2]-}
	local -a offered values
	if ((CURRENT == 2)); then
		offered=(${(f)"$($program help | sed -nE 's/^  ([a-z]+) +(.*)/\1:\2/p')"})
		_describe command offered
	elif [[ $command == help ]]; then
		offered=(${(f)"$($program help | sed -n 's/^  \([a-z]*\) .*/\1/p'
			$program check --table | cut -f 2
			$program stat --table | cut -f 2)"})
		compadd -M 'm:{a-z}={A-Z}' -- ${(u)offered}
	elif [[ ${words[CURRENT]} == -* ]]; then
		offered=(${(f)"$($program help $command 2>/dev/null |
			sed -nE 's/^ *(-[a-z], )?(--[a-z-]+)( [A-Z:[]+\]?)? +(.*)/\2:\4/p')"})
		_describe option offered
	elif values=(${=$(_k2hft_values $program $command ${words[CURRENT - 1]})}) && (($#values)); then
		compadd -- $values
	else
		[[ $command == (stat|tap|reload|serve) ]] && compadd -- ${(f)"$(_k2hft_mounts)"}
		_files
	fi
}

_k2hft "$@"
