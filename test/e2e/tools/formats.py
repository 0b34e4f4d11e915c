#!/usr/bin/env python3
"""Structured and compressed files for the tests of formats, and what is in them, found without weft.

  formats.py make lines|csv|jsonl|fixed|nul BYTES SEED    writes about so many bytes
  formats.py places FORMAT FILE...    every record as name:number:offset:record, for lines, csv, csv:header,
                                      jsonl, tfrecord, files, fixed:N, delimiter:HEX
  formats.py bgzip|seekable IN OUT    compresses so that it can be read from anywhere
  formats.py csv-groups|jsonl-groups FILE...    key, count and sum as the jobs of 73-fields print them
"""
import csv
import json
import random
import re
import struct
import subprocess
import sys
import zlib

out = sys.stdout.buffer
ROW = re.compile(rb'(?:[^"\n]+|"[^"]*")*(?:\n|\Z)')


def words(draw, count):
    return " ".join(draw.choice(("loom", "weft", "warp", "\u00e4rger", "x", "shuttle" * 9))
                    for _ in range(draw.randrange(count)))


def make_line(draw, number):
    return f"{number} {words(draw, 12)}{draw.choice((chr(10), chr(10), chr(13) + chr(10)))}"


def make_csv(draw, number):
    if number == 0:
        return 'id,"the ""name""",group,amount\r\n'
    name = words(draw, 5)
    if draw.random() < 0.4:
        name = '"%s"' % draw.choice((name + "\n" + name, name + ', ""' + name + '""', "", "\r\n,\n"))
    end = draw.choice(("\n", "\r\n", "\n\n"))
    return f"{number},{name},g{draw.randrange(50)},{draw.randrange(-1000, 1000)}{end}"


def make_jsonl(draw, number):
    value = {"id": number, "group": "g%d" % draw.randrange(50), "text": words(draw, 6) + '"\\\n/\t',
             "nested": {"amount": draw.randrange(-1000, 1000), "list": [1, {"deep": [None, True, "\U0001f9f6"]}]}}
    if draw.random() < 0.1:
        del value["group"]
    return json.dumps(value, ensure_ascii=draw.random() < 0.5) + draw.choice(("\n", "\r\n", "\n\n"))


def make(kind, size, seed):
    draw = random.Random(seed)
    makers = {"lines": make_line, "csv": make_csv, "jsonl": make_jsonl,
              "nul": lambda draw, number: words(draw, 9) + draw.choice(("\n", "")) + "\0",
              "fixed": lambda draw, number: "%016d" % draw.randrange(10 ** 16)}
    parts, total, number = [], 0, 0
    while total < size:
        parts.append(makers[kind](draw, number).encode())
        total += len(parts[-1])
        number += 1
    out.write(b"".join(parts))


def rows(data, pattern, at):
    """(offset, row) of what the pattern finds, without line ends and without what is empty then."""
    while at < len(data):
        end = pattern.match(data, at).end()
        row = data[at:end]
        if row.endswith(b"\n"):
            row = row[:-1]
            row = row[:-1] if row.endswith(b"\r") else row
        if row:
            yield at, row
        at = end


def frames(data):
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        yield at, data[at + 12:at + 12 + size]
        at += 16 + size


def records(kind, data):
    if kind.startswith("fixed:"):
        size = int(kind[6:])
        return ((at, data[at:at + size]) for at in range(0, len(data), size))
    if kind == "files":
        return [(0, data)]
    if kind == "tfrecord":
        return frames(data)
    if kind in ("csv", "csv:header", "jsonl"):
        pattern = re.compile(rb"[^\n]*(?:\n|\Z)") if kind == "jsonl" else ROW
        found = rows(data, pattern, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
        if kind == "csv:header":
            next(found, None)
        return found
    end = bytes.fromhex(kind[10:]) if kind.startswith("delimiter:") else b"\n"
    return lines(data, end)


def lines(data, end):
    at = 0
    while at < len(data):
        stop = data.find(end, at)
        line = data[at:stop if stop >= 0 else len(data)]
        yield at, line[:-1] if end == b"\n" and stop >= 0 and line.endswith(b"\r") else line
        at = stop + 1 if stop >= 0 else len(data)


def places(kind, names):
    for name in names:
        data = open(name, "rb").read()
        out.write(b"".join(b"%s:%d:%d:%s\n" % (name.encode(), number, at, record)
                           for number, (at, record) in enumerate(records(kind, data), 1)))


def bgzip(data):
    for at in [*range(0, len(data), 60000), len(data)]:
        block = data[at:at + 60000]
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = deflate.compress(block) + deflate.flush()
        yield (b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(packed) + 25) +
               packed + struct.pack("<II", zlib.crc32(block), len(block)))


def seekable(data):
    table = []
    for at in range(0, len(data), 1 << 20):
        block = data[at:at + (1 << 20)]
        packed = subprocess.run(["zstd", "-q", "-c"], input=block, stdout=subprocess.PIPE, check=True).stdout
        table.append(struct.pack("<II", len(packed), len(block)))
        yield packed
    body = b"".join(table) + struct.pack("<IBI", len(table), 0, 0x8F92EAB1)
    yield struct.pack("<II", 0x184D2A5E, len(body)) + body


def groups(pairs):
    sums = {}
    for key, amount in pairs:
        count, total = sums.get(key, (0, 0))
        sums[key] = count + 1, total + amount
    for key in sorted(sums, key=lambda key: key.encode()):
        out.write(("%s\t%d %d\n" % (key, *sums[key])).encode())


def csv_pairs(names):
    for name in names:
        with open(name, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield row["group"] + "/" + row['the "name"'][:3].replace("\n", "|"), int(row["amount"])


def jsonl_pairs(names):
    for name in names:
        with open(name, encoding="utf-8", newline="\n") as file:
            for line in file:
                if line.strip():
                    value = json.loads(line)
                    yield value.get("group", "none") + "/" + value["text"][-3:-1], value["nested"]["amount"]


def main(verb, *words):
    if verb == "make":
        make(words[0], int(words[1]), int(words[2]))
    elif verb == "places":
        places(words[0], words[1:])
    elif verb in ("bgzip", "seekable"):
        with open(words[1], "wb") as file:
            file.writelines({"bgzip": bgzip, "seekable": seekable}[verb](open(words[0], "rb").read()))
    elif verb == "csv-groups":
        groups(csv_pairs(words))
    else:
        groups(jsonl_pairs(words))


main(*sys.argv[1:])
