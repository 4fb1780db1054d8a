# Completion of nccl-init in fish. Verbs, options and values are those that --help of the program on the command line
# names, so that they are that program's.
# SPDX-License-Identifier: Apache-2.0

# Options of a verb: "--mode=auto|rdma<tab>help", and the same with -o.
function __nccl_init_options --argument-names program verb
    set -l names
    set -l help
    for line in ($program $verb --help 2>/dev/null) '  --end  (NCCLINIT_)'
        if set -l found (string match -r '^  (?:(-[a-z]), )?(--[a-z-]+)(=\S+)?  \(NCCLINIT_' -- $line)
            for name in $names
                printf '%s\t%s\n' $name "$help"
            end
            # what did not match at the end is not in the list
            set names
            string match -qr '^  (?<letter>-[a-z])?(?:, )?(?<long>--[a-z-]+)(?<arg>=\S+)?  ' -- $line
            test -z "$letter"; or set -a names "$letter$arg"
            set -a names "$long$arg"
            set help
        else if string match -qr '^      (?!this text$)' -- $line
            set help (string join ' ' -- $help (string trim -- $line))
        end
    end
    printf '%s\t%s\n' --help 'what there is to say'
end

function __nccl_init_verbs --argument-names program
    set -l name
    for line in ($program --help 2>/dev/null)
        if string match -qr '^  (?<word>[a-z]+)$' -- $line
            set name $word
        else if test -n "$name"
            printf '%s\t%s\n' $name (string trim -- $line)
            set name
        end
    end
end

# What an option's value may be: ARG is as in --help, TEXT what there is of it; BEFORE stands before each candidate.
function __nccl_init_values --argument-names arg text before
    set -l items
    if string match -q '*,...' -- $arg
        set arg (string replace ',...' '' -- $arg)
        set items (string split , -- $text)[1..-2]
        for item in $items
            set before $before$item,
        end
        set text (string split , -- $text)[-1]
    end
    set -l all
    for word in (string split '|' -- $arg)
        switch $word
            case 'HCA*'
                set -a all (path basename /sys/class/infiniband/*)
            case INTERFACE
                set -a all (path basename /sys/class/net/*/)
            case 'FILE*' DIR /FILE
                set -a all (__fish_complete_path $text | string replace -r '\t.*' '')
            case VARIABLE
                set -a all (set -nx)
            case BYTES SECONDS CAPABILITY
            case auto none pod unneeded
                test -n "$items"; or set -a all $word
            case '*=N'
                set -a all (string replace -r 'N$' '' -- $word)
            case '*'
                contains -- $word $items; or set -a all $word
        end
    end
    for word in $all
        echo $before$word
    end
end

function __nccl_init_complete
    set -l words (commandline -opc)
    set -l text (commandline -ct)
    set -l program $words[1]
    type -q $program; or set program nccl-init
    set -l verb run
    set -l named
    set -l i 2
    if set -q words[2]; and not string match -q -- '-*' $words[2]
        set verb $words[2]
        set named 1
        set i 3
    end
    set -l options (__nccl_init_options $program $verb)

    # past the options that are complete
    while set -q words[$i]
        if test "$words[$i]" = --
            set i (math $i + 1)
            test $verb = run; and __nccl_init_command $text $words[$i..]; or __fish_complete_path $text
            return
        else if string match -q -- '-*' $words[$i]
            if set -l arg (string match -r -- '^'$words[$i]'=(\S+)' $options)[2]
                if test $i = (count $words)
                    __nccl_init_values $arg $text ''
                    return
                end
                set i (math $i + 1)
            end
        else
            test $verb = run; and __nccl_init_command $text $words[$i..]; or __fish_complete_path $text
            return
        end
        set i (math $i + 1)
    end

    if string match -qr -- '^(?<name>--[a-z-]+)=(?<value>.*)' $text
        if set -l arg (string match -r -- '^'$name'=(\S+)' $options)[2]
            __nccl_init_values $arg $value $name=
        end
    else if string match -q -- '-*' $text
        for option in $options
            string replace -r '=\S+' = -- $option | string replace -r '^(-[a-z])=' '$1'
        end
        test $verb != run; or printf '%s\t%s\n' -- 'the command follows'
        test (count $words) != 1; or printf '%s\t%s\n' --version versions -V versions
    else if test (count $words) = 1
        __nccl_init_verbs $program
        printf '%s\t%s\n' -- 'the command follows'
    else if test $verb = run -a -n "$named"
        __nccl_init_command $text
    else if test $verb = install
        __fish_complete_path $text
    else if test $verb = completion
        string join \n bash zsh fish
    else if test $verb = explain
        $program explain 2>/dev/null | string replace -rf '^  ([a-z]\S*) +\w+ *(.*)$' '$1\t$2'
    else if test $verb = help
        __nccl_init_verbs $program
    end
end

# The command's own completion: its words so far are ARGV.
function __nccl_init_command --argument-names text
    complete --do-complete (string join ' ' -- (string escape -- $argv[2..]) $text | string collect)
end

complete --command nccl-init --no-files --arguments '(__nccl_init_complete)'
