#!/bin/bash
# weft.tf_yarn over ssh: the script's Python, its function and its files reach hosts on which nothing is installed.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "run_on_yarn on ssh hosts"
python=/usr/bin/python3
export PYTHONPATH=${WEFT%/*}/python PYTHONDONTWRITEBYTECODE=1 WEFT_ON=ssh://h1,h2
if ! "$python" -c 'import weft, cloudpickle, venv' 2>/dev/null; then
    skip "run_on_yarn on ssh hosts" "the package for Python, cloudpickle or venv is missing"
    finish
fi
fresh_hosts 2

echo 'def hello(): return "hello"' >helper.py
cat >script.py <<'END'
import os, sys
from weft.tf_yarn import RunFailed, TaskSpec, get_task, run_on_yarn

def train():
    import helper, socket
    print(helper.hello(), get_task(), socket.gethostname(), os.environ["RANK"], sys.prefix == sys.base_prefix)

def fail():
    if get_task() == "worker:1":
        raise ValueError("no such colour")
    import time
    time.sleep(1000)

if __name__ == "__main__":
    size = {"memory": "64 MiB", "vcores": 1}
    files = {"helper.py": os.path.abspath("helper.py")}
    try:
        run_on_yarn(train, {"chief": TaskSpec(**size), "worker": TaskSpec(**size, instances=2)}, files=files)
        run_on_yarn(fail, {"worker": TaskSpec(**size, instances=2)})
    except RunFailed as error:
        print("failed:", error)
END

answer() { # IN A VENV OF ITS OWN: False
    cat <<END
chief/0 | hello chief:0 h1 0 $1
failed: worker:1 failed: ValueError: no such colour
worker/0| hello worker:0 h2 1 $1
worker/1| hello worker:1 h1 2 $1
END
}

try "$python" script.py
sort "$out" >sorted
answer True >expected
same "tasks run by the Python of the hosts, and a failure is named" expected sorted
check "and all ended well" [ "$code" = 0 ]
nothing_left_on_hosts "no process and no file is left"

"$python" -m venv --without-pip venv
ln -s "$PYTHONPATH/weft" "$("$python" -c 'import cloudpickle, os; print(os.path.dirname(cloudpickle.__file__))')" venv/lib/python3.*/site-packages/
unset PYTHONPATH
try venv/bin/python script.py
sort "$out" >sorted
answer False >expected
same "from a venv, tasks run by the Python of that venv" expected sorted
nothing_left_on_hosts "no process and no file is left there, either"
finish
