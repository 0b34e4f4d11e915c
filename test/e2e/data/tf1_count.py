# A program for TensorFlow 1: a queue of names, two members that count words, one that owns the total.
import time
import tensorflow as tf

config = tf.contrib.learn.RunConfig()
server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
session = tf.Session(server.target)

with tf.device('/job:files/task:0'):
    names = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shared_name='names')

if config.task_type == 'files':
    next_name = tf.placeholder(tf.string)
    put, close = names.enqueue(next_name), names.close()
    for line in open('filenames.txt'):
        session.run(put, feed_dict={next_name: line.strip()})
    session.run(close)
    server.join()

with tf.device('/job:reduce/task:0'):
    total = tf.Variable(0, name='total')

if config.task_type == 'reduce':
    session.run(tf.global_variables_initializer())
    while True:
        print('{} words so far'.format(session.run(total)))
        time.sleep(0.1)

if config.task_type == 'map':
    take = names.dequeue()
    words = tf.placeholder(tf.int32)
    add = tf.assign(total, total + words)
    while True:
        name = session.run(take)
        count = len(open(name).read().split())
        time.sleep(0.05)
        print('{} words in {}'.format(count, name))
        session.run(add, feed_dict={words: count})
