#!/bin/bash
# The cluster of examples/count: started by hand, in any order, killed at any moment, and exact.
# takes long
. "$(dirname "$0")/lib.sh"

program=$(dirname "$WEFT")/examples/count
[ -x "$program" ] || { skip "examples/count" "it is not built" && finish; }
members() { timeout -k 5 "${limit:-110}" python3 "$e2e/tools/members.py" "$1" "program=$program" "${@:2}"; }

# make_files DIR COUNT SEED: so many small files of words, their names and how many words they have.
make_files() {
    mkdir "$1"
    awk -v count="$2" -v seed="$3" -v dir="$1" 'BEGIN {
        srand(seed)
        for (i = 0; i < count; i++) {
            name = sprintf("file%03d.txt", i); words = 1 + int(rand() * 98); total += words
            print name >dir "/filenames.txt"
            for (j = 0; j < words; j++)
                printf "w%d%s", j, j % 7 == 6 ? "\n" : " " >dir "/" name
            close(dir "/" name)
        }
        printf "%d", total >dir "/total"
    }'
}

# --- alone: looked at in the end ---------------------------------------------------------------------

seq 30 >names
read -r a b c <<<"$(free_ports 3)"
TF_CONFIG="{\"cluster\": {\"files\": [\"localhost:$a\"], \"map\": [\"localhost:$b\"],
    \"reduce\": [\"localhost:$c\"]}, \"task\": {\"type\": \"files\", \"index\": 0}}" \
    timeout -s KILL 25 "$program" names 2>"$dir/alone" &
alone=$!

# --- by hand, as in the article: 22 files, four shells -----------------------------------------------

mkdir article
words=(12 85 33 61 47 9 78 52 66 24 91 38 55 70 17 44 83 29 60 49 73 11) # 1087
for i in "${!words[@]}"; do
    yes word | head -n "${words[i]}" >"article/file$i.txt"
    echo "file$i.txt" >>article/filenames.txt
done
echo -n 1087 >article/total
read -r a b c d <<<"$(free_ports 4)"
printf '{"files":["localhost:%s"],"reduce":["localhost:%s"],"map":["localhost:%s","localhost:%s"]}' \
    "$a" "$b" "$c" "$d" >article/cluster.json
check "a file for every member" weft cluster config -q -d article article/cluster.json
cd article || exit 1
pids=()
for member in files_0 reduce_0 map_0 map_1; do
    # shellcheck source=/dev/null
    (. ./config_$member.sh && exec timeout 60 "$program") >$member.out 2>$member.err &
    pids+=($!)
done
codes=
for pid in "${pids[@]}"; do wait "$pid"; codes+="$? "; done
check "all four end by themselves with 0" test "$codes" = "0 0 0 0 "
check "the total is exact" test "$(tail -n 1 reduce_0.out)" = "1087 words so far"
cat map_0.out map_1.out | sort >lines
for i in "${!words[@]}"; do echo "${words[i]} words in file$i.txt"; done | sort >expected
same "each file is counted by one mapper" expected lines
check "nobody says anything else" test ! -s files_0.out -a ! -s files_0.err -a ! -s map_0.err -a ! -s reduce_0.err

# --- who comes when -------------------------------------------------------------------------------------

check "they may be started in every order" members orders step="$(is_long && echo 1 || echo 5)"
for member in files/0 reduce/0; do
    check "$member may come 3 s late" members late member=$member
done
mkdir few && cp file0.txt few && cd few || exit 1
echo file0.txt >filenames.txt
echo -n 12 >total
check "who comes when others are done is not left waiting for them" members early
cd ..
check "a mapper that never comes is not waited for for ever" members never member=map/1
for member in files/0 reduce/0; do
    check "who needs $member, which never comes, says so and ends" members never member=$member
done

# --- killed and started again ----------------------------------------------------------------------------

cd .. && make_files many 300 1 && cd many || exit 1
rounds=12 first=$((RANDOM * 1000))
is_long && rounds=400
check "members are killed at any moment and started again: seeds from $first" \
    members chaos seed=$first seeds=$rounds limit=60
for member in files/0 reduce/0 map/0; do
    check "$member is killed after so many lines" members at_line member=$member \
        step="$(is_long && echo 1 || echo 100)" lines=300
done
check "what a mapper had goes to the other one" members dead_mapper member=map/0

# --- without a journal -------------------------------------------------------------------------------------

check "whoever uses a variable that is gone is told so" members no_journal member=reduce/0
check "whoever uses a queue that is gone is told so" members no_journal member=files/0

# --- stopped for a while -----------------------------------------------------------------------------------

for member in files/0 map/0; do
    check "$member stands still for longer than a session lives" members stopped member=$member
done
{ wait $alone; } 2>/dev/null
check "who waits for others at what it hosts itself says for whom" \
    grep -q 'a call .* waits for others, .* /map/0 (not come yet), /reduce/0' "$dir/alone"
finish
