#!/bin/sh
# Writes every kind of line end.
cat >/dev/null
printf 'a\t1\r\nb\t2\rc\t3\n\r\nd\t4\n\ne\t5'
