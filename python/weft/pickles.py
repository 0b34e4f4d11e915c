"""Pickles of keys and values, where those of the standard library do not do.

Equal keys must have the same bytes in every slot: dumps_key(). Classes of a prompt or notebook, and those that a lambda of the main file
refers to, travel by value, and yet their objects come back as objects of the same classes: dumps_travelling() and dumps_named().
"""
import io
import pickle
import sys
import types

PROTOCOL = 4
SETS = (pickle.EMPTY_SET, pickle.FROZENSET)

homes = {"__main__"}  # modules whose classes may come by value


# ---- Keys ---------------------------------------------------------------------------------------------------------

class Sorting(pickle._Pickler):
    """Writes the items of a set in the order of their own pickles: that in memory depends on the process."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_items(self, items, before, after):
        self.write(before + pickle.MARK)
        for item in sorted(items, key=dumps_key):
            self.save(item)
        self.write(after)

    def save_set(self, items):
        self.save_items(items, pickle.EMPTY_SET, pickle.ADDITEMS)

    def save_frozenset(self, items):
        self.save_items(items, b"", pickle.FROZENSET)

    dispatch[set] = save_set
    dispatch[frozenset] = save_frozenset


def dump_plainly(cls, object):
    """Without references to parts that came before: whether two equal parts are one object is chance."""
    file = io.BytesIO()
    pickler = cls(file, PROTOCOL)
    pickler.fast = True
    pickler.dump(object)
    return file.getvalue()


def dumps_key(object):
    """The pickle of a key."""
    try:
        data = dump_plainly(pickle.Pickler, object)
        # The same bytes in a number or text cost time alone.
        return dump_plainly(Sorting, object) if any(code in data for code in SETS) else data
    except (ValueError, RecursionError):
        return pickle.dumps(object, PROTOCOL)  # it contains itself


# ---- Classes that travel by value -----------------------------------------------------------------------------------

def home_of(name):
    """The module of that name; one that this process does not have begins empty, as the script that it is would do its work again."""
    homes.add(name)
    return sys.modules.setdefault(name, types.ModuleType(name))


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def settle(cls):
    """Makes a class that came by value known by its name, so that its objects are pickled as at home."""
    home = home_of(cls.__module__)
    if "." not in cls.__qualname__ and not hasattr(home, cls.__qualname__):
        setattr(home, cls.__qualname__, cls)
    return cls


def class_of(module, name, data):
    """The class of that name: the one of the main file that this process has imported, else the one that came."""
    found = find(home_of(module), name)
    return found if isinstance(found, type) else settle(pickle.loads(data))


def dumps_travelling(object, home):
    """cloudpickle's, for slots: the classes of the module `home` go under their names, and by value for slots that lack them."""
    import cloudpickle

    class Travelling(cloudpickle.CloudPickler):
        def reducer_override(self, part):
            if isinstance(part, type) and part.__module__ == home and find(sys.modules[home], part.__qualname__) is part:
                return class_of, (home, part.__qualname__, cloudpickle.dumps(part, protocol=PROTOCOL))
            return super().reducer_override(part)

    file = io.BytesIO()
    Travelling(file, protocol=PROTOCOL).dump(object)
    return file.getvalue()


def dumps_classes(home):
    """The classes that the module defines, but those that cannot be pickled."""
    found = []
    for part in list(vars(sys.modules[home]).values()):
        if isinstance(part, type) and part.__module__ == home:
            try:
                dumps_travelling(part, home)
            except Exception:
                continue
            found.append(part)
    return dumps_travelling(found, home)


class Naming(pickle.Pickler):
    """Settles the classes that it meets."""

    def reducer_override(self, part):
        if isinstance(part, type) and part.__module__ in homes:
            settle(part)
        return NotImplemented


def dumps_named(object, is_key):
    """The pickle of an object that could not be pickled as it was: perhaps its class came by value inside of another one."""
    Naming(io.BytesIO(), PROTOCOL).dump(object)
    return dumps_key(object) if is_key else pickle.dumps(object, PROTOCOL)
