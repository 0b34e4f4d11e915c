#!/bin/bash
# INPUT: files, directories, globs, @names.txt and -, in the order given.
# `grep ''` prints all lines in input order, so it shows which files were read, and when.
. "$(dirname "$0")/lib.sh"

show() { answer grep '' "$@"; }

mkdir -p tree/sub/deep tree/.hidden-dir tree/Zed
echo a >tree/a && echo B >tree/B && echo z >tree/z && echo s1 >tree/sub/1 && echo s2 >tree/sub/2
echo deep >tree/sub/deep/x && echo zed >tree/Zed/f && echo hidden >tree/.hidden
echo hidden >tree/.hidden-dir/f && : >tree/empty && echo umlaut >tree/$'\xc3\xa4'
printf 'B\nzed\na\ns1\ns2\ndeep\nz\numlaut\n' >expected
gives "a directory is read recursively, in byte order, without hidden files" expected show tree
find tree -type f ! -path '*/.*' -size +0 | sort | xargs cat >by-find
same "that is the order of find | sort" by-find expected
gives "a slash at its end changes nothing" expected show tree/
gives "./ in front changes nothing" expected show ./tree
(cd tree && show . >../dot 2>"$err")
same "the directory . is read though its name starts with a dot" expected dot
printf 'hidden\n' >expected
gives "a hidden file given by name is read" expected show tree/.hidden
gives "a hidden directory given by name is read" expected show tree/.hidden-dir
printf 'z\na\nz\n' >expected
gives "inputs come in the order given, twice if given twice" expected show tree/z tree/a tree/z
printf 's1\ns2\ndeep\nB\n' >expected
gives "directories and files mix in the order given" expected show tree/sub tree/B

mkdir -p order/a order/a-b && touch order/a.txt && for f in a/x a-b/x a.txt a0; do echo $f >order/$f; done
find order -type f | sort | xargs cat >expected
gives "files and directories whose names start alike come in the order of find | sort" expected show order

mkdir texts && for n in 1 2 10; do echo "t$n" >texts/t$n.txt; done && echo other >texts/other.md
echo hidden >texts/.t0.txt
printf 't1\nt10\nt2\n' >expected
gives "a quoted glob is expanded in byte order" expected show 'texts/*.txt'
printf 't1\nt2\n' >expected
gives "? stands for one character" expected show 'texts/t?.txt'
gives "[ ] stands for a choice" expected show 'texts/t[12].txt'
printf 'other\nt1\nt10\nt2\n' >expected
gives "two globs come in the order given" expected show 'texts/*.md' 'texts/*.txt'
printf 'deep\n' >expected
gives "a glob may name directories" expected show 'tree/sub/d*'
echo brackets >'texts/[12].txt'
printf 'brackets\n' >expected
gives "a file that is named like a glob is that file" expected show 'texts/[12].txt'
fails_with "a glob without a match is an error that names it" 4 'nothing\*' weft run wordcount 'nothing*'

printf 'texts/t2.txt\ntree/sub\ntexts/t1.txt' >names.txt
printf 't2\ns1\ns2\ndeep\nt1\n' >expected
gives "@names.txt gives a name per line, the last one without an end" expected show @names.txt
printf '\ntexts/t2.txt\n\n' >names2.txt
printf 't2\n' >expected
gives "empty lines in @names.txt are left out" expected show @names2.txt
printf 'texts/t1.txt\nmissing\n' >names3.txt
fails_with "a missing name in @names.txt is an error that names it" 4 'missing' weft run wordcount @names3.txt
fails_with "a missing @names.txt is an error that names it" 4 'nonames' weft run wordcount @nonames.txt
echo at >./@file && echo at >expected
gives "./ makes a file of a name with an @" expected show ./@file
seq 1 3000 | sed 's|.*|texts/t1.txt|' >names4.txt
seq 1 3000 | sed 's|.*|t1|' >expected
gives "three thousand names" expected show @names4.txt

echo blank >'a name with blanks' && echo newline >$'a\nname' && echo star >'a*name' && echo quote >"it's \"q\""
printf 'blank\nnewline\nquote\n' >expected
gives "names may have blanks, newlines and quotes" expected show 'a name with blanks' $'a\nname' "it's \"q\""
mkdir odd && cp 'a name with blanks' $'a\nname' "it's \"q\"" odd/
printf 'newline\nblank\nquote\n' >expected
gives "also inside a directory" expected show odd
long=$(head -c 250 /dev/zero | tr '\0' n)
echo long >"$long" && echo long >expected
gives "a name of 250 bytes" expected show "$long"

