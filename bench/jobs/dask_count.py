"""dask_count.py FILE OUT: word count by Dask's bag on two worker processes of one thread; sorted."""
import sys

import dask.bag
from distributed import Client, LocalCluster


def main():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        words = dask.bag.read_text(sys.argv[1], blocksize=16 << 20, encoding="latin-1").map(str.split).flatten()
        counts = words.frequencies().compute()
    with open(sys.argv[2], "w", encoding="latin-1") as out:
        out.writelines(f"{word}\t{count}\n" for word, count in sorted(counts))


if __name__ == "__main__":
    main()
