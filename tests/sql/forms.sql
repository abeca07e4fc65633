-- Forms of queries, one a line, of which against_spark records Spark's answers; the tables are FORMS_OF.
SELECT count(*) AS n, sum(a) AS s FROM t WHERE false GROUP BY ALL
SELECT count(*) AS n, sum(a) AS s FROM t GROUP BY ALL
SELECT count(*) AS n, sum(a) AS s FROM t GROUP BY GROUPING SETS (())
SELECT count(*) AS n, max(b) AS m FROM t GROUP BY GROUPING SETS ((), ())
SELECT a, count(*) AS n FROM t GROUP BY GROUPING SETS ((a), ())
SELECT count(*) AS n FROM t GROUP BY ROLLUP (a)
SELECT count(*) AS n FROM t GROUP BY GROUPING SETS (()) HAVING count(*) > 3
SELECT a + b AS p, count(*) AS n FROM t GROUP BY GROUPING SETS ((a + b), (b + a), (b))
SELECT a + b AS p, b + a AS q, b, count(*) AS n FROM t GROUP BY GROUPING SETS ((a + b), (b + a), (b))
SELECT b + a AS q, count(*) AS n FROM t GROUP BY a + b
SELECT (b + 1) * a AS q, count(*) AS n FROM t GROUP BY a * (1 + b)
SELECT a > b AS q, b > 1 AND a > 1 AS p, count(*) AS n FROM t GROUP BY b < a, a > 1 AND b > 1
SELECT a + b + 1 AS q, count(*) AS n FROM t GROUP BY 1 + a + b
FROM t |> AGGREGATE sum(b) AS s GROUP BY a, 2
FROM t |> AGGREGATE sum(b) AS s GROUP BY 1, 3
FROM t |> AGGREGATE sum(b) AS s, count(*) AS n GROUP BY 1 AS k
FROM t |> JOIN u ON a = k |> AGGREGATE count(*) AS n GROUP BY 4
SELECT r.s.v FROM r, s
SELECT r.s.v AS p, r.s AS q FROM r WHERE r.s.w = 'a'
SELECT r.s.v, count(*) AS n FROM r GROUP BY r.s
SELECT all FROM (SELECT a AS all FROM t)
SELECT all, count(*) AS n FROM (SELECT a AS all FROM t) GROUP BY all
SELECT max(b) AS m FROM (SELECT a AS all, b FROM t) GROUP BY all
SELECT * FROM VALUES 0, 1, 2 AS v(id)
VALUES (1, 'a'), (2, 'b') AS v(id, n)
SELECT * FROM (VALUES (1), (2) AS v(i) JOIN u ON v.i = u.k)
SELECT * FROM ((VALUES (1), (2)) AS v(i) LEFT JOIN u ON v.i = u.k)
SELECT a FROM t WHERE EXISTS (WITH w AS (SELECT x FROM u WHERE u.k = t.a) SELECT * FROM w)
SELECT a, (WITH w AS (SELECT x FROM u WHERE u.k = t.a) SELECT sum(x) FROM w) AS s FROM t
SELECT a, y FROM t, LATERAL (WITH w AS (SELECT t.a + 1 AS y) SELECT y FROM w)
SELECT a, (WITH w AS (SELECT k FROM u), z AS (SELECT k FROM w WHERE k = t.a) SELECT count(*) FROM z) AS n FROM t
SELECT t.a, q.* FROM t, LATERAL (WITH w AS (SELECT k, x FROM u WHERE k <= t.a) SELECT count(*) AS n, max(x) AS m FROM w) q
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM (WITH w AS (SELECT k FROM u WHERE k = t.a) SELECT * FROM w))
SELECT a, sum(b) AS s FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.k = sum(t.b))
SELECT a, sum(b) AS s FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.x > max(t.b) AND u.k = t.a)
SELECT a FROM t GROUP BY a HAVING max(b) IN (SELECT k FROM u WHERE u.x = max(t.b))
SELECT (SELECT max(x) FROM u) AS m, count(*) AS n FROM t GROUP BY (SELECT max(x) FROM u)
SELECT a IN (SELECT k FROM u WHERE k IS NOT NULL) AS m, count(*) AS n FROM t WHERE a IS NOT NULL GROUP BY a IN (SELECT k FROM u WHERE k IS NOT NULL)
SELECT a, percentile_cont(0.5) WITHIN GROUP (ORDER BY b) OVER (PARTITION BY a) AS p FROM t
SELECT a, mode() WITHIN GROUP (ORDER BY b) OVER (PARTITION BY a) AS p FROM t
SELECT coalesce(*) AS p FROM (SELECT a, b FROM t)
SELECT count(*, a) AS p, count(DISTINCT *) AS q FROM t
SELECT struct(*) AS p, struct(t.*, 1 AS z).z AS q FROM t
SELECT count(*) AS n FROM t JOIN t
SELECT count(*) AS n FROM t LEFT JOIN t USING (a, b)
SELECT a FROM t NATURAL JOIN t
SELECT a, row_number() OVER (ORDER BY a, b, c ROWS UNBOUNDED PRECEDING) AS n FROM t
SELECT a, cume_dist() OVER (ORDER BY a RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM t
SELECT a, count(*) AS n FROM t GROUP BY a HAVING NULL
SELECT t.a FROM t UNION SELECT k FROM u ORDER BY t.a LIMIT 2
SELECT t.a, b FROM t UNION ALL SELECT k, x FROM u ORDER BY t.a + b, t.b DESC, t.a LIMIT 3
SELECT DISTINCT t.a FROM t ORDER BY t.a + 1 LIMIT 2
SELECT CAST(DATE '2024-03-01' - DATE '2024-01-01' AS INT) AS p, CAST(CAST(a AS INTERVAL DAY) AS BIGINT) AS q FROM t
SELECT avg(timestamp_seconds(a)) AS p, sum(timestamp_seconds(b)) AS q FROM t GROUP BY c
SELECT a, avg(timestamp_seconds(b)) OVER (PARTITION BY a) AS p FROM t
SELECT a, from_json(c, 'v INT, bad STRING', map('columnNameOfCorruptRecord', 'bad')) AS p FROM t
SELECT a, to_json(struct(a, b), map('ignoreNullFields', 'false')) AS p FROM t
SELECT * EXCEPT (s.v) FROM r
SELECT r.* EXCEPT (R.S.W, id) FROM r
SELECT * EXCEPT (t2.a, t2.b, t2.c) FROM t JOIN t t2 ON t.a = t2.b
SELECT s['v'] AS p, array(s)['w'] AS q FROM r
SELECT map('a', a, 'b', b).a AS p, map('x', s).x.w AS q FROM t JOIN r ON a = id
SELECT a, lead(b) OVER (PARTITION BY a ORDER BY b, c ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) AS p FROM t
SELECT a, b, grouping__id AS g, count(*) AS n FROM t GROUP BY a, b WITH ROLLUP
SELECT a FROM t GROUP BY ROLLUP (a) HAVING grouping__id = 1
SELECT a, explode(collection => array(a, b)) AS x FROM t
SELECT c FROM t WHERE c COLLATE UTF8_BINARY LIKE 'a%'
SELECT median(make_ym_interval(a)) IS NULL AS m, extract(DAY FROM percentile(make_dt_interval(b), 0.5)) AS d FROM t
SELECT k, id, x FROM u, range(0, 4, 1, 2) AS r(id) WHERE id = x
SELECT id, dense_rank(v) OVER (ORDER BY v, id) AS r FROM s
SELECT window.start AS w, count(*) AS n FROM (SELECT '2024-01-01 00:05:00' AS ts FROM s) GROUP BY window(ts, '10 minutes')
SELECT id, trunc(DATE '2024-05-17', s.w) AS d, date_trunc(s.w, TIMESTAMP '2024-05-17 01:02:03') AS t FROM r
SELECT b, max_by(a, struct(c, a), 2) AS m, min_by(c, struct(a, c), 1) AS n FROM t GROUP BY b
SELECT string(max(i)) AS m, string(min(i)) AS n FROM (SELECT make_dt_interval(a) AS i FROM t)
SELECT string(i) AS i FROM (SELECT CASE WHEN a > 1 THEN INTERVAL '1' DAY ELSE INTERVAL '30' HOUR END AS i FROM t)
SELECT round(regr_r2(a, b), 9) AS r, round(regr_slope(a, b), 9) AS s, string(corr(a * 1e200D, b * 1e200D)) AS c FROM t
SELECT from_csv(concat(a, ',', c), 'x INT, y STRING') AS r, to_csv(struct(a, c, b)) AS l FROM t
SELECT a FROM (VALUES (1), (2) JOIN t ON col1 = a)
SELECT a / (a - 9) AS q FROM t WHERE a = 9
SELECT format_string('%5d|%s|%b', a, c, b = 1) AS f, instr(c, 'a', -1) AS i FROM t
SELECT c, percentile(a, 0.3, abs(b) % 7) AS p FROM t GROUP BY c
SELECT percentile(a, array(0.25, 1), abs(b) % 5) AS p, percentile(b, 0.5, 0) AS q, percentile(b, 0.5, 3) AS r FROM t
SELECT c, bitmap_count(bitmap_construct_agg(abs(a) % 100)) AS n, hex(substring(bitmap_construct_agg(abs(b) % 100), 1, 16)) AS h FROM t GROUP BY c
SELECT hex(substring(bitmap_or_agg(CAST(c AS BINARY)), 1, 8)) AS o, hex(substring(bitmap_and_agg(CAST(c AS BINARY)), 1, 8)) AS p FROM t
SELECT c, approx_percentile(date_add(DATE '2024-01-01', a % 100), 0.5) AS p, percentile_approx(timestamp_seconds(b), array(0.1, 1)) AS q FROM t GROUP BY c
SELECT window(date_add(DATE '2024-01-01', a % 100), '3 days').start AS w, count(*) AS n FROM t GROUP BY 1
SELECT a, c LIKE '%a%' AS p, count(*) AS n FROM t GROUP BY ROLLUP (a, c LIKE '%a%')
SELECT a > 1 AS p, b IS NULL AS q, count(*) AS n FROM t GROUP BY GROUPING SETS ((a > 1, b IS NULL), (a > 1), b IS NULL)
SELECT a > 1 OR b > 1 AS p, count(*) AS n FROM t GROUP BY CUBE (a > 1 OR b > 1)
SELECT z, y FROM (SELECT a + 1 AS z FROM t) q, LATERAL (SELECT z + 1 AS y)
SELECT z, (SELECT z + 1) AS y FROM (SELECT a + 1 AS z FROM t) q
SELECT a FROM t WHERE CAST(1 AS DOUBLE) IN (SELECT CAST(1 AS BIGINT))
SELECT * FROM t PIVOT (sum(b) + 1 FOR c IN ('a' AS p, 'b' AS q))
SELECT * FROM t PIVOT (coalesce(sum(b), 0) AS s, count(*) * 2 AS n FOR c IN ('a', 'b', 'nope'))
SELECT a, grouping(a) AS g, count(*) AS n FROM t GROUP BY ROLLUP (a)
SELECT sort_array(collect_union(array(a, b))) AS u FROM t
SELECT +a AS p, +'1' AS q FROM t
SELECT count(*) AS n, max(a) AS m FROM t GROUP BY if(a > 1, upper(c), c) COLLATE UNICODE_CI
SELECT b, count(DISTINCT if(a > 1, upper(c), c) COLLATE UTF8_LCASE) AS n, count(DISTINCT c COLLATE UNICODE_CI_AI) AS m FROM t GROUP BY b
SELECT a, rank() OVER (PARTITION BY c COLLATE UNICODE_CI_AI ORDER BY upper(c) COLLATE sv_CI, a) AS n FROM t
SELECT p.a, q.b FROM t p JOIN t q ON upper(p.c) COLLATE UNICODE_CI = q.c
SELECT a FROM t WHERE concat(upper(c), ' ') COLLATE de_CI_RTRIM IN (SELECT w FROM (SELECT s.w FROM r) WHERE w IS NOT NULL)
SELECT a, contains(c COLLATE UTF8_LCASE, 'A') AS p, collation(upper(c COLLATE unicode_ci)) AS n, length(c COLLATE UNICODE) AS l FROM t
SELECT a, CAST(NULL AS INT) IN (SELECT k FROM u) AS p, nullif(1, 1) NOT IN (SELECT x FROM u) AS q FROM t
SELECT a FROM t WHERE ((1 + NULL) IN (SELECT k FROM u)) IS NULL
SELECT a, NULL NOT IN (SELECT k FROM u WHERE k > t.a) AS p FROM t
SELECT lower(x) AS x, count(*) AS n, max(a) AS m FROM (SELECT if(a > 1, upper(c), c) COLLATE UTF8_LCASE AS x, a FROM t) GROUP BY lower(x)
SELECT lower(x) AS x, a > 1 AS p, count(*) AS n FROM (SELECT if(a > 1, upper(c), c) COLLATE UNICODE_CI AS x, a FROM t) GROUP BY CUBE (lower(x), a > 1)
SELECT DISTINCT upper(x) AS x, b FROM (SELECT if(a > 1, upper(c), c) COLLATE UTF8_LCASE AS x, b FROM t)
SELECT upper(x) AS x FROM (SELECT c COLLATE UNICODE_CI AS x FROM t) UNION SELECT upper(w) FROM (SELECT s.w COLLATE UNICODE_CI AS w FROM r)
SELECT upper(x) AS x FROM (SELECT c COLLATE UTF8_LCASE AS x FROM t) EXCEPT SELECT lower(w) FROM (SELECT s.w COLLATE UTF8_LCASE AS w FROM r)
SELECT p.a, q.a AS b FROM (SELECT c COLLATE UTF8_LCASE AS x, a FROM t) p JOIN (SELECT upper(c) COLLATE UTF8_LCASE AS x, a FROM t) q USING (x)
SELECT p.a, q.x = 'AB' AS q FROM t p LEFT JOIN (SELECT upper(c) COLLATE UTF8_LCASE AS x FROM t) q ON p.c COLLATE UTF8_LCASE = q.x
SELECT a, x IN ('A', 'b') AS p, x BETWEEN 'A' AND 'C' AS q, upper(greatest(x, 'B')) AS r, replace(CAST(x AS STRING), 'a', '') AS s FROM (SELECT c COLLATE UTF8_LCASE AS x, a FROM t)
SELECT a, x LIKE 'A%' AS p, x RLIKE '^A' AS q, contains(x, 'B') AS r, instr(x, 'B') AS s, regexp_replace(x, 'A', '-') AS u FROM (SELECT c COLLATE UTF8_LCASE AS x, a FROM t)
SELECT b, upper(min(x)) AS p, upper(max(x)) AS q, max(a) AS m FROM (SELECT if(a > 1, upper(c), c) COLLATE UNICODE_CI AS x, a, b FROM t) GROUP BY b HAVING max(x) > 'A'
SELECT a, count(*) OVER (PARTITION BY x) AS n, dense_rank() OVER (ORDER BY x) AS m FROM (SELECT if(a > 1, upper(c), c) COLLATE UTF8_LCASE AS x, a FROM t)
SELECT a FROM (SELECT c COLLATE UTF8_LCASE AS x, a FROM t) WHERE x IN (SELECT upper(w) FROM (SELECT s.w COLLATE UTF8_LCASE AS w FROM r)) OR EXISTS (SELECT 1 FROM r WHERE r.s.w COLLATE UNICODE_CI = x)
SELECT b, hex(listagg(CAST(c AS BINARY), X'2C') WITHIN GROUP (ORDER BY c DESC)) AS l, hex(listagg(DISTINCT CAST(c AS BINARY)) WITHIN GROUP (ORDER BY CAST(c AS BINARY))) AS m FROM t GROUP BY b
SELECT a, get_json_object('{"a":[1],"ab":{"b":"x"}}', concat('$.', c)) AS x, get_json_object('{"a":1}', c) AS y FROM t
