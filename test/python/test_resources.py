"""Variables, maps and barriers; and what they are with numpy and without."""
import array
import threading

import pytest
import weft


def test_an_int_is_added_to_and_compared(c):
    var = c.var("int")
    assert var.get() == 0
    assert var.add(3) == 3 and var.add(-1) == 2
    assert var.swap(2, 10) and not var.swap(2, 11)
    assert var.max(20) == 20 and var.min(5) == 5
    var.set(-7)
    assert var.get() == var.read() == -7


def test_an_add_with_an_item_counts_once(c):
    queue, var = c.queue("once"), c.var("once")
    queue.push("a")
    for _ in range(3):
        item = queue.take()
        var.add(5, item=item)
        item.give_back()
    assert var.get() == 5
    item = queue.take()
    item.done()
    with pytest.raises(ValueError, match="settled before"):
        var.add(1, item=item)
    with pytest.raises(TypeError, match="an item of a queue"):
        var.add(1, item="a")


def test_an_overflow_is_an_error_and_changes_nothing(c):
    var = c.var("overflow", 2**63 - 1)
    with pytest.raises(weft.FailedPrecondition, match="overflow"):
        var.add(1)
    with pytest.raises(OverflowError):
        var.add(2**64)
    assert var.get() == 2**63 - 1


@pytest.mark.parametrize("value, dtype", [(1.5, "float64"), (True, "bool"), (b"ab\0", "bytes"), (-3, "int64")])
def test_the_type_is_that_of_the_first_value(c, value, dtype):
    var = c.var(f"type-{dtype}", value)
    assert var.dtype == dtype and var.get() == value and type(var.get()) is type(value)


def test_bytes_may_grow(c):
    var = c.var("grow", b"")
    for size in (0, 1, 4095, 4096, 4097, 100000):
        var.set(b"x" * size)
        assert var.get() == b"x" * size


def test_a_variable_without_a_value_is_read_after_it_is_set(c):
    var = c.var("unset", unset=True)
    with pytest.raises(weft.FailedPrecondition):
        var.get()
    var.set(1)
    assert var.get() == 1


def test_an_array_is_read_into_a_buffer(c):
    var = c.var("array", dtype="float32", shape=(2, 3))
    var.set([[1, 2, 3], [4, 5, 6]])
    out = array.array("f", [0] * 6)
    assert var.read(out=out) is out and list(out) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="24 bytes"):
        var.read(out=array.array("f", [0] * 5))
    with pytest.raises(ValueError, match="24 bytes"):
        var.read(out=array.array("f", [0] * 7))
    with pytest.raises((TypeError, BufferError)):
        var.read(out=b"read only, as long as 24")


def test_an_array_of_numpy(c):
    numpy = pytest.importorskip("numpy")
    var = c.var("numpy", numpy.arange(6, dtype="float64").reshape(2, 3))
    var.add(numpy.ones((2, 3)))
    assert (var.get() == numpy.arange(1, 7).reshape(2, 3)).all()


def test_a_wrong_type_is_refused(c):
    with pytest.raises(ValueError, match="cannot be of complex"):
        c.var("complex", dtype="complex")
    c.var("of", 1).set(2)
    with pytest.raises(weft.InvalidArgument):
        c.var("of", 1.5).get()


def test_a_watch_sees_the_last_value(host, c):
    var, seen = c.var("watch"), []
    with weft.connect(host.address) as other:
        watched = other.var("watch")

        def watch():
            for value in watched:
                seen.append(value)
                if value == 3:
                    break

        thread = threading.Thread(target=watch)
        thread.start()
        for _ in range(3):
            var.add(1)
        thread.join(60)
    assert seen[-1] == 3


def test_a_map_has_keys_versions_and_a_range(c):
    kv = c.kv("map")
    kv["b"] = "2"
    kv["a"] = b"1"
    version = kv.put("c", "3")
    assert kv["a"] == b"1" and kv.get("x") is None and kv.get("x", 5) == 5 and "a" in kv and "x" not in kv
    assert kv.get_version("c") == (b"3", version)
    assert list(kv.range()) == [("a", b"1"), ("b", b"2"), ("c", b"3")]
    assert list(kv.range("b", "c")) == [("b", b"2")]
    with pytest.raises(weft.FailedPrecondition):
        kv.put("c", "4", version=version + 1)
    with pytest.raises(weft.FailedPrecondition):
        kv.put("c", "4", version=0)
    del kv["c"]
    with pytest.raises(KeyError):
        kv["c"]


