SELECT x, count(*), sum(w), min(w) FROM arc GROUP BY x
