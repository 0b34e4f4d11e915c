# Completion of weft for bash.
# shellcheck shell=bash
#
# weft VERB; weft run [options] JOB [job options] INPUT...

_weft_run() {
    local current=$1 previous=$2
    local jobs="wordcount count sort grep index"
    local options="--output --force --reducers --top --slots --memory --tmp --timeout --task-timeout
        --max-attempts --quiet --verbose --json --no-color --help"
    case $previous in
    --tmp)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    -o | --output)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --memory)
        mapfile -t COMPREPLY < <(compgen -W "256M 512M 1G 2G 4G" -- "$current")
        return
        ;;
    --timeout | --task-timeout)
        mapfile -t COMPREPLY < <(compgen -W "30s 1m 10m 1h" -- "$current")
        return
        ;;
    --reducers | --top | --slots | --max-attempts) return ;;
    esac

    # The first word that is neither an option nor the value of one is the job.
    local job='' i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        -o | --output | --reducers | --top | -n | --slots | --memory | --tmp | --timeout | \
            --task-timeout | --max-attempts) ((i++)) ;;
        -*) ;;
        *)
            job=$word
            break
            ;;
        esac
    done

    if [[ $current == -* ]]; then
        local letters=
        case $job in
        wordcount) letters="-i" ;;
        sort) letters="-k -t -n -r -u" ;;
        grep) letters="-c -i -v -o -F" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options $letters" -- "$current")
    elif [[ -z $job ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$jobs" -- "$current"
            compgen -f -X '!*.c' -- "$current"
            compgen -d -- "$current"
        )
    elif [[ $current == @* ]]; then
        mapfile -t COMPREPLY < <(compgen -P @ -f -- "${current#@}")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

_weft() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "run help version" -- "$current")
    elif [[ ${COMP_WORDS[1]} == run ]]; then
        _weft_run "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "run version" -- "$current")
    fi
}

complete -o filenames -F _weft weft
