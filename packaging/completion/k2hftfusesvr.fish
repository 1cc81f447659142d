# SPDX-License-Identifier: MIT
# fish completion of k2hftfusesvr(8). Options and levels come from its own help, so that they can't be out of date.

function __k2hftfusesvr_words
    set -l words (commandline -opc)
    switch $words[-1]
        case -conf --config
            __fish_complete_path (commandline -ct)
        case -d --debug
            $words[1] --help | string match -r '.*messages up to: .*' | string replace -r '.*: ' '' |
                string replace '(default)' '' | string match -ar '[a-z]+'
        case -json --listen
        case '*'
            $words[1] --help | string match -r '^  -.*?(?:  |$)' | string match -ar -- '(?<=\s)--?[a-z]+'
    end
end

complete -c k2hftfusesvr -f -a '(__k2hftfusesvr_words)'
