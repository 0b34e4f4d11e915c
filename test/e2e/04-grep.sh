#!/bin/bash
# grep: the matching lines in input order, as `LC_ALL=C grep -ahE` prints them.
. "$(dirname "$0")/lib.sh"

# as_grep FILE ARGUMENT...: weft run grep and grep -ahE print the same; no match is no error.
as_grep() {
    local file=$1 extra=-E argument
    shift
    for argument in "$@"; do [[ $argument =~ ^-[a-z]*F ]] && extra=-F; done
    grep -ah $extra "$@" "$file" >expected
    if [ $? -gt 1 ]; then
        not_ok "grep itself takes $*"
        return
    fi
    gives "grep $(printf '%q ' "$@" | head -c 60)" expected answer grep "$@" "$file"
}

cat >text <<'TEXT'
the quick brown fox
jumps over the lazy dog

The end: 1, 22, 333
foo.bar foo-bar fooxbar
aaa abab abcabc
  indented	tab
a|b (c) [d] {e} \f $5 ^6 *7 +8 ?9
words123 _under_ x
THE END
TEXT
printf 'last line without end' >>text

while IFS= read -r pattern; do
    as_grep text "$pattern"
done <<'PATTERNS'
the
fox$
^the
^$
^
$

.
.*
x*
o+
the|dog
^(the|jumps)
(foo|bar)+
fo{2}
a{3}
(ab){2}
[0-9]+
[^a-z ]
[[:upper:]]
[[:space:]][[:alpha:]]
\.
foo.bar
\(c\)
\[d\]
[]d]
\{e\}
\$5
\^6
a\|b
(^|[^a-z])end
\bthe\b
\<the\>
\w+\s+\w+$
\W\W
(a)b\1
(abc)\1
end$|^jumps
a{0}b
x{1,}
without end$
nothing matches this
[a-c]{2,3}$
()
a()b
(|x)y
\\f
PATTERNS

for options in -i -v -c -o -F "-i -v" "-c -v" "-i -c" "-o -i" "-c -o" "-v -o" "-i -F" "-o -F" "-F -c" "-F -v"; do
    for pattern in the 'END' 'a' 'foo.bar' '' 'zzz'; do
        # shellcheck disable=SC2086
        as_grep text $options "$pattern"
    done
done
as_grep text -o '[0-9]+'
as_grep text -o 'ab|a'
as_grep text -o 'a*'
as_grep text -o '^[a-z]+'
as_grep text -o '[a-z]+$'
as_grep text -o 'a|ab|abc'
as_grep text -o '(ab)+'
as_grep text -oi 'the'
as_grep text -o '\b[a-z]'
as_grep text -o '^.'
as_grep text -F 'a|b (c) [d] {e} \f $5 ^6 *7 +8 ?9'
as_grep text -F '^'
as_grep text -iF 'FOO.BAR'
as_grep text $'fox\ndog'
as_grep text -F $'fox\n(c)'
as_grep text -o $'fox\no[a-z]'
as_grep text -- -bar
as_grep text -i '[A-C]B'

printf 'a\0b\n\0\nab\n\xff\xfea\n\xc3\xa4b\r\nA\xc4\n' >bytes
for pattern in a 'a.b' '^.$' '^..$' 'b$' '[^a]b' '.' '[[:cntrl:]]' '\w'; do
    as_grep bytes "$pattern"
    as_grep bytes -o "$pattern"
    as_grep bytes -i -v "$pattern"
done
as_grep bytes $'\xff'
as_grep bytes -F $'\xc3\xa4'
as_grep bytes -i $'\xe4'

: >nothing
as_grep nothing a
as_grep nothing -c a
as_grep nothing -v a
printf '\n' >one-empty
as_grep one-empty '^$'
as_grep one-empty -v '^$'
as_grep one-empty -o 'x*'
as_grep one-empty -c ''

try weft run -q grep zzz text
check "no match is no error" [ "$code" = 0 ]

generate words 8000000 41 >big
generate bytes 3000000 42 >random
for pattern in 'zzc' '^a ' ' [b-d]e+ .*z$' '(ab|cd|ef)g' 'nowhere to be found'; do
    as_grep big "$pattern"
    as_grep big -c "$pattern"
    as_grep big -o "$pattern"
done
as_grep big -v e
as_grep big -i 'ZZC'
as_grep big -F 'zzc'
as_grep random 'ab'
as_grep random -o 'a[^b]b'
as_grep random -v -i 'A'
as_grep random -c ''

printf 'one a\ntwo' >first && printf 'three a\nfour' >second
cat first <(echo) second <(echo) >joined
grep -aE '' joined >expected
gives "several files come in the order given" expected answer grep '' first second
cat second <(echo) first <(echo) >expected
gives "and not in the order of their names" expected answer grep '' second first
gives "nor in the order of completion" big answer -n 3 grep '' big

grep -ahcE a first nothing second first >expected
gives "-c counts file by file, an empty one too" expected answer grep -c a first nothing second first
mkdir dir && cp first second dir && cp nothing dir/between
grep -ahcE a dir/between dir/first dir/second >expected
gives "-c counts the files of a directory one by one" expected answer grep -c a dir
generate words 20000000 43 >split
grep -ahcE 'b' split first >expected
gives "-c adds up the splits of a large file" expected answer -n 3 grep -c b split first

fails_with "a pattern that cannot be read is wrong usage" 2 'pattern|\(|unmatched' weft run grep '(' text
fails_with "an open bracket is wrong usage" 2 'pattern|\[|unmatched' weft run grep '[a' text
fails_with "a wrong repetition is wrong usage" 2 'pattern|\{|content' weft run grep 'a{2,1}' text
fails_with "grep without a pattern is wrong usage" 2 'pattern' weft run grep

finish
