# Completion of weft for bash.
# shellcheck shell=bash
#
# weft VERB; weft run [options] JOB [job options] INPUT...; with --map or --reduce there is no JOB;
# weft cluster run|up [options] PROGRAM [ARGUMENT...]; weft cluster status|down [NAME];
# weft cluster config [options] CLUSTER.json.

_weft_run() {
    local current=$1 previous=$2
    local jobs="wordcount count sort grep index"
    local options="--format --delimiter --null --lines-per-task --map --combine --reduce --shell --keep
        --separator --key-fields --sort-fields --partition-fields --output --force --reducers --top
        --output-format --compress --slots --memory --tmp --max-attempts --timeout --task-timeout
        --record-timeout --skip-bad --bad-records --dry-run --quiet --verbose --json --no-color --help"
    case $previous in
    --format)
        mapfile -t COMPREPLY < <(
            compgen -W "lines chunks files csv csv:header jsonl tfrecord fixed:" -- "$current"
        )
        return
        ;;
    --output-format)
        mapfile -t COMPREPLY < <(compgen -W "text csv jsonl tfrecord" -- "$current")
        return
        ;;
    --compress)
        mapfile -t COMPREPLY < <(compgen -W "zstd gzip lz4" -- "$current")
        return
        ;;
    --map | --combine | --reduce)
        mapfile -t COMPREPLY < <(
            compgen -c -- "$current"
            compgen -f -- "$current"
        )
        return
        ;;
    --tmp)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    -o | --output | --bad-records)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --memory)
        mapfile -t COMPREPLY < <(compgen -W "256M 512M 1G 2G 4G" -- "$current")
        return
        ;;
    --timeout | --task-timeout | --record-timeout)
        mapfile -t COMPREPLY < <(compgen -W "30s 1m 10m 1h" -- "$current")
        return
        ;;
    --reducers | --top | --slots | --max-attempts | --skip-bad | --delimiter | --separator | \
        --key-fields | --sort-fields | --partition-fields | --lines-per-task) return ;;
    esac

    # The first word that is neither an option nor the value of one is the job.
    local job='' i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --map | --combine | --reduce)
            job=--map
            break
            ;;
        -o | --output | --reducers | --top | -n | --slots | --memory | --tmp | --timeout | \
            --task-timeout | --record-timeout | --max-attempts | --skip-bad | --bad-records | \
            --format | --delimiter | --output-format | --compress | --separator | --key-fields | \
            --sort-fields | --partition-fields | --lines-per-task) ((i++)) ;;
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

_weft_streaming() {
    local current=$1
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "-input -output -mapper -combiner -reducer -numReduceTasks -files -file -cmdenv -D
                -partitioner -inputformat -lazyOutput -help" -- "$current"
        )
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

# Behind the program stands what is the program's.
_weft_cluster_run() {
    local current=$1 previous=$2
    local options="--role --cluster --restart --journal --tmp --timeout --grace --keep-going --until --cd
        --quiet --verbose --help"
    case ${COMP_WORDS[2]} in
    run) options="$options --stdin --no-prefix --no-color --json" ;;
    up) options="$options --name" ;;
    esac
    case $previous in
    --cluster)
        mapfile -t COMPREPLY < <(
            compgen -f -X '!*.json' -- "$current"
            compgen -d -- "$current"
        )
        ;;
    --journal | --tmp | --cd) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --role | --restart | --timeout | --grace | --until | --stdin | --name) ;;
    *)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        else
            mapfile -t COMPREPLY < <(
                compgen -c -- "$current"
                compgen -f -- "$current"
            )
        fi
        ;;
    esac
}

# The names of clusters in the background, or options.
_weft_cluster_status() {
    local current=$1 options="--quiet --help"
    [[ ${COMP_WORDS[2]} == status ]] && options="--json --help"
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        mapfile -t COMPREPLY < <(
            cd "${XDG_STATE_HOME:-$HOME/.local/state}/weft/clusters" 2>/dev/null && compgen -d -- "$current"
        )
    fi
}

_weft_cluster() {
    local current=$1 previous=$2
    if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W "run up status down config" -- "$current")
        return
    fi
    case ${COMP_WORDS[2]} in
    run | up)
        _weft_cluster_run "$current" "$previous"
        return
        ;;
    status | down)
        _weft_cluster_status "$current"
        return
        ;;
    esac
    case $previous in
    --format) mapfile -t COMPREPLY < <(compgen -W "sh json env" -- "$current") ;;
    -d | --directory) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --role) ;;
    *)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(
                compgen -W "--directory --format --role --force --gpu --quiet --help" -- "$current"
            )
        else
            mapfile -t COMPREPLY < <(
                compgen -f -X '!*.json' -- "$current"
                compgen -d -- "$current"
            )
        fi
        ;;
    esac
}

_weft() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "run streaming replay cluster help version" -- "$current")
    elif [[ ${COMP_WORDS[1]} == run ]]; then
        _weft_run "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == streaming ]]; then
        _weft_streaming "$current"
    elif [[ ${COMP_WORDS[1]} == cluster ]]; then
        _weft_cluster "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == replay ]]; then
        mapfile -t COMPREPLY < <(
            cd "${XDG_CACHE_HOME:-$HOME/.cache}/weft/replay" 2>/dev/null &&
                compgen -f -X '!*.json' -- "$current" | sed 's/\.json$//'
        )
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "run streaming replay cluster version wordcount count sort grep index" -- "$current"
        )
    fi
}

complete -o filenames -F _weft weft
