# Completion of weft for bash.
# shellcheck shell=bash
#
# weft VERB; weft run [options] JOB [job options] INPUT...; with --map or --reduce there is no JOB;
# weft server, as weft run; weft client [options] HOST[:PORT][#TOKEN];
# weft cluster run|up [options] PROGRAM [ARGUMENT...]; weft cluster status|logs|wait|down [NAME];
# weft cluster config [options] CLUSTER.json; weft queue VERB [options] PATH, and its kin.

_weft_run() {
    local current=$1 previous=$2
    local jobs="wordcount count sort grep index"
    local options="--format --delimiter --null --lines-per-task --map --combine --reduce --shell --keep
        --per-file --file --separator --key-fields --sort-fields --partition-fields --output --force --reducers --top
        --final --output-format --compress --slots --workers --on --ssh --clients --client-memory --client-cpus --set --archive --listen --port-file --token-file --shared --memory --tmp
        --max-attempts --timeout --task-timeout
        --record-timeout --skip-missing --skip-bad --bad-records --dry-run --quiet --verbose --json
        --no-color --help"
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
    --on) mapfile -t COMPREPLY < <(compgen -W "local: ssh:// slurm:" -- "$current") && return ;;
    --listen)
        mapfile -t COMPREPLY < <(compgen -W "localhost:0 localhost:18125 :18125" -- "$current")
        return
        ;;
    -o | --output | --bad-records | --file | --port-file | --token-file)
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
    --reducers | --top | --slots | --workers | --max-attempts | --skip-bad | --delimiter | --separator | \
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
        -o | --output | --reducers | --top | -n | --slots | --workers | --memory | --tmp | --timeout | \
            --task-timeout | --record-timeout | --max-attempts | --skip-bad | --bad-records | \
            --on | --ssh | --clients | --client-memory | --client-cpus | --set | --archive | --listen | --port-file | --token-file | --file | --format | --delimiter | --output-format | --compress | --separator | --key-fields | \
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
        sort) letters="-k -t -n -g -h -V -M -r -u -s -f -b -d -i -m" ;;
        grep) letters="-e -c -i -v -o -F -w -x -n -H -h -l -L -m -q" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options $letters" -- "$current")
    elif [[ -z $job ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$jobs" -- "$current"
            compgen -f -X '!*.c' -- "$current"
            compgen -f -X '!*.cpp' -- "$current"
            compgen -f -X '!*.cc' -- "$current"
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

# The words after the program are the program's own.
_weft_cluster_run() {
    local current=$1 previous=$2
    local options="--role --on --ssh --spec --preset --tensorboard --cluster --processes --memory --cpus --gpus --constraint --resource --set
        --command --env --file --archive --pre-script --restart --journal --tmp --timeout --grace --start-deadline --keep-going --until --cd
        --quiet --verbose --help"
    case ${COMP_WORDS[2]} in
    run) options="$options --stdin --dry-run --no-prefix --no-color --json" ;;
    up) options="$options --name" ;;
    esac
    case $previous in
    --cluster | --spec)
        mapfile -t COMPREPLY < <(
            compgen -f -X '!*.json' -- "$current"
            compgen -d -- "$current"
        )
        ;;
    --preset) mapfile -t COMPREPLY < <(compgen -W "single ps allreduce torchrun horovod" -- "$current") ;;
    --file | --archive) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    --on) mapfile -t COMPREPLY < <(compgen -W "local: ssh:// slurm: yarn:" -- "$current") ;;
    --ssh | --set) ;;
    --journal | --tmp | --cd | --tensorboard) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --role | --processes | --memory | --cpus | --gpus | --constraint | --resource | --command | --env | --pre-script | --restart | --timeout | --grace | --start-deadline | --until | --stdin | --name) ;;
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
    local current=$1 options="--on --quiet --help"
    [[ ${COMP_WORDS[2]} == status ]] && options="--json --on --help"
    [[ ${COMP_WORDS[2]} == wait ]] && options="--on --timeout --quiet --help"
    [[ ${COMP_WORDS[2]} == logs ]] && options="--follow --lines --on --help"
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
        mapfile -t COMPREPLY < <(compgen -W "run up status logs wait down config" -- "$current")
        return
    fi
    case ${COMP_WORDS[2]} in
    run | up)
        _weft_cluster_run "$current" "$previous"
        return
        ;;
    status | logs | wait | down)
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

_weft_host() {
    local current=$1 previous=$2
    case $previous in
    --listen) mapfile -t COMPREPLY < <(compgen -W "localhost:0 localhost:18125 :18125" -- "$current") ;;
    --journal) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --port-file | --token-file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    *)
        mapfile -t COMPREPLY < <(
            compgen -W "--listen --journal --port-file --token-file --repair --yes --json --quiet --help" -- "$current"
        )
        ;;
    esac
}