def test_a_watch_of_a_map_sees_changes(c):
    kv = c.kv("changes")
    kv["a/1"] = "x"
    changes = kv.watch("a/")
    assert next(changes) == ("a/1", b"x")
    kv["b"] = "not watched"
    kv["a/2"] = "y"
    assert next(changes) == ("a/2", b"y")
    kv.remove("a/1")
    assert next(changes) == ("a/1", None)


def test_a_key_that_is_owned_goes_with_its_member(host, c):
    kv = c.kv("owned")
    with weft.connect(host.address) as other:
        other.kv("owned").put("address", "here", owned=True)
        assert kv["address"] == b"here"
    assert "address" not in kv


def test_a_barrier_lets_all_through_at_once(c):
    barrier, generations = c.barrier("barrier", 3), []
    threads = [threading.Thread(target=lambda: generations.append(barrier.wait())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert generations == [1, 1, 1]
    with pytest.raises(weft.DeadlineExceeded):
        barrier.wait(timeout=0.02)


# ---- What is given and what is meant

@pytest.mark.parametrize("call", [
    lambda c: c.queue("nothing").push(None), lambda c: c.queue("nothing").push_many(["a", None]), lambda c: c.var("nothing", b"").set(None),
    lambda c: c.kv("nothing").put("key", None), lambda c: c.kv("nothing").put(None, "value"), lambda c: c.kv("nothing").get(None)])
def test_none_is_neither_text_nor_bytes(c, call):
    with pytest.raises(TypeError, match="a str or bytes is needed"):
        call(c)
    assert len(c.queue("nothing")) == 0


def test_names_of_files_that_are_not_utf8_come_back(c):
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    queue, settings = c.queue("names"), c.kv("names")
    queue.push(name, key=name)
    settings[name] = name
    item = queue.take()
    assert item.text == name and item.data == b"caf\xe9.txt" and settings[name] == b"caf\xe9.txt" and list(settings) == [name]
    queue.push(item.text)
    with pytest.raises(UnicodeError):
        queue.push("\ud800")


def test_a_value_of_another_type_is_a_type_error(c):
    var = c.var("typed")
    for value in 1.5, "5", None:
        with pytest.raises(TypeError, match="is not a value of int64"):
            var.add(value)
    with pytest.raises(OverflowError):
        var.set(-2**63 - 1)


def test_arrays_of_another_shape_or_type_are_refused(c):
    numpy = pytest.importorskip("numpy")
    var = c.var("shaped", dtype="float64", shape=(2, 3))
    with pytest.raises(ValueError, match=r"the array has the shape \(3, 2\), and the variable \(2, 3\)"):
        var.set(numpy.ones((3, 2)))
    with pytest.raises(TypeError, match="of float64, and `out` has items of 8 bytes of another type"):
        var.read(out=numpy.zeros((2, 3), dtype="int64"))
    with pytest.raises(TypeError, match="of another type"):
        var.read(out=numpy.zeros((4, 3), dtype="float32"))
    var.set(numpy.arange(6).reshape(2, 3))
    room = bytearray(48)
    assert numpy.frombuffer(var.read(out=room)).tolist() == [0, 1, 2, 3, 4, 5]
    numbers = c.var("shaped ints", dtype="int64", shape=(2,))
    assert numbers.read(out=numpy.ones(2, dtype="int64")).tolist() == [0, 0] and numbers.read(out=array.array("l", [1, 1])).tolist() == [0, 0]


def test_a_map_is_read_as_a_dict(c):
    settings = c.kv("as a dict")
    settings["b"], settings["a"] = "2", "1"
    assert list(settings) == list(settings.keys()) == ["a", "b"]
    assert dict(settings) == dict(settings.items()) == {"a": b"1", "b": b"2"}
    del settings["a"]
    with pytest.raises(KeyError):
        del settings["a"]
