# shellcheck shell=bash
# Completion of nccl-init in bash, with the package bash-completion or without it. Verbs, options and values are those
# that --help of the program on the command line names, so that they are that program's.
# SPDX-License-Identifier: Apache-2.0

# The words up to the cursor: bash also splits at = and : (COMP_WORDBREAKS). at[i] is where in COMP_WORDS word i begins.
__nccl_init_words() {
    local line=${COMP_LINE:0:COMP_POINT} rest i
    words=() at=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"}
        line=${rest#"${COMP_WORDS[i]}"}
        ((i < COMP_CWORD)) || COMP_WORDS[i]=$rest
        if [[ $i -gt 0 && $rest == "$before" ]]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            at+=("$i")
        fi
        local before=$line
    done
}

# Options of a verb, one a line: --mode=auto|rdma|tcp|off, --strict, -o=FILE
__nccl_init_options() { # PROGRAM VERB
    "$1" "$2" --help 2>/dev/null | sed -n \
        -e 'h; s/^  \(-[a-z]\), --[a-z-]*\(=[^ ]*\)  *(NCCLINIT_.*/\1\2/p' \
        -e 'g; s/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\)\(=[^ ]*\)\{0,1\}  *(NCCLINIT_.*/\2\3/p'
    echo --help
}

__nccl_init_verbs() { # PROGRAM
    "$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)$/\1/p'
}

# bash puts what is added into the line as it is. A device may be called $(reboot): what the shell would not read as a
# plain word is left out. Names of files are quoted by bash (compopt -o filenames).
__nccl_init_add() { # TEXT CANDIDATE...: those that begin with the text
    local text=$1 one
    shift
    for one; do
        if [[ $one == "$text"* && ${one#"$text"} != *[!a-zA-Z0-9.,:=@%+_-]* ]]; then COMPREPLY+=("$one"); fi
    done
}

__nccl_init_files() { # TEXT
    local one
    compopt -o filenames 2>/dev/null
    while IFS= read -r one; do COMPREPLY+=("$one"); done < <(compgen -f -- "$1")
}

# What an option's value may be: ARG is as in --help, TEXT what there is of it.
__nccl_init_values() { # ARG TEXT
    local arg=${1%,...} text=$2 before='' all=() word i
    if [[ $1 == *,... ]]; then
        text=${2##*,}
        before=${2%"$text"}
    fi
    local IFS='|'
    # shellcheck disable=SC2086 # words
    set -- $arg
    unset IFS
    for word; do
        case $word in
        HCA*) for i in /sys/class/infiniband/*; do if [[ -e $i ]]; then all+=("${i##*/}"); fi; done ;;
        INTERFACE) for i in /sys/class/net/*; do if [[ -e $i/ ]]; then all+=("${i##*/}"); fi; done ;;
        FILE* | DIR | /FILE) __nccl_init_files "$text" ;;
        VARIABLE) while IFS= read -r i; do all+=("$i"); done < <(compgen -e) ;;
        BYTES | SECONDS | CAPABILITY) ;;
        auto | none | pod | unneeded) if [[ -z $before ]]; then all+=("$word"); fi ;;
        *=N) all+=("${word%N}") ;;
        *) if [[ ,$before != *,$word,* ]]; then all+=("$word"); fi ;;
        esac
    done
    __nccl_init_add "$before$text" "${all[@]/#/$before}"
}

__nccl_init_command() { # WORD: where in COMP_WORDS the command begins
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)) && [[ $cur != */* ]]; then
        while IFS= read -r i; do __nccl_init_add "$cur" "$i"; done < <(compgen -c -- "$cur")
    else
        __nccl_init_files "$cur"
    fi
}

_nccl_init() {
    local words at cur program verb=run named='' options option i
    COMPREPLY=()
    __nccl_init_words
    cur=${words[-1]}
    program=$(type -P -- "${words[0]/#\~/$HOME}") || program=nccl-init
    i=1
    if ((${#words[@]} > 2)) && [[ ${words[1]} != -* ]]; then
        verb=${words[1]} named=1 i=2
    fi
    options=$(__nccl_init_options "$program" "$verb")

    # past the options that are complete
    for (( ; i < ${#words[@]} - 1; i++)); do
        case ${words[i]} in
        --)
            if [[ $verb == run ]]; then __nccl_init_command "${at[i + 1]}"; else __nccl_init_files "$cur"; fi
            return
            ;;
        -*)
            option=$(grep -e "^${words[i]}=" <<<"$options") || continue
            if ((i + 2 == ${#words[@]})); then
                __nccl_init_values "${option#*=}" "$cur"
                return
            fi
            ((i++))
            ;;
        *)
            if [[ $verb == run && -n $named ]]; then __nccl_init_command "${at[i]}"; else __nccl_init_files "$cur"; fi
            return
            ;;
        esac
    done

    if [[ $cur == --*=* ]]; then
        option=$(grep -e "^${cur%%=*}=" <<<"$options") || return
        __nccl_init_values "${option#*=}" "${cur#*=}"
        # of --mode=rdma only rdma is replaced, of --hcas=a:1,b only 1,b
        if [[ $COMP_WORDBREAKS == *[=:]* ]]; then
            cur=${cur#*=}
            local keep=${cur%"${cur##*[=:]}"}
            COMPREPLY=("${COMPREPLY[@]#"$keep"}")
        else
            COMPREPLY=("${COMPREPLY[@]/#/${cur%%=*}=}")
        fi
    elif [[ $cur == -* ]]; then
        local all=()
        # shellcheck disable=SC2086 # a word each
        for option in $options; do
            case $option in
            --*=*) all+=("${option%%=*}=") ;;
            *) all+=("${option%%=*}") ;;
            esac
        done
        if [[ $verb == run ]]; then all+=(--); fi
        if ((${#words[@]} == 2)); then all+=(--version -V); fi
        __nccl_init_add "$cur" "${all[@]}"
    elif ((${#words[@]} == 2)); then
        # shellcheck disable=SC2046 # a word each
        __nccl_init_add "$cur" $(__nccl_init_verbs "$program") --
    elif [[ $verb == run && -n $named ]]; then
        __nccl_init_command "${at[-1]}"
    elif [[ $verb == install ]]; then
        __nccl_init_files "$cur"
    elif [[ $verb == completion ]]; then
        __nccl_init_add "$cur" bash zsh fish
    elif [[ $verb == explain ]]; then
        # shellcheck disable=SC2046 # a word each
        __nccl_init_add "$cur" $("$program" explain 2>/dev/null | sed -n 's/^  \([a-z][^ ]*\) .*/\1/p')
    elif [[ $verb == help ]]; then
        # shellcheck disable=SC2046 # a word each
        __nccl_init_add "$cur" $(__nccl_init_verbs "$program")
    fi
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _nccl_init nccl-init