_weft_client() {
    local current=$1 previous=$2
    case $previous in
    --memory) mapfile -t COMPREPLY < <(compgen -W "256M 512M 1G 2G 4G" -- "$current") ;;
    --tmp) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --token-file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    --grace) mapfile -t COMPREPLY < <(compgen -W "0 30s 2m 10m" -- "$current") ;;
    -n | --slots) ;;
    *)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(
                compgen -W "--slots --memory --tmp --stay --grace --token-file --json --quiet --help" -- "$current"
            )
        else
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$current")
        fi
        ;;
    esac
}

# The options of a verb of a group; all have those that find the host.
_weft_verb_options() {
    echo "--at --token-file --wait --help"
    case "$1 $2" in
    "queue push") echo "--null --key --key-lines --capacity --deliveries --timeout" ;;
    "queue take") echo "--count --all --until-empty --null --timeout --parallel --stdin --results --backoff --deliveries --item-timeout --quiet" ;;
    "queue retry") echo "--count" ;;
    "queue peek") echo "--count --null --json" ;;
    "queue size" | "queue ls" | "kv get" | "kv ls") echo "--json" ;;
    "queue close") echo "--cancel" ;;
    "var set") echo "--type --once" ;;
    "var add") echo "--type --key" ;;
    "var min" | "var max") echo "--type" ;;
    "var watch") echo "--type --count --timeout" ;;
    "kv put") echo "--if-version --if-absent --json" ;;
    "kv rm") echo "--all --if-version" ;;
    "kv watch") echo "--count --timeout --json" ;;
    "barrier wait") echo "--count --timeout" ;;
    esac
}

_weft_group() {
    local current=$1 previous=$2 group=${COMP_WORDS[1]}
    if ((COMP_CWORD == 2)); then
        local verbs=
        case $group in
        queue) verbs="push take peek retry size close rm ls" ;;
        var) verbs="get set add min max swap watch rm ls" ;;
        kv) verbs="get put rm ls watch" ;;
        barrier) verbs="wait rm ls" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
        return
    fi
    case $previous in
    --at) mapfile -t COMPREPLY < <(compgen -A hostname -- "$current") ;;
    --token-file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    --type) mapfile -t COMPREPLY < <(compgen -W "int64 int32 double bool bytes" -- "$current") ;;
    --wait | --timeout | --backoff | --item-timeout) mapfile -t COMPREPLY < <(compgen -W "5s 30s 1m 10m" -- "$current") ;;
    --) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
    *)
        [[ $current == -* ]] && mapfile -t COMPREPLY < <(
            compgen -W "$(_weft_verb_options "$group" "${COMP_WORDS[2]}")" -- "$current"
        )
        ;;
    esac
}

_weft_tasks() {
    if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W "worker call dead" -- "$1")
    elif [[ $1 == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--concurrency --timeout --retry --broker --quiet --help" -- "$1")
    else
        mapfile -t COMPREPLY < <(compgen -f -X '!*.py' -- "$1" | sed 's/\.py$//')
    fi
}

_weft() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "run server client streaming replay cluster host queue var kv barrier tasks pack unpack ls cat get put rm doctor help version" -- "$current")
    elif [[ ${COMP_WORDS[1]} == run || ${COMP_WORDS[1]} == server ]]; then
        _weft_run "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == client ]]; then
        _weft_client "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == streaming ]]; then
        _weft_streaming "$current"
    elif [[ ${COMP_WORDS[1]} == cluster ]]; then
        _weft_cluster "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == host ]]; then
        _weft_host "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} =~ ^(queue|var|kv|barrier)$ ]]; then
        _weft_group "$current" "$previous"
    elif [[ ${COMP_WORDS[1]} == tasks ]]; then
        _weft_tasks "$current"
    elif [[ ${COMP_WORDS[1]} == doctor ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--on --ssh --timeout --json --quiet --help" -- "$current")
    elif [[ ${COMP_WORDS[1]} == get || ${COMP_WORDS[1]} == put ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ ${COMP_WORDS[1]} == pack && $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-o --output --exclude --all --level --json -q --quiet -h --help" -- "$current")
    elif [[ ${COMP_WORDS[1]} == unpack && $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-C --into --hash --have -h --help" -- "$current")
    elif [[ ${COMP_WORDS[1]} == pack || ${COMP_WORDS[1]} == unpack ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ ${COMP_WORDS[1]} == replay ]]; then
        mapfile -t COMPREPLY < <(
            cd "${XDG_CACHE_HOME:-$HOME/.cache}/weft/replay" 2>/dev/null &&
                compgen -f -X '!*.json' -- "$current" | sed 's/\.json$//'
        )
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "run server client streaming replay cluster host queue var kv barrier tasks pack unpack ls cat get put rm doctor version wordcount count sort grep index" -- "$current"
        )
    fi
}

complete -o filenames -F _weft weft
