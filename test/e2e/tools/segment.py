#!/usr/bin/env python3
"""segment.py VERB FILE [WORD...]: looks at a segment of a journal, and damages it. The layout is that of
src/store/journal/segment.c.

    records FILE          the offset of each record, and of the end, one per line
    flip FILE N           flips a bit in the payload of record N, from 0; -N from the end
    cut FILE N            cuts the file in the middle of record N
    misfit FILE N         makes record N one of a type that nobody knows, with the right checksum
    version FILE V        makes it one of format version V, with the right checksum
"""
import struct
import sys

HEADER, HEAD = 64, 20
POLYNOMIAL = 0x82F63B78
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ POLYNOMIAL if byte & 1 else byte >> 1
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def salt(data):
    version, number = struct.unpack_from("<I4xQ", data, 8)
    return struct.pack("<Q", number) if version >= 2 else b""


def sum_of(data, at, size):
    return crc32c(salt(data) + data[at : at + 4] + data[at + 8 : at + HEAD + size])


def records(data):
    """The offsets of all records, and of the end; sizes and sequences are believed."""
    at, offsets = HEADER, [HEADER]
    sequence = struct.unpack_from("<Q", data, 24)[0]
    while at + HEAD <= len(data):
        size = struct.unpack_from("<I", data, at)[0] & 0x7FFFFFFF
        if struct.unpack_from("<Q", data, at + 12)[0] != sequence or at + HEAD + size > len(data):
            break
        at += HEAD + size
        sequence += 1
        offsets.append(at)
    return offsets


def main(verb, path, *words):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    offsets = records(data)
    number = int(words[0]) if words else 0
    if verb == "records":
        print(*offsets, sep="\n")
        return
    if verb == "version":
        struct.pack_into("<I", data, 8, number)
        struct.pack_into("<I", data, 12, crc32c(data[:12] + data[16:HEADER]))
    else:
        begin = offsets[:-1][number]
        size = offsets[offsets.index(begin) + 1] - begin - HEAD
        if verb == "flip":
            data[begin + HEAD + size // 2] ^= 4
        elif verb == "cut":
            del data[begin + HEAD + size // 2 :]
        elif verb == "misfit":
            struct.pack_into("<I", data, begin + 8, 99)
            struct.pack_into("<I", data, begin + 4, sum_of(data, begin, size))
        else:
            sys.exit(__doc__)
    with open(path, "wb") as file:
        file.write(data)


main(*sys.argv[1:])
