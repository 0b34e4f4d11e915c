"""MultiWorkerMirroredStrategy with its own training loop; no Keras. Prints the weights."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
random = np.random.default_rng(1)
inputs = random.random((512, 3), dtype=np.float32)
outputs = inputs @ np.array([[1], [2], [3]], np.float32)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
data = tf.data.Dataset.from_tensor_slices((inputs, outputs)).repeat().batch(64).with_options(options)
batches = iter(strategy.experimental_distribute_dataset(data))

with strategy.scope():
    weights = tf.Variable(tf.zeros([3, 1]))


@tf.function
def step(batches):
    def learn(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.5 * tf.distribute.get_replica_context().all_reduce("mean", gradient))
        return loss

    return strategy.reduce("mean", strategy.run(learn, (next(batches),)), axis=None)


for _ in range(300):
    loss = step(batches)
print(strategy.num_replicas_in_sync, "replicas", np.round(weights.numpy().ravel(), 1).tolist(), flush=True)
if float(loss) > 0.01:
    raise SystemExit(f"the loss is still {float(loss)}")
