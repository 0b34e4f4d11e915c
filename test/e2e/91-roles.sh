#!/bin/bash
# weft cluster run with a description of roles: what members find, what is awaited, and what is refused.
# also: asan
. "$(dirname "$0")/lib.sh"

run() { weft cluster run "$@"; }

# --- a file and flags ---------------------------------------------------------------------------------

cat >job.json <<'END'
{"name": "training", "env": {"A": "all"},
 "roles": {"chief": {"env": {"B": "chief"}},
           "worker": {"instances": 2, "processes": 2, "restarts": 1, "env": {"A": "mine"}},
           "ps": {"awaited": false, "command": "exec sleep 1000"}},
 "command": ["sh", "-c", "echo $A $B $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK"]}
END
try run --spec job.json
sort "$out" >sorted
cat >expected <<'END'
chief/0 | all chief 0/6 0/1 0
worker/0| mine 1/6 0/2 1
worker/1| mine 2/6 1/2 1
worker/2| mine 3/6 0/2 2
worker/3| mine 4/6 1/2 2
END
same "a description starts its roles with their variables" expected sorted
check "a role that is not awaited is stopped without failure" [ "$code" = 0 ]

try run --spec job.json --dry-run --json
check "--dry-run starts nothing" [ "$code" = 0 ]
cp "$out" complete.json
try run --spec complete.json --dry-run --json
same "what it prints is a description that means the same" complete.json "$out"

try run --spec job.json --role ps=0 --role worker=1 --processes worker=1 --env worker:A=flag --env B=b
sort "$out" >sorted
printf 'chief/0 | all b 0/2 0/1 0\nworker/0| flag b 1/2 0/1 1\n' >expected
same "flags win over the file" expected sorted

try run --role a=1 --role b=1 --command 'b=echo $((6 * 7)) from b' echo from a
sort "$out" >sorted
printf 'a/0| from a\nb/0| 42 from b\n' >expected
same "roles may have programs of their own" expected sorted

# --- Horovod ------------------------------------------------------------------------------------------

# What Horovod's gloo does: three groups, in each of which a process puts its address, reads those of all others, and deletes its own.
cat >gloo.py <<'END'
import os, time, urllib.error, urllib.request
def number(name): return int(os.environ["HOROVOD_" + name])
at = f'http://{os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"]}:{number("GLOO_RENDEZVOUS_PORT")}/'
def ask(method, path, body=None):
    for attempt in range(3):  # as HTTPStore
        try:
            return urllib.request.urlopen(urllib.request.Request(at + path, body, method=method), timeout=10).read()
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:
            time.sleep(0.5)
    raise SystemExit("nobody at " + at)
def meet(scope, rank, size):
    ask("PUT", f"{scope}/{rank}", b"%d\0\n" % number("RANK"))
    others = []
    for other in range(size):
        while (value := ask("GET", f"{scope}/{other}")) == 404:
            time.sleep(0.01)
        others.append(value[:-2].decode())
    return "".join(others)
groups = [meet("global", number("RANK"), number("SIZE")),
          meet("local_" + os.environ["HOROVOD_HOSTNAME"], number("LOCAL_RANK"), number("LOCAL_SIZE")),
          meet(f'cross_{number("LOCAL_RANK")}', number("CROSS_RANK"), number("CROSS_SIZE"))]
print(*groups, os.environ["HOROVOD_GLOO_IFACE"])
END
try run --preset horovod --role chief=1 --processes worker=2 python3 gloo.py
sort "$out" >sorted
cat >expected <<'END'
chief/0     | 01234 0 013 lo
worker/0    | 01234 12 013 lo
worker/1    | 01234 12 24 lo
worker/2    | 01234 34 013 lo
worker/3    | 01234 34 24 lo
END
same "processes of Horovod meet: all, those of an instance, those of the same number" expected sorted
check "and the place where they meet ends with them" [ "$code" = 0 ]
check "without a word" [ ! -s "$err" ]
try run --preset horovod --dry-run --json --cpus 4 --memory 1M --env A=b --restart 2 --pre-script 'exit 9' -- p
check "what is said for all is not meant for it" grep -q '"rendezvous":{"instances":1,"in_cluster":false,"awaited":false,"may_fail":false,"processes":1,"command":\["sh","-c",[^]]*\],"restarts":0}' "$out"
cp "$out" complete.json
try run --spec complete.json --dry-run --json
same "and its description means the same" complete.json "$out"
fails_with "without it" 2 'needs at least one rendezvous' run --preset horovod --role rendezvous=0 true
fails_with "weft rendezvous by itself" 2 'try: weft cluster run --preset horovod' weft rendezvous
try run --on ssh://x,y --role a=1 --dry-run --json true
check "--dry-run keeps the launcher" grep -q '^{"on":"ssh://x,y","roles"' "$out"
run --role a=1 --dry-run sh -c 'echo "$HOME"' >"$out"
check "--dry-run shows words as a shell takes them" grep -qF "sh -c 'echo \"\$HOME\"'" "$out"

