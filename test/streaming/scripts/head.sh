#!/bin/sh
# Reads one line and leaves.
read -r line
echo "$line"
