from weft.mincemeat import run_client

run_client()
