"""SQL's expressions over columns: by vectors as in the reference, row by row, and back from the text of circuits.

Catches a kernel or a query to DuckDB that sees a value otherwise than the reference, NULL where the type says that
there is none, an error that is raised on one side only, a lazy branch that is computed, and text that is read as
another tree.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import sqlglot

from deltic.circuit.expressions import column, show
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.reading.scalars import parse_expression
from deltic.errors import EvaluationError
from deltic.functions import FUNCTIONS, call
from deltic.functions.conversions import converted, converter
from deltic.sql.dialect import Deltic
from deltic.sql.scalars import Typed, typed
from deltic.sql.text import SourceText
from deltic.values import from_arrow, to_arrow
from deltic.values.text import of_exact_text
from deltic.values.types import Schema, Type
from tests.engine.operators.test_scalar import check, columns_with

VALUES = {
    ("a", Type.INT32): [0, 1, -1, 7, 2**31 - 1, -(2**31)],
    ("b", Type.INT32): [0, 1, -1, 3, 2**31 - 1, -(2**31)],
    ("l", Type.INT64): [0, 1, -1, 2**63 - 1, -(2**63), 10**10],
    ("d", Type.FLOAT64): [0.0, -1.5, 3.25, 1e300, float("inf"), float("nan")],
    ("p", Type.decimal(10, 2)): [Decimal("0.00"), Decimal("1.55"), Decimal("-99999999.99")],
    ("s", Type.STRING): ["", "a", "12", " 7 ", "1.5", "2020-01-01", "é-ß"],
    ("t", Type.BOOLEAN): [True, False],
    ("x", Type.DATE): [date(2020, 1, 31), date(1, 1, 1), date(9999, 12, 31)],
    ("z", Type.TIMESTAMP): [datetime(2020, 1, 31, 10, 11, 12, 345678, UTC), datetime(9999, 12, 31, tzinfo=UTC)],
    ("y", Type.INT8): [-128, 127, 0, 1],
    ("xs", Type.array(Type.INT32.or_null)): [(), (1, None, 3), (0,), (2**31 - 1, 5), (None,)],
    ("ts", Type.array(Type.STRING.or_null)): [(), ("a", None, "é"), ("12",)],
    ("m", Type.map(Type.STRING, Type.INT64.or_null)): [(), (("a", 1), ("b", None)), (("b", 7),)],
}
SCHEMA = Schema.of(**{name: type_.or_null for name, type_ in VALUES})
EXPRESSIONS = [
    line
    for line in """
