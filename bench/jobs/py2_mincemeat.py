"""py2_mincemeat.py FILE OUT: word count by the original mincemeat.py, of Python 2, with two clients; sorted.

The clients are started when the server listens. An item has a mebibyte of whole lines.
"""
import subprocess
import sys

import mincemeat

ITEM_BYTES = 1 << 20
CLIENTS = 2
PASSWORD = "bench"


def items(path):
    found = {}
    with open(path, "rb") as lines:
        while True:
            block = lines.read(ITEM_BYTES)
            if not block:
                return found
            found[len(found)] = block + lines.readline()


def mapfn(number, text):
    for word in text.split():
        yield word, 1


def reducefn(word, counts):
    return sum(counts)


class Server(mincemeat.Server):
    def listen(self, backlog):
        mincemeat.Server.listen(self, backlog)
        script = mincemeat.__file__.replace(".pyc", ".py")
        self.clients = [subprocess.Popen([sys.executable, script, "-p", PASSWORD, "localhost"]) for _ in range(CLIENTS)]


server = Server()
server.datasource, server.mapfn, server.reducefn = items(sys.argv[1]), mapfn, reducefn
counts = server.run_server(password=PASSWORD)
with open(sys.argv[2], "wb") as out:
    out.writelines("%s\t%d\n" % (word, counts[word]) for word in sorted(counts))
for client in server.clients:
    client.wait()
