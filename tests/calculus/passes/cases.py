"""For each pass the text of a small circuit that it changes."""

from __future__ import annotations

AB = "{a: int64, b: int64}"
BD = "{b: int64, d: int64}"
ABD = "{a: int64, b: int64, d: int64}"
# A recursion of two relations over %0 and %1, of which one is read.
TWO = f"""%2 = fixpoint (%0, %1) : <p: set{AB}, q: set{AB}>
          body {{
            %0 = import 0 : set{AB}^1
            %1 = import 1 : set{AB}^1
            %2 = feedback p : set{AB}^1
            %3 = plus (%0, %2) : zset{AB}^1
            %4 = distinct (%3) : set{AB}^1
            %5 = plus (%1, %2) : zset{AB}^1
            %6 = distinct (%5) : set{AB}^1
            %7 = sink p (%4) : set{AB}^1
            %8 = sink q (%6) : set{AB}^1
          }}
        %3 = component p (%2) : set{AB}"""

CASES = {
    "drop_unread": f"""
        %0 = source s : set{AB}
        %1 = source unread : set{AB}
        %2 = negate (%1) : zset{AB}
        %3 = map [a] (%0) : zset{{a: int64}}
        %4 = sink v (%0) : set{AB}""",
    "drop_unread in a recursion": f"""
        %0 = source s : set{AB}
        %1 = source t : set{AB}
        %2 = fixpoint (%1, %0) : <a: set{AB}, b: set{AB}, c: set{AB}>
          body {{
            %0 = import 0 : set{AB}^1
            %1 = import 1 : set{AB}^1
            %2 = feedback a : set{AB}^1
            %3 = feedback b : set{AB}^1
            %4 = plus (%1, %3) : zset{AB}^1
            %5 = distinct (%4) : set{AB}^1
            %6 = plus (%0, %2) : zset{AB}^1
            %7 = distinct (%6) : set{AB}^1
            %8 = sink a (%5) : set{AB}^1
            %9 = sink b (%2) : set{AB}^1
            %10 = sink c (%7) : set{AB}^1
          }}
        %3 = component b (%2) : set{AB}
        %4 = sink v (%3) : set{AB}""",
    "flatten_fixpoints": f"""
        %0 = source s : set{AB}
        %1 = source t : set{AB}
        %2 = fixpoint (%0, %1) : <a: set{AB}>
          body {{
            %0 = import 0 : set{AB}^1
            %1 = import 1 : set{AB}^1
            %2 = feedback a : set{AB}^1
            %3 = fixpoint (%2, %1) : <b: set{AB}^1>
              body {{
                %0 = import 0 : set{AB}^2
                %1 = import 1 : set{AB}^2
                %2 = feedback b : set{AB}^2
                %3 = map [b AS a, a AS b] (%2) : set{AB}^2
                %4 = antijoin (%3, %1) : set{AB}^2
                %5 = plus (%0, %4) : zset{AB}^2
                %6 = distinct (%5) : set{AB}^2
                %7 = sink b (%6) : set{AB}^2
              }}
            %4 = component b (%3) : set{AB}^1
            %5 = map [a, a AS b] (%4) : zset{AB}^1
            %6 = plus (%0, %5) : zset{AB}^1
            %7 = distinct (%6) : set{AB}^1
            %8 = sink a (%7) : set{AB}^1
          }}
        %3 = component a (%2) : set{AB}
        %4 = sink v (%3) : set{AB}""",
    "cancel_negations": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{AB}
        %2 = negate (%0) : zset{AB}
        %3 = negate (%2) : zset{AB}
        %4 = plus (%3, %1, %2) : zset{AB}
        %5 = sink v (%4) : zset{AB}""",
    "flatten_sums": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{AB}
        %2 = plus (%0, %1) : zset{AB}
        %3 = plus (%1, %2) : zset{AB}
        %4 = plus (%0) : set{AB}
        %5 = sink v (%3) : zset{AB}
        %6 = sink w (%4) : set{AB}""",
    "share_sums": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{AB}
        %2 = plus (%0, %1) : zset{AB}
        %3 = plus (%1, %0) : zset{AB}
        %4 = join (%2, %3) : zset{AB}
        %5 = sink v (%4) : zset{AB}""",
    "limit_ranks": f"""
        %0 = source s : zset{AB}
        %1 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: row_number() AS n, lag(b; 1) AS l] (%0) : """
    f"""zset{{a: int64, b: int64, n: int32, l: int64?}}
        %2 = filter [TRY_CAST(2 AS INT) >= n AND a > 0] (%1) : zset{{a: int64, b: int64, n: int32, l: int64?}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32, l: int64?}}""",
    "limit_ranks by rank": f"""
        %0 = source s : zset{ABD}
        %1 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: rank() AS n, dense_rank() AS m] (%0) : """
    f"""zset{{a: int64, b: int64, d: int64, n: int32, m: int32}}
        %2 = filter [n <= TRY_CAST(2 AS INT) AND m < TRY_CAST(9 AS INT)] (%1) : """
    f"""zset{{a: int64, b: int64, d: int64, n: int32, m: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, d: int64, n: int32, m: int32}}""",
    "limit_ranks by dense_rank": f"""
        %0 = source s : zset{ABD}
        %1 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: dense_rank() AS n] (%0) : """
    f"""zset{{a: int64, b: int64, d: int64, n: int32}}
        %2 = filter [n = TRY_CAST(2 AS INT)] (%1) : zset{{a: int64, b: int64, d: int64, n: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, d: int64, n: int32}}""",
    "number_first": f"""
        %0 = source s : zset{AB}
        %1 = top [PARTITION BY a ORDER BY b DESC NULLS LAST LIMIT 1] (%0) : zset{AB}
        %2 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: row_number() AS n, rank() AS r, dense_rank() AS d] """
    f"""(%1) : zset{{a: int64, b: int64, n: int32, r: int32, d: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32, r: int32, d: int32}}""",
    "keep_groups": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{BD}
        %2 = aggregate [b, max(a) AS most] (%0) : set{{b: int64, most: int64}}
        %3 = filter [most > 2] (%2) : set{{b: int64, most: int64}}
        %4 = map [b] (%3) : zset{{b: int64}}
        %5 = join (%4, %1) : zset{BD}
        %6 = sink v (%5) : zset{BD}""",
    "keep_selected": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = filter [CASE WHEN a < 2 THEN b ELSE a END = 2 AND b > 0] (%0) : set{AB}
        %3 = map [b] (%2) : zset{{b: int64}}
        %4 = join (%3, %1) : zset{BD}
        %5 = sink v (%4) : zset{BD}""",
    "push_filters behind windows": f"""
        %0 = source s : set{AB}
        %1 = source clock : set{{d: int64}}
        %2 = window [a, 1] (%0, %1) : set{AB}
        %3 = flat_map [range(a, b) AS e] (%2) : set{{a: int64, b: int64, e: int64}}
        %4 = filter [b > 1] (%3) : set{{a: int64, b: int64, e: int64}}
        %5 = filter [e > 0] (%4) : set{{a: int64, b: int64, e: int64}}
        %6 = sink v (%5) : set{{a: int64, b: int64, e: int64}}""",
    "drop_distinct": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = distinct (%0) : set{AB}
        %3 = distinct (%1) : set{BD}
        %4 = join (%2, %3) : set{ABD}
        %5 = distinct (%4) : set{ABD}
        %6 = map [b] (%3) : zset{{b: int64}}
        %7 = distinct (%6) : set{{b: int64}}
        %8 = antijoin (%5, %7) : set{ABD}
        %9 = sink v (%8) : set{ABD}""",
    "delay_distinct": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = map [b] (%0) : zset{{b: int64}}
        %3 = distinct (%2) : set{{b: int64}}
        %4 = map [0 AS c] (%3) : zset{{c: int64}}
        %5 = distinct (%4) : set{{c: int64}}
        %6 = distinct (%1) : set{BD}
        %7 = map [d] (%6) : zset{{d: int64}}
        %8 = distinct (%7) : set{{d: int64}}
        %9 = sink positive (%5) : set{{c: int64}}
        %10 = sink signed (%8) : set{{d: int64}}""",
    "delay_distinct over joins": f"""
        %0 = source s : set{AB}
        %1 = source t : set{AB}
        %2 = source u : set{BD}
        %3 = plus (%0, %1) : zset{AB}
        %4 = distinct (%3) : set{AB}
        %5 = map [b] (%0) : zset{{b: int64}}
        %6 = distinct (%5) : set{{b: int64}}
        %7 = filter [a < 3] (%4) : set{AB}
        %8 = join (%7, %6, %2) : set{ABD}
        %9 = map [d] (%8) : zset{{d: int64}}
        %10 = distinct (%9) : set{{d: int64}}
        %11 = sink v (%10) : set{{d: int64}}""",
    "push_filters": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = distinct (%1) : set{BD}
        %3 = join (%0, %2) : set{ABD}
        %4 = filter [b > 1] (%3) : set{ABD}
        %5 = filter [a < 2] (%4) : set{ABD}
        %6 = map [a AS x, b + d AS y] (%5) : zset{{x: int64, y: int64}}
        %7 = filter [x <> 0] (%6) : zset{{x: int64, y: int64}}
        %8 = filter [y <> 2] (%7) : zset{{x: int64, y: int64}}
        %9 = sink v (%8) : zset{{x: int64, y: int64}}""",
    "push_filters by parts": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = join (%0, %1) : zset{ABD}
        %3 = filter [a > 0 AND a <> d AND (b > 1 AND d < 3 AND CHECKED(a // 2) = 0)] (%2) : zset{ABD}
        %4 = sink v (%3) : zset{ABD}""",
    "push_filters of equal columns": """
        %0 = source s : zset{a: int64, b: int64}
        %1 = source t : zset{e: int64?, d: int64}
        %2 = aggregate [e, sum(d) AS d] (%1) : set{e: int64?, d: int64}
        %3 = join (%0, %2) : zset{a: int64, b: int64, e: int64?, d: int64}
        %4 = filter [e = a AND a < 5 AND b < 2] (%3) : zset{a: int64, b: int64, e: int64?, d: int64}
        %5 = sink v (%4) : zset{a: int64, b: int64, e: int64?, d: int64}""",
    "push_filters before parts": f"""
        %0 = source s : zset{AB}
        %1 = top [PARTITION BY a ORDER BY b ASC NULLS FIRST LIMIT 2] (%0) : zset{AB}
        %2 = over [PARTITION BY a ORDER BY b ASC NULLS FIRST: rank() AS d] (%1) : zset{{a: int64, b: int64, d: int32}}
        %3 = filter [a > 0 AND b > 0 AND CHECKED(a // 2) = 1] (%2) : zset{{a: int64, b: int64, d: int32}}
        %4 = sink v (%3) : zset{{a: int64, b: int64, d: int32}}""",
    "push_filters through constants": f"""
        %0 = source s : zset{AB}
        %1 = map [a, b, 3 AS d] (%0) : zset{ABD}
        %2 = filter [a < d] (%1) : zset{ABD}
        %3 = sink v (%2) : zset{ABD}""",
    "drop_empty": """
        %0 = source s : zset{a: int64, b: int64}
        %1 = filter [a > TRY_CAST(NULL AS BIGINT) OR 1 > 2] (%0) : zset{a: int64, b: int64}
        %2 = map [b AS a, a AS b] (%1) : zset{a: int64, b: int64}
        %3 = plus (%0, %2) : zset{a: int64, b: int64}
        %4 = filter [a < b] (%0) : zset{a: int64, b: int64}
        %5 = plus (%1, %4, %0) : zset{a: int64, b: int64}
        %6 = sink one (%3) : zset{a: int64, b: int64}
        %7 = sink two (%5) : zset{a: int64, b: int64}""",
    "optimize an outer join that is an inner one": """
        %0 = source s : zset{a: int64, b: int64}
        %1 = source t : zset{e: int64, d: int64}
        %2 = source u : zset{f: int64}
        %3 = join (%0, %1) : zset{a: int64, b: int64, e: int64, d: int64}
        %4 = filter [a = e] (%3) : zset{a: int64, b: int64, e: int64, d: int64}
        %5 = map [a, b, e, d] (%4) : zset{a: int64, b: int64, e: int64?, d: int64?}
        %6 = map [e AS a] (%1) : zset{a: int64}
        %7 = distinct (%6) : set{a: int64}
        %8 = antijoin (%0, %7) : zset{a: int64, b: int64}
        %9 = map [a, b, TRY_CAST(NULL AS BIGINT) AS e, TRY_CAST(NULL AS BIGINT) AS d] (%8) : """
    """zset{a: int64, b: int64, e: int64?, d: int64?}
        %10 = plus (%5, %9) : zset{a: int64, b: int64, e: int64?, d: int64?}
        %11 = join (%10, %2) : zset{a: int64, b: int64, e: int64?, d: int64?, f: int64}
        %12 = filter [d = f] (%11) : zset{a: int64, b: int64, e: int64?, d: int64?, f: int64}
        %13 = sink v (%12) : zset{a: int64, b: int64, e: int64?, d: int64?, f: int64}""",
    "fuse_filters": f"""
        %0 = source s : set{AB}
        %1 = filter [a < 3 OR b = 0] (%0) : set{AB}
        %2 = filter [b > 0] (%1) : set{AB}
        %3 = filter [a <> b] (%2) : set{AB}
        %4 = sink v (%3) : set{AB}""",
    "fuse_maps": f"""
        %0 = source s : set{AB}
        %1 = map [b AS a, a + 1 AS b] (%0) : zset{AB}
        %2 = map [a AS x, b * 2 AS y] (%1) : zset{{x: int64, y: int64}}
        %3 = map [x, y] (%2) : zset{{x: int64, y: int64}}
        %4 = map [a // b AS a, b] partial (%0) : zset{AB}
        %5 = map [b] (%4) : zset{{b: int64}}
        %6 = map [a + b AS a, b] (%0) : zset{AB}
        %7 = map [a * a AS a] (%6) : zset{{a: int64}}
        %8 = sink fused (%3) : zset{{x: int64, y: int64}}
        %9 = sink drops (%5) : zset{{b: int64}}
        %10 = sink twice (%7) : zset{{a: int64}}""",
    "project_early": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = join (%0, %1) : zset{ABD}
        %3 = map [d + 1 AS x] (%2) : zset{{x: int64}}
        %4 = sink v (%3) : zset{{x: int64}}""",
    "project_early under a filter": f"""
        %0 = source s : set{AB}
        %1 = source t : set{{b: int64, c: string, d: int64}}
        %2 = join (%0, %1) : set{{a: int64, b: int64, c: string, d: int64}}
        %3 = filter [a < d] (%2) : set{{a: int64, b: int64, c: string, d: int64}}
        %4 = map [b] (%3) : zset{{b: int64}}
        %5 = sink v (%4) : zset{{b: int64}}""",
    "project_early under an antijoin": f"""
        %0 = source s : set{AB}
        %1 = source t : set{{b: int64, c: string, d: int64}}
        %2 = source w : set{{d: int64}}
        %3 = join (%0, %1) : set{{a: int64, b: int64, c: string, d: int64}}
        %4 = antijoin (%3, %2) : set{{a: int64, b: int64, c: string, d: int64}}
        %5 = map [b] (%4) : zset{{b: int64}}
        %6 = sink v (%5) : zset{{b: int64}}""",
    "project_early through others": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = source u : zset{ABD}
        %3 = source w : set{{d: int64}}
        %4 = join (%0, %1) : zset{ABD}
        %5 = antijoin (%4, %3) : zset{ABD}
        %6 = plus (%5, %2) : zset{ABD}
        %7 = filter [b < d] (%6) : zset{ABD}
        %8 = aggregate [b, max(d) AS most] (%7) : set{{b: int64, most: int64}}
        %9 = sink v (%8) : set{{b: int64, most: int64}}""",
}

STAY = {
    "keep_selected by a comparison": f"""
        %0 = source s : set{AB}
        %1 = source t : zset{BD}
        %2 = filter [a & 1 = 0 AND (NOT b IS NULL OR a + b > 3)] (%0) : set{AB}
        %3 = map [b] (%2) : zset{{b: int64}}
        %4 = join (%3, %1) : zset{BD}
        %5 = sink v (%4) : zset{BD}""",
    "keep_selected without a join": """
        %0 = source s : set{a: int64, b: int64}
        %1 = filter [CASE WHEN a < 2 THEN b ELSE a END = 2] (%0) : set{a: int64, b: int64}
        %2 = sink v (%1) : set{a: int64, b: int64}""",
    "keep_groups whose aggregates are read": f"""
        %0 = source s : zset{AB}
        %1 = source t : zset{BD}
        %2 = aggregate [b, max(a) AS most] (%0) : set{{b: int64, most: int64}}
        %3 = filter [most > 2] (%2) : set{{b: int64, most: int64}}
        %4 = map [most AS a, b] (%3) : set{AB}
        %5 = join (%4, %1) : zset{ABD}
        %6 = sink v (%5) : zset{ABD}""",
    "limit_ranks where a value looks ahead": f"""
        %0 = source s : zset{AB}
        %1 = over [ORDER BY b ASC NULLS FIRST: row_number() AS n, lead(b; 1) AS l] (%0) : """
    f"""zset{{a: int64, b: int64, n: int32, l: int64?}}
        %2 = filter [n = TRY_CAST(1 AS INT)] (%1) : zset{{a: int64, b: int64, n: int32, l: int64?}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32, l: int64?}}""",
    "limit_ranks of least numbers": f"""
        %0 = source s : zset{AB}
        %1 = over [ORDER BY b ASC NULLS FIRST: row_number() AS n] (%0) : zset{{a: int64, b: int64, n: int32}}
        %2 = filter [n > TRY_CAST(1 AS INT)] (%1) : zset{{a: int64, b: int64, n: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32}}""",
    "limit_ranks of one rank": f"""
        %0 = source s : zset{AB}
        %1 = over [PARTITION BY a: rank() AS n] (%0) : zset{{a: int64, b: int64, n: int32}}
        %2 = filter [n <= TRY_CAST(1 AS INT)] (%1) : zset{{a: int64, b: int64, n: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32}}""",
    "number_first of two rows": f"""
        %0 = source s : zset{AB}
        %1 = top [PARTITION BY a ORDER BY b DESC NULLS LAST LIMIT 2] (%0) : zset{AB}
        %2 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: row_number() AS n] (%1) : """
    f"""zset{{a: int64, b: int64, n: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32}}""",
    "number_first by another order": f"""
        %0 = source s : zset{AB}
        %1 = top [PARTITION BY a ORDER BY b DESC NULLS LAST LIMIT 1] (%0) : zset{AB}
        %2 = over [PARTITION BY b ORDER BY a DESC NULLS LAST: row_number() AS n] (%1) : """
    f"""zset{{a: int64, b: int64, n: int32}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32}}""",
    "number_first beside another value": f"""
        %0 = source s : zset{AB}
        %1 = top [PARTITION BY a ORDER BY b DESC NULLS LAST LIMIT 1] (%0) : zset{AB}
        %2 = over [PARTITION BY a ORDER BY b DESC NULLS LAST: row_number() AS n, lag(b; 1) AS l] (%1) : """
    f"""zset{{a: int64, b: int64, n: int32, l: int64?}}
        %3 = sink v (%2) : zset{{a: int64, b: int64, n: int32, l: int64?}}""",
    "delay_distinct that others read": f"""
        %0 = source s : set{AB}
        %1 = map [b] (%0) : zset{{b: int64}}
        %2 = distinct (%1) : set{{b: int64}}
        %3 = map [0 AS c] (%2) : zset{{c: int64}}
        %4 = distinct (%3) : set{{c: int64}}
        %5 = sink v (%4) : set{{c: int64}}
        %6 = sink w (%2) : set{{b: int64}}""",
    "delay_distinct": f"""
        %0 = source s : set{AB}
        %1 = source t : set{AB}
        %2 = map [b] (%0) : zset{{b: int64}}
        %3 = distinct (%2) : set{{b: int64}}
        %4 = map [b] (%1) : zset{{b: int64}}
        %5 = negate (%4) : zset{{b: int64}}
        %6 = plus (%3, %5) : zset{{b: int64}}
        %7 = distinct (%6) : set{{b: int64}}
        %8 = sink v (%7) : set{{b: int64}}""",
    "fuse_maps": f"""
        %0 = source s : set{AB}
        %1 = map [a // b AS a, b] partial (%0) : zset{AB}
        %2 = map [b] (%1) : zset{{b: int64}}
        %3 = sink v (%2) : zset{{b: int64}}""",
    "push_filters of what is computed of a group": f"""
        %0 = source s : zset{AB}
        %1 = aggregate [a, max(b) AS b] (%0) : set{AB}
        %2 = filter [b > a AND CHECKED(a // 2) = 1] (%1) : set{AB}
        %3 = sink v (%2) : set{AB}""",
    "push_filters": f"""
        %0 = source s : set{AB}
        %1 = source t : set{BD}
        %2 = join (%0, %1) : set{ABD}
        %3 = filter [a < d] (%2) : set{ABD}
        %4 = sink v (%3) : set{ABD}
        %5 = sink w (%2) : set{ABD}""",
    "drop_unread of what a delay is computed from": f"""
        %0 = source s : set{AB}
        %1 = source t : set{AB}
        {TWO}
        %4 = delay (%3) : set{AB}
        %5 = sink v (%4) : set{AB}""",
    "drop_unread of what was there": f"""
        %0 = source s : set{AB}
        %1 = delay (%0) : set{AB}
        {TWO}
        %4 = sink v (%3) : set{AB}""",
    "drop_empty where a condition may be true": f"""
        %0 = source s : zset{AB}
        %1 = filter [a > 1 OR TRY_CAST(NULL AS BIGINT) IS NULL] (%0) : zset{AB}
        %2 = filter [CHECKED(1 // 0) = 1] (%0) : zset{AB}
        %3 = plus (%1, %2) : zset{AB}
        %4 = sink v (%3) : zset{AB}""",
    "drop_distinct": f"""
        %0 = source s : zset{AB}
        %1 = distinct (%0) : set{AB}
        %2 = sink v (%1) : set{AB}""",
}
"""Circuits to which a pass must not be applied, though they look like it."""
