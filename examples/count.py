#!/usr/bin/env python3
"""count.py: the words of many files, by a cluster of the roles files, map and reduce; docs/python-clusters.md."""
import sys

import weft

with weft.cluster() as c:
    files = c.queue("/files/0/filename_queue", capacity=10, deliveries_max=3)
    total = c.var("/reduce/0/total")
    if c.role == "files":
        for name in open(sys.argv[1] if len(sys.argv) > 1 else "filenames.txt"):
            files.push(name.strip(), key=name.strip())  # once, though this is started again
        files.close()
    if c.role == "map":
        for file in files:
            with file, open(file.text) as text:  # others may try; the third time it goes to filename_queue.dead
                words = len(text.read().split())
                print(f"{words} words in {file}", flush=True)
                total.add(words, item=file)  # once, however often the file is handed out
    if c.role == "reduce":
        for words in total:
            print(f"{words} words so far", flush=True)
