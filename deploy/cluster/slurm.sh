#!/bin/sh
# Learns the tasks of a plan (docs/scale-out.md). Not tried on a real cluster.
# sbatch slurm.sh, then sbatch --dependency=afterok:JOB --array=0-47 with `merge` for `learn`, and --array=0-15 with `seal`.
#SBATCH --job-name=kato-learn
#SBATCH --array=0-999%100
#SBATCH --cpus-per-task=8
#SBATCH --mem=4G
#SBATCH --requeue
exec kato cluster learn --store /shared/plan-1 --scratch "${TMPDIR:-/tmp}"
