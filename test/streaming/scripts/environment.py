#!/usr/bin/env python3
# Shows the variables that scripts read, with what differs from run to run masked.
import os
import re
import sys

sys.stdin.read()
for name in sys.argv[1:]:
    value = os.environ.get(name, "(none)")
    value = re.sub(r"^file:", "", value)
    value = os.path.basename(value)
    value = re.sub(r"(job|task|attempt)_[a-z0-9]+_[0-9]+", r"\1_TIME_NUMBER", value)
    print("%s\t%s" % (name, value))
