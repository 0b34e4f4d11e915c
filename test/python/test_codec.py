"""Keys and values as bytes: what was encoded comes back, keys sort as the documentation says, damaged bytes raise."""
import enum
import math
import os
import random
import struct

import pytest
from weft import _slot

SEED = int(os.environ.get("WEFT_SEED", "1"))
ROUNDS = 20000 if os.environ.get("WEFT_LONG") else 2000
RANK = {str: 0, type(None): 1, bool: 2, int: 3, float: 4, bytes: 5, tuple: 6}


def draw_str(draw):
    alphabet = draw.choice(["ab", "a\0b", "é\u0800\U0001F600z", "\udc80\udcff\udcf8a", "\ud800a"])
    return "".join(draw.choice(alphabet) for _ in range(draw.choice([0, 1, 2, 5, 9, 30])))


def draw_int(draw):
    bits = draw.choice([1, 7, 8, 9, 31, 32, 63, 64, 65, 200, 1015, 1016, 1017, 5000])
    return draw.choice([-1, 1]) * draw.choice([draw.getrandbits(bits), 1 << bits, (1 << bits) - 1])


def draw_float(draw):
    return draw.choice([0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, 5e-324, draw.uniform(-1e9, 1e9),
                        struct.unpack("<d", draw.randbytes(8))[0]])


def draw_value(draw, depth=0):
    kind = draw.randrange(7 if depth < 3 else 6)
    if kind == 6:
        return tuple(draw_value(draw, depth + 1) for _ in range(draw.choice([0, 1, 2, 4])))
    return [draw_str, lambda d: None, lambda d: d.choice([True, False]), draw_int, draw_float,
            lambda d: d.randbytes(d.choice([0, 1, 3, 20])).replace(b"\x01", b"\0")][kind](draw)


def is_same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return one == other


def rank(value):
    """The documented order of keys, without the encoding."""
    kind = RANK[type(value)]
    if kind == 0:
        return kind, value.encode("utf-8", "surrogateescape")
    if kind == 4 and value == 0:
        value = 0.0
    if kind == 6:
        return kind, tuple(rank(item) for item in value)
    return kind, (0 if value is None else value)


def is_plain(value):
    """Whether the value is encoded by itself: not as a pickle, and with an order."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == value
        except UnicodeError:
            return False
    return not (isinstance(value, float) and math.isnan(value))


def test_what_was_encoded_comes_back():
    draw = random.Random(SEED)
    for _ in range(ROUNDS):
        value = draw_value(draw)
        assert is_same(_slot.decode(_slot.encode(value, False)), value), (SEED, value)


def test_keys_sort_in_the_documented_order():
    draw = random.Random(SEED + 1)
    keys = [key for key in (draw_value(draw) for _ in range(ROUNDS)) if is_plain(key)]
    assert len(keys) > ROUNDS / 2
    assert [rank(key) for key in sorted(keys, key=_slot.encode)] == sorted(rank(key) for key in keys)


def test_equal_keys_are_one_and_others_are_not():
    draw = random.Random(SEED + 2)
    seen = {}
    for _ in range(ROUNDS):
        key = draw_value(draw)
        if is_plain(key):
            assert seen.setdefault(_slot.encode(key), rank(key)) == rank(key)
    assert len({_slot.encode(key) for key in (1, 1.0, True, "1", b"1", (1,), None)}) == 7
    assert _slot.encode(-0.0) == _slot.encode(0.0) and _slot.encode(math.nan) == _slot.encode(-math.nan)


def test_text_is_plain_utf8():
    for text in "", "a", "é", "\udcff after", "tab\tin it", "\U0001F600":
        raw = text.encode("utf-8", "surrogateescape")
        assert _slot.encode(text) == (b"\xf8" + raw if raw[:1] >= b"\xf8" else raw)


@pytest.mark.parametrize("value", [
    [1, 2], {"a": {1}}, 1 + 2j, ([],), "\ud800", "\udcc3\udca9", enum.IntEnum("Colour", "RED")(1).value,
    tuple([()]), type("Deep", (), {})().__class__.__name__], ids=repr)
def test_everything_else_is_pickled(value):
    assert _slot.decode(_slot.encode(value)) == value


def test_deep_tuples():
    deep = ()
    for _ in range(300):
        deep = (deep,)
    assert _slot.decode(_slot.encode(deep)) == deep


def test_an_object_that_cannot_be_pickled_is_named():
    with pytest.raises(TypeError, match="function.*cannot be a key or value"):
        _slot.encode(lambda: None)


def test_damaged_bytes_raise_and_do_no_harm():
    draw = random.Random(SEED + 3)
    for _ in range(ROUNDS * 5):
        data = bytearray(_slot.encode(draw_value(draw), False))
        for _ in range(draw.randrange(4)):
            if data:
                data[draw.randrange(len(data))] = draw.choice([0, 0xF8, 0xFA, 0xFB, 0xFD, 0xFF, draw.randrange(256)])
        if draw.random() < 0.3:
            del data[draw.randrange(len(data) + 1):]
        if data[:1] == b"\xfe":
            continue  # pickle speaks for itself
        try:
            _slot.encode(_slot.decode(bytes(data)))
        except ValueError:
            pass
