SELECT a.x, sum(b.w) FROM arc a JOIN arc b ON a.y = b.x GROUP BY a.x
