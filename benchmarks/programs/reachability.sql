WITH RECURSIVE v(x) AS (FROM source UNION SELECT arc.y FROM v JOIN arc ON arc.x = v.x) FROM v
