"""State that outlives the process: files of runs, manifests that name them, and a log of the epochs since."""
