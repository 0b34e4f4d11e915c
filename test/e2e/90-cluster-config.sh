#!/bin/bash
# weft cluster config: a file for every member, as shells, Python and docker read them.
# also: asan
. "$(dirname "$0")/lib.sh"

cat >cluster.json <<'JSON'
{"files": ["localhost:2222"],
 "reduce": ["localhost:2223"],
 "map": ["localhost:2224", "localhost:2225"]}
JSON
config() { weft cluster config "$@"; }

# --- the same bytes as the script that people write -------------------------------------------------

cat >make_configs.py <<'PYTHON'
import json, sys
cluster = json.load(open("cluster.json"))
for role, addresses in cluster.items():
    for index in range(len(addresses)):
        text = json.dumps({"cluster": cluster, "task": {"type": role, "index": index}}, indent=2)
        with open(f"{sys.argv[1]}/config_{role}_{index}.sh", "w") as file:
            file.write(f"export TF_CONFIG='{text}'\nexport CUDA_VISIBLE_DEVICES=-1\n")
PYTHON
mkdir python && python3 make_configs.py python
printf '%s\t%s\t%s\twritten\n' ours/config_files_0.sh /files/0 localhost:2222 \
    ours/config_reduce_0.sh /reduce/0 localhost:2223 ours/config_map_0.sh /map/0 localhost:2224 \
    ours/config_map_1.sh /map/1 localhost:2225 >expected
gives "it prints what it wrote" expected weft cluster config cluster.json -d ours
check "a script of Python makes the same bytes" diff -r python ours
config -q -d ours/ - <cluster.json
check "standard input is as good, and nothing changes" diff -r python ours
config -q -d roles --role files=1 --role reduce=1 --role map=2
check "so are roles as options" diff -r python roles

# --- what a program sees ----------------------------------------------------------------------------

# sees SHELL FILE: what Python reads from TF_CONFIG in that shell, as sorted compact JSON.
sees() {
    env -u TF_CONFIG "$1" -c ". ./$2 && exec python3 -c '
import json, os
print(json.dumps(json.loads(os.environ[\"TF_CONFIG\"]), sort_keys=True), os.environ.get(\"CUDA_VISIBLE_DEVICES\"))'"
}
echo '{"cluster": {"files": ["localhost:2222"], "map": ["localhost:2224", "localhost:2225"], "reduce": ["localhost:2223"]}, "task": {"index": 1, "type": "map"}} -1' >expected
shells="bash dash"
command -v dash >/dev/null || shells="bash sh"
for shell in $shells; do
    gives "$shell sources it" expected sees "$shell" ours/config_map_1.sh
done

# Quotes, blanks, dollars and backslashes in what else TF_CONFIG says.
cat >odd.json <<'JSON'
{"cluster": {"worker": {"3": "[::1]", "7": "Host-2.example.com:80"}, "ps": []},
 "model_dir": "it's '' \"here\" $HOME `id` \\n ! \u00e9 \t é", "rpc_layer": "grpc",
 "odd 'key'": [1, 2.5, null, true, {"a": "b c"}]}
JSON
python3 - <<'PYTHON' >expected
import json
odd = json.load(open("odd.json"))
odd["cluster"]["worker"] = {"3": "[::1]:2222", "7": "Host-2.example.com:80"}
odd["task"] = {"type": "worker", "index": 7}
print(json.dumps(odd, sort_keys=True), -1)
PYTHON
check "odd texts" config -q odd.json
for shell in $shells; do
    gives "$shell sources odd texts" expected sees "$shell" config_worker_7.sh
done
check "only members get a file" [ "$(echo config_*)" = "config_worker_3.sh config_worker_7.sh" ]

config -q --format env odd.json --gpu
sed 's/ -1$/ None/' expected >expected.gpu
try env "$(cat config_worker_7.env)" python3 -c '
import json, os
print(json.dumps(json.loads(os.environ["TF_CONFIG"]), sort_keys=True), os.environ.get("CUDA_VISIBLE_DEVICES"))'
same "a line of an env file is a variable" expected.gpu "$out"
check_not "and has no blanks" grep -q '[[:blank:]]' config_worker_7.env
check "and is one line" [ "$(wc -l <config_worker_7.env)" = 1 ]
config -q --format json odd.json
python3 -c 'import json; print(json.dumps(json.load(open("config_worker_7.json")), sort_keys=True), -1)' >"$out"
same "json is the text by itself" expected "$out"

# What was written describes the same cluster again.
config -q --format json -d again config_worker_7.json
check "a TF_CONFIG is a cluster file" diff config_worker_7.json again/config_worker_7.json
check "for the others too" diff config_worker_3.json again/config_worker_3.json

mkdir "it's \"a\" dir" && cd "it's \"a\" dir" || exit 1
check "a directory with quotes" config -q ../cluster.json -d 'deep er/$(no)'
check "is made as it is called" [ -f 'deep er/$(no)/config_map_0.sh' ]
cd .. || exit 1

# --- what is there already --------------------------------------------------------------------------

mkdir taken && echo mine >taken/config_map_1.sh
fails_with "a file that holds something else stops it" 5 'config_map_1.sh exists already' \
    weft cluster config -d taken cluster.json
check "and nothing was written" [ "$(ls -A taken)" = config_map_1.sh ]
check "with --force it is replaced" config -q --force -d taken cluster.json
check "by what belongs there" diff -r python taken
touch -d 2001-01-01 taken/*
config -q --force -d taken cluster.json
check "what is right already is not written again" [ -z "$(find taken -name '*.sh' -newermt 2002-01-01)" ]
mkdir blocked blocked/config_map_1.sh
fails_with "a directory in the way" 5 'is not a file' weft cluster config --force -d blocked cluster.json
check "and nothing was written beside it" [ "$(ls -A blocked)" = config_map_1.sh ]
if can_be_nobody; then
    mkdir closed && chmod 755 closed
    try as_nobody "$WEFT" cluster config -d closed cluster.json
    check "no permission" [ "$code" = 5 ]
    check "leaves nothing" [ -z "$(ls -A closed)" ]
fi

# --- what is wrong ----------------------------------------------------------------------------------

fails_with "a missing file" 4 'nosuch.json' weft cluster config nosuch.json
fails_with "a directory" 2 'ours' weft cluster config ours
fails_with "no description" 2 'no cluster is described' weft cluster config
printf '{"ps": ["a"]}\0' >nul.json
fails_with "a NUL byte" 2 'nul.json: it is not JSON' weft cluster config nul.json
head -c 17000000 /dev/zero | tr '\0' ' ' >huge.json
echo '{"a": []}' >>huge.json
fails_with "a file that is too large" 2 'larger than 16 MiB' weft cluster config huge.json
python3 -c 'print("{\"a\":" + "[" * 100000)' >deep.json
fails_with "a file that is too deep" 2 'deep.json: it is not JSON' weft cluster config deep.json
check "none of them has left a file" [ "$(ls -d .[a-z]* 2>/dev/null | wc -l)" = 0 ]

# --- many members -----------------------------------------------------------------------------------

config -q --role worker=300 -d many
check "300 members are 300 files" [ "$(find many -type f | wc -l)" = 300 ]
try bash -c '. many/config_worker_299.sh && exec /bin/true'
check "a program can be started with such a variable" [ "$code" = 0 ]
python3 -c 'import json; print(json.dumps({"w": {"0": "first"} | {str(i): f"node{i}:2222" for i in range(1, 9000)}}))' >large.json
fails_with "what no variable can hold" 2 'json' weft cluster config large.json -d large
check "leaves nothing either" [ ! -e large ]

finish
