#!/bin/sh
# Reads everything, says why, fails with the code it was given.
cat >/dev/null
echo "gone wrong on purpose" >&2
exit "$1"
