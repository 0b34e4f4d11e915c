#!/bin/bash
# Work that takes longer than anything the library might take for granted: an element stays with whoever works on it,
# what was only asked for ahead is not withheld from others, and deadlines lose nothing.
# also: tsan
# takes long
. "$(dirname "$0")/lib.sh"

check "slow_work.c compiles" compile slow_work


slow_work() {
    local ports
    ports=$(free_ports 4) # whose process has ended then, and its sockets with it
    # shellcheck disable=SC2086 # words
    timeout 60 ./slow_work "$1" $ports
}

check "an element of a queue of one's own stays with its holder through slow work" slow_work own
check "so does one of another member's queue" slow_work other
check "also where it is the last delivery" slow_work last
check "every element is popped once, though one consumer is slow" slow_work pops
check "and taken once" slow_work takes
check "what a busy consumer has not begun is had by those who wait" slow_work idle
check "calls that give up lose no element, and bring none twice" slow_work deadlines
check "an add counts once for each popped item" slow_work popped
check "calls that were started go out, whatever the program does then" slow_work started
check "what lies ahead is in the queue for who looks at it, in its order" slow_work whole
check "a producer is no further ahead than there is room" slow_work room

finish
