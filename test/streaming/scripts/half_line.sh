#!/bin/sh
# Its last line has no end.
cat >/dev/null
printf 'a\t1\nb\t2'
