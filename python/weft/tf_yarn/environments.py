"""The Python of tasks: what pyenv_zip_path names, or the environment of this process."""
import os
import shlex
import subprocess
import sys
import tarfile
import zipfile

from ..job import find_command

PEX_NAME = "weft-run/environment.pex"


class Environment:
    """How a task starts Python: the words of its command, and what travels for it."""

    def __init__(self, words, archive=None, files=None):
        self.words, self.archive, self.files = words, archive, files or {}


def find_environment(path, folder, is_far):
    """The Environment for a path, or for None. What has to be made is made in `folder`."""
    if path is None:
        return own_environment(folder, is_far)
    path = fetch(os.fspath(path), folder)
    if os.path.isdir(path):
        return of_archive(pack(path, folder))
    if path.endswith((".pex", ".pyz")):
        # Without this variable a pex with an entry point would run that one.
        return Environment(["env", "PEX_INTERPRETER=1", "python3", PEX_NAME], files={PEX_NAME: path})
    if zipfile.is_zipfile(path):
        return of_zip(path, folder)
    if path.endswith(".tar.zst"):
        return of_archive(path)
    if tarfile.is_tarfile(path):
        return of_archive(pack(path, folder))
    raise ValueError(f"pyenv_zip_path: {path} is not an environment\n"
                     "  try: a venv, an archive of weft pack, a .pex, or an archive of conda-pack")


def own_environment(folder, is_far):
    if not is_far:
        return Environment([sys.executable])
    if sys.prefix != sys.base_prefix:
        return of_archive(pack(sys.prefix, folder))
    return Environment(["python%d.%d" % sys.version_info[:2]])  # of the hosts: code by value needs the same


def of_archive(path):
    """The programs of an archive come first in PATH; those of conda-pack are in its bin."""
    script = 'python=$WEFT_ENVIRONMENT/bin/python3; [ -x "$python" ] || python=python3; exec "$python" "$0" "$@"'
    return Environment(["sh", "-c", script], archive=path)


def of_zip(path, folder):
    """An archive of conda-pack, or a pex that has been zipped (NAME.pex.zip)."""
    place = os.path.join(folder, os.path.basename(path) + ".unpacked")
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            made = archive.extract(entry, place)
            mode = entry.external_attr >> 16 & 0o777
            if mode and not entry.is_dir():
                os.chmod(made, mode | 0o600)
    archive = pack(place, folder)
    if os.path.exists(os.path.join(place, "__main__.py")):
        script = 'PEX_INTERPRETER=1 exec python3 "$WEFT_ENVIRONMENT/__main__.py" "$0" "$@"'
        return Environment(["sh", "-c", script], archive=archive)
    return of_archive(archive)


def fetch(path, folder):
    """A path of this machine for one that may be in HDFS."""
    if "://" not in path:
        if not os.path.exists(path):
            raise FileNotFoundError(f"pyenv_zip_path: there is no {path}")
        return os.path.abspath(path)
    if path.startswith("file://"):
        return fetch(path[len("file://"):], folder)
    if not path.startswith("hdfs://"):
        raise ValueError(f"pyenv_zip_path: {path} cannot be read\n  try: a path of this machine, or an address that begins with hdfs://")
    here = os.path.join(folder, os.path.basename(path))
    run_weft(["get", path, here], "pyenv_zip_path")
    return here


def pack(path, folder):
    """An archive of weft pack."""
    name = os.path.join(folder, f"environment-{len(os.listdir(folder))}.tar.zst")
    run_weft(["pack", "-q", "-o", name, path], "pyenv_zip_path" if path != sys.prefix else "the environment of this Python")
    return name


def run_weft(words, what):
    done = subprocess.run([find_command(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode:
        raise ValueError(f"{what}: {done.stderr.decode('utf-8', 'replace').strip()}")


def editable_packages():
    """{name: path} of packages that were installed by `pip install -e`: they are in no environment that was made before."""
    import importlib.metadata
    import importlib.util
    import json
    found = {}
    for package in importlib.metadata.distributions():
        text = package.read_text("direct_url.json")
        if not text or not json.loads(text).get("dir_info", {}).get("editable"):
            continue
        for name in (package.read_text("top_level.txt") or package.metadata["Name"].replace("-", "_")).split():
            spec = importlib.util.find_spec(name)
            if spec and spec.submodule_search_locations:
                found[name] = list(spec.submodule_search_locations)[0]
            elif spec and spec.origin and os.path.isfile(spec.origin):
                found[os.path.basename(spec.origin)] = spec.origin
    return found


def shell_words(words):
    return " ".join(shlex.quote(word) for word in words)
