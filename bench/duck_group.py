"""DuckDB's group by over csv or JSON lines: duck_group.py csv|jsonl FILE OUT TEMP THREADS

Told the columns, so that it need not look for them, and to write the groups in any order.
"""
import sys

import duckdb

form, source, target, temp, threads = sys.argv[1:6]
database = duckdb.connect(config={"threads": int(threads), "temp_directory": temp})
database.execute("SET preserve_insertion_order = false")
COLUMNS = {"id": "BIGINT", "day": "VARCHAR", "shop": "VARCHAR", "product": "VARCHAR",
           "color": "VARCHAR", "quantity": "BIGINT", "price": "DOUBLE", "customer": "VARCHAR",
           "city": "VARCHAR", "note": "VARCHAR"}
if form == "csv":
    reader = (f"read_csv('{source}', columns = {COLUMNS}, header = true, delim = ',', quote = '\"',"
              " escape = '\"', auto_detect = false)")
else:
    some = {name: COLUMNS[name] for name in ("product", "quantity")}
    reader = f"read_json('{source}', format = 'newline_delimited', columns = {some})"
database.execute(f"""
    COPY (SELECT product, sum(quantity) FROM {reader} GROUP BY product)
    TO '{target}' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '')
""")
