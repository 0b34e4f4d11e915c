"""DuckDB's word count: duck_count.py FILE OUT TEMP THREADS [sorted]

Reads lines as one column, splits them at blanks, groups, and writes `word TAB count`. Without
`sorted` the lines come in any order, which is the faster form: the kinder one to the peer.
"""
import sys

import duckdb

source, target, temp, threads = sys.argv[1:5]
order = "ORDER BY word" if sys.argv[5:] == ["sorted"] else ""
database = duckdb.connect(config={"threads": int(threads), "temp_directory": temp})
database.execute("SET preserve_insertion_order = false")
database.execute(f"""
    COPY (
        SELECT word, count(*) AS n
        FROM (
            SELECT unnest(string_split(line, ' ')) AS word
            FROM read_csv('{source}', columns = {{'line': 'VARCHAR'}}, header = false,
                          delim = '\\x01', quote = '', escape = '', auto_detect = false)
        )
        WHERE word <> ''
        GROUP BY word {order}
    ) TO '{target}' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '')
""")
