"""spark_count.py FILE OUT: word count by Spark's RDDs, two cores on this machine; sorted."""
import operator
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
lines = spark.sparkContext.textFile(sys.argv[1], use_unicode=False)
counts = lines.flatMap(bytes.split).map(lambda word: (word, 1)).reduceByKey(operator.add).collect()
spark.stop()
with open(sys.argv[2], "wb") as out:
    out.writelines(b"%s\t%d\n" % pair for pair in sorted(counts))
