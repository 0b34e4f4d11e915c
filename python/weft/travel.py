"""The files of a job: its main file, and the modules and packages beside it, which travel with it to clients.

Installed packages stay on their machine: numpy and the like are those of each client.
"""
import os
import re
import sys

from .code import BadJob

PACKAGE_FILES_MAX = 256  # in all packages of a job: the server has them open while the job runs
PACKAGE_BYTES_MAX = 64 << 20
OURS = "weft"  # each client has its own
executed = []  # files that a script of Python 2 has executed by execfile(), which travel like modules
IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)


def files_of(main, folder, has_clients=False):
    """The files that a job is made of: its main file, if it has one, and the modules of that file's folder that have been imported;
    without a main file those of `folder`. With clients also the packages there, and modules that only functions import."""
    own = [without_mark(main["path"])] if main else []
    folder = main.get("root") or os.path.dirname(os.path.abspath(own[0])) if own else os.path.abspath(folder)
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())] + executed
    files = {os.path.abspath(name) for name in names if isinstance(name, str)} - {os.path.abspath(name) for name in own}
    files = {name for name in files if os.path.dirname(name) == folder}
    packages = []
    if has_clients:
        modules, packages = look_further(folder, own + sorted(files))
        files |= modules - {os.path.abspath(name) for name in own}
    return own + sorted(files) + packages


def take_files(words):
    """(the files of --file, the other words): files that the code reads, which travel with it."""
    found, others, waiting = [], [], list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            others += [word, *waiting]
            break
        if word == "--file" and waiting:
            found.append(waiting.pop(0))
        elif word.startswith("--file="):
            found.append(word[len("--file="):])
        else:
            others.append(word)
    for name in found:
        if not os.path.isfile(name):
            raise BadJob(f"--file {name}: there is no such file")
    return [without_mark(os.path.abspath(name)) for name in found], others


def without_mark(path):
    """A path without "/./", which would mean the beginning of its name on clients (python_name_there in src/code/python/script.c)."""
    while "/./" in path:
        path = path.replace("/./", "/")
    return path


def look_further(folder, files):
    """(modules, files of packages) beside the script: of packages that are imported, and of those that an import statement names, which
    may be inside a function."""
    packages = {name for name, module in list(sys.modules.items())
                if "." not in name and name != OURS and any(os.path.abspath(entry) == os.path.join(folder, name) for entry in path_of(module))}
    modules, waiting, listed = set(), list(files), {}
    while waiting or packages - listed.keys():
        for name in sorted(packages - listed.keys()):
            listed[name] = list_package(folder, name)
            waiting += [file for file in listed[name] if file.endswith(".py")]
        names = imported_names(waiting.pop()) - {OURS} if waiting else ()
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(os.path.join(path, "__init__.py")):
                packages.add(name)
            elif os.path.isfile(path + ".py") and path + ".py" not in modules:
                modules.add(path + ".py")
                waiting.append(path + ".py")
    found = [file for name in sorted(listed) for file in listed[name]]
    check_limits(sorted(listed), found)
    return modules, found


def path_of(module):
    try:
        return [entry for entry in getattr(module, "__path__", ()) if isinstance(entry, str)]
    except Exception:
        return []  # an object that is not a module, or one that imports when it is asked


def imported_names(path):
    """The first parts of the names that the file imports anywhere."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return set()
    names = set()
    for module, several in IMPORT.findall(text):
        for part in (module or several).split(b","):
            words = part.split()
            if words and not words[0].startswith(b"."):
                names.add(words[0].split(b".")[0].decode("ascii", "replace"))
    return names


def list_package(folder, name):
    """The files of a package, with the mark before the part that is their name on clients."""
    found = []
    for place, folders, files in os.walk(os.path.join(folder, name)):
        folders[:] = sorted(one for one in folders if one != "__pycache__" and not one.startswith("."))
        inside = os.path.relpath(place, folder)
        found += [os.path.join(folder, ".", inside, file) for file in sorted(files)
                  if not file.endswith((".pyc", "~")) and not file.startswith(".") and os.path.isfile(os.path.join(place, file))]
        if len(found) > 4 * PACKAGE_FILES_MAX:
            break
    return found


def check_limits(names, files):
    size = sum(os.path.getsize(file) for file in files)
    if len(files) <= PACKAGE_FILES_MAX and size <= PACKAGE_BYTES_MAX:
        return
    which = f"the package {names[0]}" if len(names) == 1 else f"the packages {', '.join(names)}"
    has = "has" if len(names) == 1 else "have"
    raise BadJob(f"{which} beside the script {has} {len(files)} files of {size / 1e6:.1f} MB, too much to send to clients\n"
                 f"  up to {PACKAGE_FILES_MAX} files of {PACKAGE_BYTES_MAX / 1e6:.0f} MB travel with a job\n"
                 "  try: install it on all machines, or move large files elsewhere")
