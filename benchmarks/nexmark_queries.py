"""The queries of Nexmark as views of Deltic, for the events of `events`."""

from __future__ import annotations

SIDE = "CREATE TABLE side (key BIGINT, value STRING)"
"""What q13 joins bids with: a small table that stays as it is."""

_OUTER = "a.id, a.item, a.description, a.initial, a.reserve, a.at, a.expires, a.seller, a.category, a.extra"
_BIDS = "b.auction, b.bidder, b.price, b.at AS bid_at, b.extra AS bid_extra"
_RANKS = """
    count(*) AS total, count(*) FILTER (WHERE price < 10000) AS low,
    count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
    count(*) FILTER (WHERE price >= 1000000) AS high"""
_DISTINCT = """
    count(DISTINCT {0}) AS {0}s,
    count(DISTINCT {0}) FILTER (WHERE price < 10000) AS {0}s_low,
    count(DISTINCT {0}) FILTER (WHERE price >= 10000 AND price < 1000000) AS {0}s_middle,
    count(DISTINCT {0}) FILTER (WHERE price >= 1000000) AS {0}s_high"""

QUERIES = {
    "q0": "SELECT auction, bidder, price, at, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, at, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": """SELECT category, avg(final) AS price FROM (
            SELECT a.id, a.category, max(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction
            WHERE b.at BETWEEN a.at AND a.expires GROUP BY a.id, a.category)
        GROUP BY category""",
    "q5": """WITH counts AS (SELECT auction, count(*) AS n, window.start AS since, window.end AS until FROM bid
            GROUP BY auction, window(at, '10 seconds', '2 seconds'))
        SELECT c.auction, c.n FROM counts c
        JOIN (SELECT max(n) AS most, since, until FROM counts GROUP BY since, until) m
        ON c.since = m.since AND c.until = m.until AND c.n >= m.most""",
    "q6": """SELECT seller, avg(final) OVER (PARTITION BY seller ORDER BY at ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
            AS price FROM (
            SELECT a.id, a.seller, b.price AS final, b.at,
                row_number() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC, b.at) AS place
            FROM auction a JOIN bid b ON a.id = b.auction WHERE b.at BETWEEN a.at AND a.expires)
        WHERE place <= 1""",
    "q7": """SELECT b.auction, b.price, b.bidder, b.at, b.extra FROM bid b JOIN (
            SELECT max(price) AS price, window.end AS until FROM bid GROUP BY window(at, '10 seconds')) m
        ON b.price = m.price AND b.at BETWEEN m.until - INTERVAL 10 SECONDS AND m.until""",
    "q8": """SELECT p.id, p.name, p.since FROM
        (SELECT id, name, window.start AS since FROM person GROUP BY id, name, window(at, '10 seconds')) p JOIN
        (SELECT seller, window.start AS since FROM auction GROUP BY seller, window(at, '10 seconds')) a
        ON p.id = a.seller AND p.since = a.since""",
    "q9": f"""SELECT * FROM (SELECT {_OUTER}, {_BIDS},
            row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.at) AS place
            FROM auction a JOIN bid b ON a.id = b.auction WHERE b.at BETWEEN a.at AND a.expires)
        WHERE place <= 1""",
    "q10": """SELECT auction, bidder, price, at, extra, date_format(at, 'yyyy-MM-dd') AS day,
        date_format(at, 'HH:mm') AS minute FROM bid""",
    "q11": """SELECT bidder, count(*) AS n, session_window.start AS since, session_window.end AS until FROM bid
        GROUP BY bidder, session_window(at, '10 seconds')""",
    "q12": """SELECT bidder, count(*) AS n, window.start AS since, window.end AS until FROM bid
        GROUP BY bidder, window(at, '10 seconds')""",
    "q13": """SELECT b.auction, b.bidder, b.price, b.at, s.value FROM bid b JOIN side s ON b.auction % 10000 = s.key""",
    "q14": """SELECT auction, bidder, 0.908 * price AS price,
            CASE WHEN hour(at) BETWEEN 8 AND 18 THEN 'day' WHEN hour(at) <= 6 OR hour(at) >= 20 THEN 'night'
            ELSE 'other' END AS time, at, extra, length(extra) - length(replace(extra, 'c', '')) AS cs
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"""SELECT date_format(at, 'yyyy-MM-dd') AS day, {_RANKS}, {_DISTINCT.format("bidder")},
        {_DISTINCT.format("auction")} FROM bid GROUP BY date_format(at, 'yyyy-MM-dd')""",
    "q16": f"""SELECT channel, date_format(at, 'yyyy-MM-dd') AS day, max(date_format(at, 'HH:mm')) AS minute, {_RANKS},
        {_DISTINCT.format("bidder")}, {_DISTINCT.format("auction")}
        FROM bid GROUP BY channel, date_format(at, 'yyyy-MM-dd')""",
    "q17": f"""SELECT auction, date_format(at, 'yyyy-MM-dd') AS day, {_RANKS}, min(price) AS least, max(price) AS most,
        avg(price) AS mean, sum(price) AS together FROM bid GROUP BY auction, date_format(at, 'yyyy-MM-dd')""",
    "q18": """SELECT auction, bidder, price, channel, url, at, extra FROM (
            SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY at DESC) AS place FROM bid)
        WHERE place <= 1""",
    "q19": """SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid)
        WHERE place <= 10""",
    "q20": f"""SELECT {_BIDS}, b.channel, b.url, {_OUTER} FROM bid b JOIN auction a ON b.auction = a.id
        WHERE a.category = 10""",
    "q21": r"""SELECT auction, bidder, price, channel,
            CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
            WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3'
            ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bid
        WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) != ''
            OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """SELECT auction, bidder, price, channel, split(url, '/')[3] AS one, split(url, '/')[4] AS two,
        split(url, '/')[5] AS three FROM bid""",
}
