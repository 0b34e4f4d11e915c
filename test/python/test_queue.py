"""Queues: what is pushed is taken, and what becomes of an item when its loop ends."""
import gc
import threading

import pytest
import weft


def push_and_close(queue, *elements):
    queue.push_many(elements)
    queue.close()


def test_texts_and_bytes_come_as_they_went(c):
    queue = c.queue("texts")
    push_and_close(queue, "grün", b"\x00\xff", bytearray(b"array"))
    items = [(item.data, item.text, item.delivery) for item in queue]
    assert items[0] == ("grün".encode(), "grün", 1)
    assert items[1][0] == b"\x00\xff" and items[1][1].encode("utf-8", "surrogateescape") == b"\x00\xff"
    assert items[2][0] == b"array"


def test_asking_for_the_next_item_finishes_the_one_before(c):
    queue = c.queue("finishes")
    push_and_close(queue, "a", "b")
    loop = iter(queue)
    first = next(loop)
    assert not first.is_settled and queue.look()["leased_count"] == 1
    second = next(loop)
    assert first.is_settled and not second.is_settled
    assert list(loop) == [] and second.is_settled
    assert queue.look()["leased_count"] == 0


def test_break_gives_the_item_back(c):
    queue = c.queue("break")
    push_and_close(queue, "a", "b")
    for item in queue:
        break
    assert item.is_settled and len(queue) == 2
    assert [item.text for item in queue] == ["a", "b"]


def test_an_exception_gives_the_item_back(c):
    queue = c.queue("exception")
    push_and_close(queue, "a", "b")
    with pytest.raises(ZeroDivisionError):
        for item in queue:
            1 / 0
    assert len(queue) == 2


def test_with_finishes_the_item_at_its_end(c):
    queue = c.queue("with")
    push_and_close(queue, "a", "b", "c")
    for item in queue:
        with item:
            pass
        assert item.is_settled
        break
    with pytest.raises(ZeroDivisionError), queue.take():
        1 / 0
    assert sorted(item.text for item in queue) == ["b", "c"]


def test_an_item_that_is_dropped_goes_back(c):
    queue = c.queue("dropped")
    push_and_close(queue, "a")
    queue.take()
    gc.collect()
    assert len(queue) == 1


def test_leaving_gives_items_back(host, c):
    other = weft.connect(host.address)
    queue = other.queue("leave")
    queue.push("a")
    item = queue.take()
    other.leave()
    del item
    assert [found.text for found in [c.queue("leave").take(timeout=60)]] == ["a"]


def test_done_give_back_and_fail_by_hand(c):
    queue = c.queue("hand", deliveries_max=5)
    queue.push("a")
    item = queue.take()
    item.give_back()
    with pytest.raises(ValueError, match="settled before"):
        item.done()
    item = queue.take()
    item.fail()
    with pytest.raises(weft.Aborted):
        item.done()
    item = queue.take()
    assert item.delivery == 3
    item.done()
    queue.close()
    assert queue.take() is None


def test_an_element_with_a_key_counts_once(c):
    queue = c.queue("keys")
    for _ in range(3):
        queue.push("a", key="a")
    queue.push("b", key="b")
    queue.close()
    assert [item.text for item in queue] == ["a", "b"]


def test_a_closed_queue_refuses_and_says_so(c):
    queue = c.queue("closed")
    queue.close()
    queue.close()
    with pytest.raises(weft.Cancelled, match="closed"):
        queue.push("late")


def test_a_deadline_is_a_timeout_error(c):
    queue = c.queue("deadline", capacity=1)
    with pytest.raises(weft.DeadlineExceeded):
        queue.take(timeout=0.02)
    queue.push("a")
    with pytest.raises(TimeoutError):
        queue.push("b", timeout=0.02)
    assert queue.take_now().text == "a"
    with pytest.raises(weft.DeadlineExceeded):
        c.queue("deadline2", timeout=0.02).take()


def test_take_now_and_pop(c):
    queue = c.queue("now")
    assert queue.take_now() is None
    queue.push_many(["a", "b"])
    assert queue.pop() == b"a"
    with queue.take_now() as item:
        assert item.text == "b"
    queue.close()
    assert queue.pop() is None and queue.take_now() is None


def test_options_that_differ_are_refused(c):
    c.queue("limits", capacity=1).push("a")
    with pytest.raises(weft.InvalidArgument):
        c.queue("limits", capacity=2).push("b")


@pytest.mark.parametrize("wrong", [1, object(), None, [1]])
def test_only_texts_and_bytes_are_pushed(c, wrong):
    queue = c.queue("types")
    with pytest.raises(TypeError, match="str or bytes"):
        queue.push(wrong)
    with pytest.raises((TypeError, UnicodeEncodeError)):
        queue.push_many(["a", "\ud800"])


def test_threads_share_a_queue_and_lose_nothing(c):
    queue, seen = c.queue("threads", capacity=50), []

    def work():
        for item in queue:
            seen.append(int(item.text))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1000):
        queue.push(str(number))
    queue.close()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1000))


def test_other_threads_run_while_one_waits(c):
    queue, ran = c.queue("gil"), []
    waits = threading.Thread(target=lambda: ran.append(queue.take().text))
    waits.start()
    total = sum(range(1000))
    queue.push(str(total))
    waits.join(60)
    assert ran == [str(total)]


def test_a_cluster_with_waiting_threads_is_not_left(host):
    cluster = weft.connect(host.address)
    queue = cluster.queue("waiting")
    waits = threading.Thread(target=queue.take)
    waits.start()
    while not queue.look()["taker_count"]:
        pass
    with pytest.raises(RuntimeError, match="1 calls of other threads"):
        cluster.leave()
    queue.close()
    waits.join(60)
    cluster.leave()
    with pytest.raises(ValueError, match="left before"):
        queue.push("late")
