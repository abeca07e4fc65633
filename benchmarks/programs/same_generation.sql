WITH RECURSIVE v(x, y) AS (
    SELECT a.y, b.y FROM arc a JOIN arc b ON a.x = b.x WHERE a.y <> b.y
    UNION SELECT a.y, b.y FROM v JOIN arc a ON a.x = v.x JOIN arc b ON b.x = v.y
) FROM v
