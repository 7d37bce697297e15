#!/bin/sh
# Learns, merges and seals a plan of 100 tasks, 3 levels and 4 ranges on this machine (docs/scale-out.md), with GNU parallel.
set -e
export KATO_CLUSTER_STORE="$1"
seq 0 99 | parallel --retries 5 kato cluster learn --workers 1 --task {}
seq 0 11 | parallel --retries 5 kato cluster merge --piece {}
seq 0 3 | parallel --retries 5 kato cluster seal --range {}
exec kato cluster publish --kb "$2"
