#!/bin/sh
# Puts what lies in a file beside it in front of every line.
word=$(cat words.txt)
while read -r line; do
    echo "$word $line"
done