mkdir loop && echo f >loop/f && ln -s .. loop/up
check "a link to a parent directory does not trap it" timeout 20 "$WEFT" run -q wordcount loop
ln -s texts/t1.txt link && echo t1 >expected
gives "a link given by name is followed" expected show link
mkdir hollow && : >nothing
mkfifo pipe && { timeout 20 bash -c 'cat texts/t1.txt >pipe' & }
gives "a named pipe is read" expected timeout 20 "$WEFT" run -q grep '' pipe
wait

gives "a shell's <( ) is read" expected answer grep '' <(cat texts/t1.txt)

printf 'one' >n1 && printf 'two\n' >n2 && printf 'one\ntwo\n' >expected
gives "a last line without an end stays apart from the next file" expected show n1 n2
gives "an empty file between two is nothing" expected show n1 nothing n2
gives "an empty file gives nothing" nothing show nothing
gives "many empty files give nothing" nothing show nothing nothing nothing

mkdir small && for i in $(seq -w 1 2000); do echo "line $i" >"small/$i"; done
cat small/* >expected
gives "two thousand small files keep their order" expected show small
oracle words small/* >expected
gives "two thousand small files are counted" expected answer wordcount small

# What a run writes itself is no input of it, wherever it lies.
mkdir own && echo 'a b' >own/x && printf 'a\t1\nb\t1\n' >expected
own() { weft run -q wordcount own -o own/out/ "$@" && cat own/out/part-*; }
gives "an output inside the input directory" expected own
gives "and again: it is finished, and left alone" expected own
gives "with --force it does not grow" expected own --force
gives "nor the next time" expected own --force
weft run wordcount own -o own/out/ >"$out" 2>"$err"
check "a line says what was left out" grep -q 'own/out/ was left out: a run does not read its own output' "$err"
(cd own && weft run -q wordcount . -o out/ --force && weft run -q wordcount . -o out/ && cat out/part-*) >dot 2>"$err"
same "likewise with ." expected dot
ln -s out own/link
gives "likewise through a link" expected own --force
rm -r own/link own/out
to_file() { weft run -q wordcount own -o own/res.txt --force && cat own/res.txt; }
gives "a file inside the input directory" expected to_file
gives "is no input of the next run" expected to_file
matched() { weft run -q wordcount 'own/*' -o own/res.txt --force && cat own/res.txt; }
gives "nor what a pattern matches" expected matched
to_stdout() { weft run -q wordcount own >own/res.txt && cat own/res.txt; }
gives "nor is standard output" expected to_stdout
fails_with "named, it is refused" 2 'own/res.txt is an input and also an output of this run' \
    weft run wordcount own/x own/res.txt -o own/res.txt --force
fails_with "also by another name" 2 'also an output of this run' weft run wordcount own/x own/../own/res.txt -o own/res.txt --force
weft run -q wordcount own/x -o own/out/
fails_with "so is a directory" 2 'own/out is an input and also an output of this run' weft run wordcount own/out -o own/out/ --force
fails_with "so is a file in it" 2 'own/out/part-00000 is in an output of this run' \
    weft run wordcount own/out/part-00000 -o own/out/ --force
fails_with "standard output by its name is the same" 2 'also standard output' \
    bash -c "exec '$WEFT' run wordcount own/x own/res.txt -o - >>own/res.txt"
mkdir bad && echo 'a b' >bad/x && echo '{"file":"x","offset":0,"bytes":1,"reason":"r","record":"a"}' >bad/list
lists() { weft run -q --skip-bad 5 wordcount bad --bad-records bad/list; }
gives "the list of bad records is no input either" expected lists
rm -rf own/out own/res.txt
stream() { weft streaming --quiet -input "$1" -output own/out -mapper 'cat' -reducer 'wc -l' --force && cat own/out/part-*; }
printf '1\t\n' >expected
gives "weft streaming writes inside its input" expected stream own
gives "and again" expected stream own
gives "and again by a pattern" expected stream 'own/*'
fails_with "named, it is refused there too" 2 'also the output of this run' stream own/out

fails_with "a missing file is an error that names it" 4 'no-such-file' weft run wordcount n1 no-such-file
fails_with "a missing directory is an error that names it" 4 'no-such-dir' weft run wordcount no-such-dir/
fails_with "a file where a directory should be is an error" 4 'n1/x' weft run wordcount n1/x
fails_with "an empty name is an error" 2 'empty|name|input' weft run wordcount ''

finish
