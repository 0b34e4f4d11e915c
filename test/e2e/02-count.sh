#!/bin/bash
# count: lines per distinct line, `line TAB count`, sorted by line.
. "$(dirname "$0")/lib.sh"

printf 'b\na\nb\n' >small
printf 'a\t1\nb\t2\n' >expected
gives "it counts equal lines" expected answer count small

printf 'b\n\na b\na  b\n a\na \n\n\t\n' >blanks
oracle lines blanks >expected
gives "blanks and empty lines are kept as they are" expected answer count blanks
printf 'x\tx\nx\tx\nx\n' >with-tabs
oracle lines with-tabs >expected
gives "a TAB in a line is part of the line" expected answer count with-tabs
printf 'a\r\na\nb\rb\n\r\nlast\r' >returns
printf '\t1\na\t2\nb\rb\t1\nlast\r\t1\n' >expected
gives "a carriage return before a line end is part of the end, any other of the line" expected answer count returns
printf 'a\na' >no-end
printf 'a\t2\n' >expected
gives "a last line without an end is the same line" expected answer count no-end
printf '\n' >one-empty
printf '\t1\n' >expected
gives "an empty line is a line" expected answer count one-empty
: >nothing
gives "an empty file has no lines" nothing answer count nothing

generate bytes 2000000 21 >random
oracle lines random >expected
gives "lines of random bytes are counted right" expected answer count random
generate spots 500000 22 >spots
oracle lines spots >expected
gives "half a million lines, each about eight times, are counted right" expected answer count spots
# What anybody can check with the usual tools.
sort spots | uniq -c | sed -E 's/^ *([0-9]+) (.*)$/\2\t\1/' >by-uniq
gives "sort | uniq -c says the same" by-uniq answer count spots
generate lines 300000 23 >distinct
oracle lines distinct >expected
gives "three hundred thousand distinct lines are counted right" expected answer count distinct

finish
