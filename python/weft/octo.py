"""The command octo.py: its words, for servers and clients of Weft.

    octo.py [-p PORT] server script.py        waits for clients, hands out the work, and calls final
    octo.py [-p PORT] client HOST             works for that server, and ends with its job
    octo.py [-p PORT] client script.py        the same, for the host that the script names as `server`

Both sides must have the same token: that of the user (~/.config/weft/token), of WEFT_TOKEN, or HOST#TOKEN.
"""
import argparse
import os
import sys

PORT = 18125
EXAMPLES = """examples:
  octo.py server wordcount.py      hands out the items of `source`, and calls `final` for each result
  octo.py client big               works for the server on the machine big, and ends with its job
  octo.py client wordcount.py      the same, for the machine that the script names: server = "big"
  weft run wordcount.py            without clients, on all cores of this machine

Both sides need the same token: copy ~/.config/weft/token, or octo.py client 'big#TOKEN'."""


def read_words(words):
    parser = argparse.ArgumentParser(prog="octo.py", description="Runs a script with source, mapfn, reducefn and final.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES)
    parser.add_argument("-t", "--type", default="simple", help="of the scheduler: simple is the only one")
    parser.add_argument("-p", "--port", type=int, default=PORT, help="where clients join (default: %(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="report more")
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


def own_token_file():
    """The file with the user's own token, as the command finds it; made if it is missing."""
    import secrets
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    folder = os.path.join(folder if folder.startswith("/") else os.path.expanduser("~/.config"), "weft")
    path = os.path.join(folder, "token")
    if not os.path.exists(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        new = f"{path}.{os.getpid()}"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16) + "\n")
        try:
            os.link(new, path)
        except FileExistsError:
            pass  # of another process that started with us
        finally:
            os.unlink(new)
    return path


def server_words(words):
    token = [] if os.environ.get("WEFT_TOKEN") else ["--token-file", own_token_file()]
    return ["server", *(["--verbose"] if words.verbose else []), "--listen", f":{words.port}", *token, "--", words.name]


def server_of(script):
    """The host that a script names; the script is imported, as in octo.py, but in a directory of its own."""
    import tempfile
    from . import code
    path, here = os.path.abspath(script), os.getcwd()
    sys.path.insert(0, os.path.dirname(path))
    with tempfile.TemporaryDirectory(prefix="weft-octo-") as folder:
        os.chdir(folder)
        try:
            module = code.load_file(path, os.path.splitext(os.path.basename(path))[0])
        except BaseException as error:
            sys.exit(say(f"cannot run {script}\n  " + code.describe_load(error).replace("\n", "\n  "), 1))
        finally:
            os.chdir(here)
    return str(getattr(module, "server", "localhost"))


def client_words(words):
    host = server_of(words.name) if os.path.isfile(words.name) else words.name
    address, mark, token = host.partition("#")
    if ":" not in address or address.endswith("]"):
        address = f"{address}:{words.port}"
    return ["client", *([] if words.verbose else ["--quiet"]), "--", address + mark + token]


def main():
    words = read_words(sys.argv[1:])
    from .code import BadJob
    from .job import find_command
    try:
        command = find_command()
        rest = server_words(words) if words.mode == "server" else client_words(words)
    except (BadJob, OSError) as error:
        sys.exit(say(str(error), 2))
    os.environ.setdefault("WEFT_PYTHON", sys.executable)
    sys.stdout.flush()
    os.execv(command, ["weft", *rest])


def say(text, status):
    print(f"weft: {text}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