a+b
a-b
a*b
a/b
a div b
l div a
l div l
a%b
-a
-y
a+l
l*l
l-l
l+l
a+d
d/a
d%a
p+p
p*p
p/p
p%p
p div p
p+a
p-1
1-p
a+1
cast(l as int)
cast(a as tinyint)
try_cast(l as int)
cast(d as int)
try_cast(d as bigint)
cast(s as int)
try_cast(s as int)
try_cast(s as double)
try_cast(s as date)
cast(p as int)
try_cast(p as decimal(5,1))
cast(a as string)
cast(d as string)
cast(p as string)
cast(x as string)
cast(z as string)
case when b<>0 then a/b end
b<>0 and a/b>1
a/b>1 and b<>0
b=0 or a/b>1
coalesce(try_cast(s as int), a+b)
coalesce(a,b/b)
x+1
x-1
x+a
x+interval 1 month
x + interval 1 day
z+interval 1 hour
z-z
x-x
z-x
a in (1,2,b)
s in ('a','b')
a between b and l
a between 0 and 7
a <=> b
a is distinct from b
a is null
t is true
t is not true
nullif(a,b)
nvl2(a,b,l)
if(t,a,l)
case a when 1 then 'x' when b then s else 'z' end
s || a
a=d
p=d
p<a
s=a
x>'2020-01-01'
x=z
t and a>b
t or a>b
not t
a&b
a | b
a^l
~a
a<<b
l>>a
try_add(a,b)
try_divide(a,b)
try_multiply(l,l)
try_subtract(l,a)
cast(t as int)
cast(a as boolean)
cast(z as bigint)
cast(z as double)
cast(a as timestamp)
cast(d as decimal(5,2))
try_cast(d as decimal(5,2))
cast(z as date)
cast(x as timestamp)
y+y
y*y
y-y
cast(y as double)
a+null
null=a
null and t
p<=>null
upper(s)
lower(s)
length(s)
substring(s,a,b)
substring(s,2)
left(s,a)
right(s,b)
trim(s)
concat(s,'x',a)
concat_ws('-',s,null,a)
replace(s,'1','z')
replace(s,'')
replace(s,s,'z')
lower(s)
substring(s,2,3)
substring(s,2,-1)
startswith(s,'1')
length(replace(concat(s,s),'1',s))
split(s,'-')
split(s,'.')
get(split(s,''),a)
get(split(concat(s,'-b'),'-'),1)
get(ts,b)
size(ts)
size(m)
split(s,'-')[0]
split_part(s,'-',2)
instr(s,'2')
locate('0',s,2)
lpad(s,8,'*')
rpad(s,3)
repeat(s,2)
reverse(s)
initcap(s)
ascii(s)
s like '%0%'
s not like 'a_'
s rlike '^[0-9]+$'
regexp_extract(s,'([0-9]+)',1)
regexp_replace(s,'[0-9]','#')
startswith(s,'2')
contains(s,'0')
md5(s)
sha2(s,256)
hex(s)
hex(a)
abs(y)
abs(d)
abs(p)
ceil(p)
floor(p)
round(p,1)
round(d,1)
round(a,-1)
sqrt(d)
ln(d)
log10(d)
power(d,2)
exp(d)
greatest(a,b,y)
least(a,null,l)
pmod(a,b)
mod(a,b)
sin(d)
year(x)
month(z)
dayofweek(x)
weekofyear(x)
hour(z)
quarter(x)
extract(second from z)
date_trunc('month',z)
trunc(x,'year')
date_add(x,y)
datediff(x,date '2020-01-01')
last_day(x)
add_months(x,1)
months_between(z,x)
date_format(z,'yyyy-MM-dd HH:mm:ss')
unix_timestamp(z)
from_unixtime(y)
array(a,b)
size(array(a,b))
array(a,b)[0]
element_at(array(a,b),y)
array_contains(array(a,b),1)
sort_array(array(a,b,y))
array_distinct(array(a,b))
array_max(array(a,b))
map('k',a)['k']
named_struct('q',a,'r',s).r
array_join(array(s,s),'+')
upper(trim(concat(s,' q')))
length(replace(lower(s),'a','bb'))
coalesce(s,'none')
isnan(d)
nanvl(d,0D)
typeof(s)
try_element_at(array(a,b),3)
make_date(y,1,1)
to_date(s)
try_to_date(s)
try_cast(s as date)
decode(a,1,'one',7,'seven','other')
nvl2(s,a,b)
if(a>b,s,'z')
format_string('%s-%d',s,a)
cast(array(a,b) as string)
cast(array(m,null) as string)
cast(named_struct('a',ts,'b',z) as string)
cast(ts as array<int>)
try_cast(ts as array<int>)
try_cast(array(ts,null) as array<array<int>>)
try_cast(map(s,s) as map<string,date>)
try_cast(map(s,a) as map<int,string>)
try_cast(named_struct('a',s,'b',xs) as struct<a:timestamp,b:array<string>>)
try_cast(s as timestamp_ntz)
array(a,b)=array(b,a)
crc32(s)
bin(l)
factorial(y)
bit_count(l)
timestampdiff(day,z,z)
dateadd(hour,y,z)
hypot(d,d)
sign(d)
negative(a)
isnull(s)
equal_null(a,b)
get_json_object('{"a":[' || a || ', 2.50, {"b": "x"}]}', '$.a[*]')
get_json_object('{"' || s || '": 1}', '$.a')
json_array_length('[' || s || ']')
json_object_keys('{"' || s || '": 1}')
array(named_struct('q', a), named_struct('q', b)).q
to_json(named_struct('a', a, 's', s, 'x', x, 'z', z, 'd', d, 'p', p, 'xs', xs, 'm', m))
from_json('{"a": ' || a || ', "b": [' || b || ', null], "c": "' || s || '"}', 'a INT, b ARRAY<STRING>, c DOUBLE')
from_json(s, 'MAP<STRING, INT>')
map_from_entries(array(struct(a as k, s), struct(b as k, s)))
arrays_zip(xs, ts)
array_insert(xs, y, a)
str_to_map(s, ',', '-')
sequence(x, date_add(x, 2))
sequence(z, z + interval 1 hour, interval 20 minutes)
width_bucket(d, 0, 4, 3)
bround(p, 1)
round(p, -1)
ceil(p, -2)
conv(s, 16, -10)
format_number(d, 2)
format_number(p, 1)
format_number(a, 0)
soundex(s)
split(s, '-', 2)
levenshtein(s, 'a1', 1)
parse_url('http://a.b/' || s || '?q=' || a, 'QUERY', 'q')
url_encode(s)
try_url_decode('%' || s)
z + interval '1' hour * a
interval '90' minute * d
interval '1' month * y + x
interval '1' day / b
extract(hour from z - timestamp '2020-01-01 00:00:00')
make_dt_interval(y, a, y, 1.5)
x + make_ym_interval(0, y)
shiftrightunsigned(a, y)
array(null, xs, array())
coalesce(xs, array())
map('k', null, s, m)
transform(xs, v -> v + a)
transform(xs, v -> 10 div v)
transform(xs, (v, i) -> case when v <> 0 then a div v + i end)
transform(ts, v -> upper(v) || s)
transform(xs, v -> transform(ts, u -> v || u || size(xs)))
transform(transform(xs, v -> v * 1L), v -> v + l)
filter(xs, v -> v > a)
filter(ts, (v, i) -> v is null or i > 0)
exists(xs, v -> v = a)
forall(xs, v -> v >= a)
aggregate(xs, a, (acc, v) -> coalesce(acc, 0) + v)
aggregate(xs, 0L, (acc, v) -> acc + coalesce(v, b), acc -> acc || s)
aggregate(ts, '', (acc, v) -> acc || '/' || v)
reduce(xs, named_struct('n', 0, 'last', a), (acc, v) -> named_struct('n', acc.n + 1, 'last', v)).last
zip_with(xs, ts, (v, u) -> v || u)
map_filter(m, (k, v) -> v > a or k = 'a')
transform_values(m, (k, v) -> v + a)
transform_keys(m, (k, v) -> k || coalesce(a, 0))
map_zip_with(m, map('a', l), (k, v, w) -> v <=> w)
""".splitlines()
    if line
]


def translated(expression: str) -> Typed:
    text = f"SELECT {expression}"
    tree = sqlglot.parse_one(text, dialect=Deltic).expressions[0]
    return typed(tree, lambda c: Typed(column(c.name), SCHEMA.value_types[c.name]), SourceText(text))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_columns_agree_with_rows(expression: str) -> None:
    found = translated(expression)
    rng = random.Random(expression)
    rows = [tuple(rng.choice([*values, None]) for values in VALUES.values()) for _ in range(60)]
    defined = []
    for row in rows:
        try:
            value = evaluate(found.expression, dict(zip(SCHEMA.names, row, strict=True)), SCHEMA.types)
        except EvaluationError:
            with pytest.raises(EvaluationError):
                check(found.expression, [row], columns_with([row], SCHEMA))
        else:
            assert value is not None or found.type.nullable
            defined.append(row)
    for rows in (defined, [row for row in defined if str(row[SCHEMA.index("s")]).isascii()]):
        check(found.expression, rows, columns_with(rows, SCHEMA))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_are_read_from_their_text(expression: str) -> None:
    text = show(translated(expression).expression)
    assert show(parse_expression(text, SCHEMA.names)) == text


SAMPLES = {
    Type.STRING: "héllo a",
    Type.INT32: 2,
    Type.INT64: 3,
    Type.FLOAT64: 0.5,
    Type.BINARY: b"ab",
    Type.DATE: date(2020, 2, 29),
    Type.TIMESTAMP: datetime(2020, 2, 29, 10, 11, 12, tzinfo=UTC),
    Type.BOOLEAN: True,
    Type.decimal(16, 6): Decimal("1.500000"),
}
PLAIN = [name for name, f in FUNCTIONS.items() if f.takes and f.strict and name not in ("like", "ilike")]


@pytest.mark.parametrize("name", PLAIN)
def test_strict_functions_are_null_where_an_operand_is(name: str) -> None:
    types = {f"a{i}": type_ for i, type_ in enumerate(FUNCTIONS[name].takes)}
    row = {operand: SAMPLES[type_] for operand, type_ in types.items()}
    for operand in types:
        assert evaluate(call(name, *map(column, types)), {**row, operand: None}, types) is None


TIMES = """
2024-02-29|2023-02-29|0001-01-01|9999-12-31|2024-1-2| 2024-01-02 |2024-01-02T03:04:05|2024-01-02 03:04:05
2024-01-02 03:04:05.120000|2024-01-02 03:04:05.12|2024-01-02 24:00:00|2024-01-02 03:04:05+00:00
2024-01-02 03:04:05+01:00|2024-01-02 03:04:05Z|2024-01-02 03:04|20240102|2024-W01-1|+2024-01-02|x||2024-01-02+00:00
"""


@pytest.mark.parametrize("target", [Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ], ids=str)
def test_a_text_is_the_time_that_it_is_in_a_column(target: Type) -> None:
    texts = TIMES.strip().replace("\n", "|").split("|")
    column = from_arrow(converted(to_arrow(texts, Type.STRING), Type.STRING, target), target)
    assert [converter(Type.STRING, target)(text) for text in texts] == list(column)
    exact = [of_exact_text(text, target) for text in texts]
    assert all(one in (None, time) for one, time in zip(exact, column, strict=True))
    assert {time for time in exact if time} == {
        time for text, time in zip(texts, column, strict=True) if str(time) == text
    }