# --- the cluster ----------------------------------------------------------------------------------------

cat >show.py <<'END'
import json, os
config = json.loads(os.environ.get("TF_CONFIG", "{}"))
counts = {role: len(members) for role, members in config.get("cluster", {}).items()}
listens = f'{os.environ["WEFT_HOST"]}:{os.environ["WEFT_PORT"]}'
task = config.get("task")
mine = task and config["cluster"].get(task["type"], {})
place = mine and mine[task["index"]] == listens
print(counts, task and task["type"], place, os.environ.get("RANK"), os.environ["TF_YARN_N_TRY"])
END
try run --preset allreduce --role evaluator=1 python3 show.py
sort "$out" >sorted
cat >expected <<'END'
evaluator/0| {'worker': 2} evaluator {} None 0
worker/0   | {'worker': 2} worker True 0 0
worker/1   | {'worker': 2} worker True 1 0
END
same "the evaluator is outside of the cluster, and has no rank" expected sorted

try run --role worker=1 --restart 2 sh -c 'echo try $TF_YARN_N_TRY; test $TF_YARN_N_TRY = 2'
printf 'worker/0| try 0\nworker/0| try 1\nworker/0| try 2\n' >expected
same "a member that is started again knows how often" expected "$out"

try run --preset torchrun --processes 3 sh -c 'echo $PET_NNODES $PET_NPROC_PER_NODE $PET_NODE_RANK $PET_RDZV_CONF ${RANK-none}'
sort "$out" >sorted
printf 'worker/0| 2 3 0 is_host=1 none\nworker/1| 2 3 1 is_host=0 none\n' >expected
same "torchrun finds its options" expected sorted

# --- scripts, files, GPUs -------------------------------------------------------------------------------

try run --role a=1 --pre-script 'X=set; export X' sh -c 'echo $X'
printf 'a/0| set\n' >expected
same "what the script in front exports, the program sees" expected "$out"
try run --role a=1 --pre-script 'false; true' sh -c 'echo program'
check "a script that fails is the failure of its member" [ "$code" = 1 ]
check "... and the program does not run" [ ! -s "$out" ]

mkdir -p made/sub
echo content >made/sub/data.txt
echo '{"roles": {"a": {"files": {"conf/x.txt": "sub/data.txt"}}, "b": 1}, "command": "ls -d conf/x.txt made; cat conf/x.txt"}' >made/job.json
try run --spec made/job.json --keep-going
check "files are where their members run" grep -q '^a/0| content' "$out"
check "... from where the description is, and other roles run here" grep -q '^b/0| made' "$out"
check "their directory is gone afterwards" [ -z "$(ls -d "${TMPDIR:-/tmp}"/weft-work-* 2>/dev/null)" ]

try env CUDA_VISIBLE_DEVICES=4,6,GPU-x "$WEFT" cluster run --role a=1 --role b=1 --role c=1 --gpus a=2 --gpus c=0 \
    sh -c 'echo $CUDA_VISIBLE_DEVICES'
sort "$out" >sorted
printf 'a/0| 4,6\nb/0| 4,6,GPU-x\nc/0| -1\n' >expected
same "an instance gets as many GPUs as it asks for" expected sorted

