"""The inputs: made by gen when they are missing, kept in the cache, warmed before they are read."""
import os
import shutil
import subprocess

from . import place

MIB = 1 << 20
VOCABULARY = 500_000
RARE_RANK = 100_000


def make(name, size, *arguments):
    """The file `name` in the cache, made by `gen ARGUMENTS` if it is not there."""
    path = place.CACHE / name
    if path.exists():
        return path
    place.room_for(size)
    place.say(f"making {name} ({size // MIB} MiB)")
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        subprocess.run([place.own_tool("gen"), *map(str, arguments)], stdout=file, check=True)
    partial.rename(path)
    return path


def zipf(mb):
    return make(f"zipf-{mb}.txt", mb * MIB, "zipf", mb * MIB, 42, VOCABULARY, 1.05)


def zipf_of(mb, vocabulary, exponent):
    return make(f"zipf-{mb}-{vocabulary}.txt", mb * MIB, "zipf", mb * MIB, 42, vocabulary, exponent)


def card(mb):
    return make(f"card-{mb}.txt", mb * MIB, "card", mb * MIB, 43, 1_000_000_000)


def tera(mb):
    return make(f"tera-{mb}.txt", mb * MIB, "tera", mb * MIB // 100, 44)


def keys(mb, space, length):
    name = f"keys-{mb}-{space}-{length}.txt"
    return make(name, mb * MIB, "keys", mb * MIB, 45, space, length)


def csv(mb):
    return make(f"sales-{mb}.csv", mb * MIB, "csv", mb * MIB, 47)


def jsonl(mb):
    return make(f"sales-{mb}.jsonl", mb * MIB, "jsonl", mb * MIB, 47)


def gzipped(path):
    """The same file through gzip, beside it."""
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        place.say(f"packing {packed.name}")
        partial = packed.with_suffix(".part")
        with open(partial, "wb") as file:
            subprocess.run(["gzip", "-c", path], stdout=file, check=True)
        partial.rename(packed)
    return packed


def pieces(path, count):
    """The same file cut at line ends into so many files, in a folder beside it."""
    folder = path.with_name(f"{path.stem}-in-{count}")
    if not folder.exists():
        partial = folder.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        subprocess.run(["split", "-n", f"l/{count}", path, partial / "piece-"], check=True)
        partial.rename(folder)
    return folder


def small_files(count, size):
    """A folder of `count` files of `size` bytes."""
    folder = place.CACHE / f"files-{count}-{size}"
    if not folder.exists():
        place.say(f"making {count} files of {size} bytes")
        partial = folder.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        subprocess.run([place.own_tool("gen"), "files", partial, str(count), str(size), "46"],
                       check=True)
        partial.rename(folder)
    return folder


def empty_file():
    path = place.CACHE / "empty.txt"
    path.touch()
    return path


def one_word():
    path = place.CACHE / "one.txt"
    path.write_text("word\n")
    return path


def rare_word():
    """A word that the Zipf text has some hundred times per GiB."""
    return place.first_line(place.own_tool("gen"), "word", str(RARE_RANK))


def count_words(path):
    """How many words a file has, counted by `check words` and remembered beside it."""
    note = path.with_suffix(".words")
    if not note.exists() or note.stat().st_mtime < path.stat().st_mtime:
        line = place.first_line(place.own_tool("check"), "words", path)
        note.write_text(line.partition("=")[2] + "\n")
    return int(note.read_text())


def warm(path):
    """Reads a file or all files of a folder once, so that nobody waits for the disk."""
    if path.is_dir():
        for folder, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    file.read()
        return
    buffer = bytearray(4 * MIB)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
