export TF_CONFIG='{
  "cluster": {
    "a": [
      "localhost:2222"
    ]
  },
  "task": {
    "type": "a",
    "index": 0
  }
}'
export CUDA_VISIBLE_DEVICES=-1