mkdir tools
printf '#!/bin/sh\necho "a tool of $(basename "$(dirname "$0")")"\n' >tools/mytool
chmod +x tools/mytool
weft pack -q tools -o tools.tar.zst >/dev/null
try run --role a=2 --role b=1 --archive a=tools.tar.zst sh -c 'mytool 2>/dev/null || echo "${WEFT_ENVIRONMENT-none}"'
sort "$out" >sorted
printf 'a/0| a tool of tree\na/1| a tool of tree\nb/0| none\n' >expected
same "the programs of an archive are found first, by its role" expected sorted
echo '{"roles": {"a": 1}, "archive": "tools.tar.zst", "command": ["mytool"]}' >archive.json
try run --spec archive.json
check "... also the program itself" grep -q 'a tool of tree' "$out"
echo no archive >broken.tar.zst
try run --role a=1 --archive broken.tar.zst true
check "a file that is no archive is refused" [ "$code" != 0 -a ! -s "$out" ]
check "... by its name" grep -q 'broken.tar.zst' "$err"

# --- TensorBoard ------------------------------------------------------------------------------------------

mkdir bin
cat >bin/tensorboard <<'END'
#!/bin/sh
echo "$@" >tensorboard.words
echo "TensorBoard 2.21.0 at http://$4:$6/ (Press CTRL+C to quit)" >&2
exec sleep 1000
END
chmod +x bin/tensorboard
try env PATH="$PWD/bin:$PATH" "$WEFT" cluster run --role a=1 --tensorboard logs sh -c 'while ! test -s tensorboard.words; do sleep 0.02; done; sleep 0.2'
check "TensorBoard beside a run does not keep it" [ "$code" = 0 ]
check "its address is reported" grep -q '^weft: TensorBoard: http://127.0.0.1:[0-9]*/$' "$err"
check "it shows the directory" grep -q '^--logdir logs --host 127.0.0.1 --port' tensorboard.words
mkdir empty
ln -s "$(command -v sh)" "$(command -v sleep)" empty
try env PATH="$PWD/empty" "$WEFT" cluster run --role a=1 --tensorboard logs sleep 0.3
check "without TensorBoard the run continues" [ "$code" = 0 ]
check "... and it is said what to install" grep -q 'pip install tensorboard' "$err"

# --- in the background --------------------------------------------------------------------------------------

echo '{"name": "training", "roles": {"chief": 1, "ps": {"awaited": false}}, "command": "echo $WEFT_ROLE; exec sleep 1000"}' >up.json
# It leaves processes behind on purpose, so no corral looks after them.
trap '"$WEFT" cluster down -q training 2>/dev/null; cleanup' EXIT
try "$WEFT" cluster up -q --spec up.json
check "a description can be put up" [ "$code" = 0 ]
try "$WEFT" cluster status training
check "... under its own name" [ "$(awk '{ print $2, $3 }' "$out" | tail -n 2 | sort | tr '\n' ' ')" = "chief/0 running ps/0 running " ]
try "$WEFT" cluster down -q training
check "... and taken down" [ "$code" = 0 ]

# --- refused ------------------------------------------------------------------------------------------------

refused() {
    local sentence=$1 words=$2
    shift 2
    try run "$@"
    check "$sentence" [ "$code" = 2 ]
    check "... and said so" grep -q -- "$words" "$err"
}
refused "two descriptions are too many" 'described twice: by c.json and by --spec' --spec job.json --cluster c.json true
refused "a preset and a cluster file" 'described twice: by c.json and by --preset' --preset ps --cluster c.json true
refused "a role that is not there" 'did you mean worker?' --role worker=1 --cpus wroker=1 true
refused "more memory than there is" 'of memory, and this machine has' --role a=3 --memory 900T true
refused "more cpus than there are" 'asks for 60000 cpus' --role a=1 --cpus 60000 true
refused "a label where there is none" 'no label to match' --role a=1 --constraint gpu true
refused "a variable that weft sets" 'TF_CONFIG is set by weft' --role a=1 --env TF_CONFIG=x true
refused "files and another directory" 'leave --cd out' --role a=1 --file job.json --cd / true
try run --role a=1 --file nosuch true
check "a file that is not there" [ "$code" = 4 ]
try run --spec nosuch.json true
check "a description that is not there" [ "$code" = 4 ]

nothing_left "no process and no file is left"
finish
