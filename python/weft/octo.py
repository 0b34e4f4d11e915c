"""The command octo.py: its words, for jobs on this machine.

    octo.py server script.py        runs the job with all cores, and calls final
    octo.py client HOST             joins a server on another machine: not yet
"""
import argparse
import os
import sys

PORT = 18125
NO_CLIENTS = ("this version has no clients of octo.py\n  octo.py server SCRIPT works with all cores of its own machine, without "
              "clients\n  a script whose inputs are files runs on several with weft server SCRIPT and weft client")


def read_words(words):
    parser = argparse.ArgumentParser(prog="octo.py", description="Runs a script with source, mapfn, reducefn and final.")
    parser.add_argument("-t", "--type", default="simple", help="of the scheduler: simple is the only one")
    parser.add_argument("-p", "--port", type=int, default=PORT, help="for clients (default: %(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("mode", type=str.lower, choices=["server", "client"])
    parser.add_argument("name", metavar="SCRIPT | HOST")
    if asks_for_types(words):
        print("simple")
        sys.exit(0)
    found = parser.parse_args(words)
    if found.type != "simple":
        parser.error(f"there is no type {found.type}: simple is the only one")
    return found


def asks_for_types(words):
    return any(pair in (("-t", "help"), ("--type", "help")) for pair in zip(words, words[1:])) or "--type=help" in words


def main():
    words = read_words(sys.argv[1:])
    if words.mode == "client":
        sys.exit(say(NO_CLIENTS))
    from .code import BadJob
    from .job import find_command
    try:
        command = find_command()
    except BadJob as error:
        sys.exit(say(str(error)))
    os.environ.setdefault("WEFT_PYTHON", sys.executable)
    os.execv(command, ["weft", "run", *(["--verbose"] if words.verbose else []), "--", words.name])


def say(text):
    print(f"weft: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
