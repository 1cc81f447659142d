# SPDX-License-Identifier: MIT
# fish completion of k2hft(1). All words come from its own help, tables and /proc, so that they can't be out of date.

function __k2hft_words
    set -l words (commandline -opc)
    set -l program $words[1]
    set -l command $words[2]
    set -l word (commandline -ct)
    if test (count $words) = 1
        $program help | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
    else if test "$command" = help
        $program help | string replace -rf '^  ([a-z]+) .*' '$1'
        $program check --table | cut -f 2 | sort -u
        $program stat --table | cut -f 2 | sort -u
    else if string match -q -- '-*' "$word"
        $program help $command 2>/dev/null |
            string replace -rf '^ *(?:-[a-z], )?(--[a-z-]+)(?: [A-Z:\[]+\]?)? +(.*)' '$1\t$2'
    else
        __k2hft_targets $program $command $words[-1]
    end
end

# The words that an option's help lists, as "received, written or synced (written)"; else mounts and files.
function __k2hft_targets
    set -l values ($argv[1] help $argv[2] 2>/dev/null | string replace -rf \
        '^ *(?:-[a-z], )?'(string escape --style=regex -- $argv[3])' [A-Z]+ +([a-z]+(?:, [a-z]+)* or [a-z]+)(?: \(.*)?$' '$1')
    if set -q values[1]
        string match -ar '[a-z]+' (string replace ' or ' ' ' $values[1])
        return
    end
    if contains $argv[2] stat tap reload serve
        string replace -rf '^\S+ (\S+) fuse\.k2hftfuse .*' '$1' </proc/self/mounts | string unescape
    end
    __fish_complete_path (commandline -ct)
end

complete -c k2hft -f -a '(__k2hft_words)'
