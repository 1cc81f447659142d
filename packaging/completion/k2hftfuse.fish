# SPDX-License-Identifier: MIT
# fish completion of k2hftfuse(8). Options come from its own help, so that they can't be out of date.

function __k2hftfuse_words
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # Options of -o have commas between them, of which the last one is typed.
    set -l before (string match -r '.*,' -- $word)
    if test "$words[-1]" = -o
        if string match -qr '(^|,)conf=[^,]*$' -- "$word"
            for file in (__fish_complete_path (string replace -r '.*=' '' -- $word))
                echo (string replace -r '[^=]*$' '' -- $word)$file
            end
            return
        end
        $words[1] --help | string match -r '^ *-o .*?  ' | string match -ar '(?<=[ ,])[a-z_]{2,}=?' | string replace -r '^' "$before"
    else if string match -q -- '-*' "$word"
        $words[1] --help | string match -r '^  -.*?  ' | string match -ar -- '(?<=\s)(?:-[a-zA-Z]\b|--[a-z]+=)' | sort -u
    else
        __fish_complete_directories "$word" ''
    end
end

complete -c k2hftfuse -f -a '(__k2hftfuse_words)'
