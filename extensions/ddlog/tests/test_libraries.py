"""Functions of the libraries: values that are not those that DDlog's declarations promise."""

from __future__ import annotations

from datetime import datetime, time, timedelta

import pytest
from extensions.ddlog.tests.test_sessions import printed
from hypothesis import given
from hypothesis import strategies as st

from deltic.errors import ProgramError
from deltic_ddlog.check import check
from deltic_ddlog.library.chrono import ParsedMoment, read, written
from deltic_ddlog.lowering.program import Lowered


def shown(imports: str, expression: str, type_: str) -> str:
    """Return the value of an expression of a type, as it is printed."""
    text = "".join(f"import {each}\n" for each in imports.split())
    checked = check(f"{text}relation Result[{type_}]\nResult[{expression}].\n")
    value = checked.functions.expression(checked.rules[-1].heads[0].record, [])()
    return Lowered(checked).columns.codecs.of(checked.relations["Result"].record).show(value)


@pytest.mark.parametrize(
    ("imports", "expression", "type_", "expected"),
    [
        ("net::ipv4", "ipv4_new(10, 0, 0, 1)", "Ipv4Addr", "167772161"),
        ("net::ipv4", '"${ipv4_from_u32(167772161)}"', "string", '"10.0.0.1"'),
        ("net::ipv4", 'ipv4_from_str("1.2.3.4").unwrap_or_default()', "Ipv4Addr", "16909060"),
        ("net::ipv4", 'ipv4_from_str("1.2.3").is_err()', "bool", "true"),
        ("net::ipv4", "ipv4_octets(ipv4_new(1, 2, 3, 4))", "(u8, u8, u8, u8)", "(1, 2, 3, 4)"),
        ("net::ipv4", "ipv4_is_private(ipv4_new(172, 31, 0, 1))", "bool", "true"),
        ("net::ipv4", "ipv4_is_private(ipv4_new(127, 0, 0, 1))", "bool", "false"),
        ("net::ipv4", "ipv4_is_documentation(ipv4_new(192, 0, 2, 9))", "bool", "true"),
        ("net::ipv4 net::ipv6", '"${ipv4_to_ipv6_mapped(ipv4_new(1, 2, 3, 4))}"', "string", '"::ffff:1.2.3.4"'),
        ("net::ipv6", '"${ipv6_new(1, 0, 0, 0, 0, 0, 0, 2)}"', "string", '"1::2"'),
        ("net::ipv6", 'ipv6_segment_vec(ipv6_from_str("::5").unwrap_or_default())', "Vec<u16>",
         "[0, 0, 0, 0, 0, 0, 0, 5]"),
        ("net::ipaddr net::ipv6", "ipaddr_is_loopback(ipaddr_from_ipv6addr(iPV6_LOCALHOST()))", "bool", "true"),
        ("uuid", 'to_urn_upper(from_u128(10))', "string", '"urn:uuid:00000000-0000-0000-0000-00000000000A"'),
        ("uuid", 'parse_str("00000000-0000-0000-0000-000000000010").unwrap_or(nil())', "Uuid", "16"),
        ("uuid", 'to_hyphenated_lower(new_v5(nAMESPACE_DNS(), to_bytes("python.org")))', "string",
         '"886313e1-3b8a-5372-9b90-0c9aee199e5d"'),
        ("url", 'url_parse("HTTP://Ada:x@Example.org:80").unwrap_or_default()', "Url", '"http://Ada:x@example.org/"'),
        ("url", 'port_or_known_default(url_parse("https://h/p?q#f").unwrap_or_default()).unwrap_or(0)', "u16", "443"),
        ("url", 'url_parse("https://h/p?q#f").unwrap_or_default().query().unwrap_or("")', "string", '"q"'),
        ("url", 'url_parse("h/p").is_err()', "bool", "true"),
        ("url", 'join(url_parse("http://h/a/b").unwrap_or_default(), "c").unwrap_or_default()', "Url", '"http://h/a/c"'),
        ("allocate", '[1: u8, 3].to_set().allocate(["a", "b", "c"], 0, 4)', "Vec<(string, u8)>",
         '[("a", 4), ("b", 0), ("c", 2)]'),
        ("allocate", '[1: u8].to_set().allocate_opt(["a", "b"], 1, 2).nth(1)', "Option<(string, Option<u8>)>",
         'ddlog_std::Some{.x = ("b", ddlog_std::None{})}'),
        ("allocate", '[1: u8].to_set().allocate_with_hint([("a", Some{1}), ("b", None)], 0, 3)', "Vec<(string, u8)>",
         '[("a", 2), ("b", 3)]'),
        ("net::ipv6", "ipv6_octets(iPV6_LOCALHOST()).15", "u8", "1"),
        ("hashset", "hashset_union(hashset_singleton(2), [1, 2].to_hashset()).hashset_to_vec()", "Vec<u8>", "[1, 2]"),
        ("intern souffle_lib", 'istring_str(souffle_lib::substr(string_intern("hello"), 1, 3))', "string", '"ell"'),
        ("souffle_lib", "lor(0: s32, lnot(ftoi(1.9: double)))", "s32", "0"),
        ("ovsdb", "uuid2name(5)", "string", '"u00000000_0000_0000_0000_000000000005"'),
        ("ovsdb", '[Left{5: u128}, Right{"x"}].to_set().set_extract_uuids()', "Set<uuid>", "[0, 5]"),
        ("time", 'try_from_ymd(2001, 2, 29)', "Result<Date, string>", 'ddlog_std::Err{.err = "Invalid date"}'),
        ("time", 'try_from_yo(2024, 60).unwrap_or_default().next_day()', "Date", '"2024-03-01"'),
        ("time", 'try_from_hms_micro(1, 2, 3, 45).unwrap_or_default()', "Time", '"01:02:03.000045000"'),
        ("time", 'try_from_hms(1, 60, 3).is_err()', "bool", "true"),
        ("time", 'time_parse("1:05:03 pm", "%I:%M:%S %p").unwrap_or_default().hour()', "u8", "13"),
        ("time", 'from_julian_day(2460370).weekday()', "Weekday", "time::Thursday{}"),
        ("time", 'datetime_from_unix_timestamp(-1)', "DateTime",
         'time::DateTime{.date = "1969-12-31", .time = "23:59:59.000000000"}'),
        ("time", 'tz_datetime_parse_from_rfc2822("Tue, 1 Jul 2003 10:52:37 +0200").unwrap_or_default()', "TzDateTime",
         '"2003-07-01T10:52:37+02:00"'),
        ("time", 'utc_timezone(datetime_from_unix_timestamp(0)).change_offset(-5400).to_rfc2822()', "string",
         '"Wed, 31 Dec 1969 22:30:00 -0130"'),
        ("time", 'midnight().time_format("%Y")', "Result<string, string>",
         """ddlog_std::Err{.err = "Error in format string '%Y'"}"""),
        ("url", 'url_parse("https://exämple.org/a b/../ü?q=\'a\\"<>#f `x").unwrap_or_default()', "Url",
         '"https://xn--exmple-cua.org/%C3%BC?q=%27a%22%3C%3E#f%20%60x"'),
        ("url", 'url_parse("https://us er:p@ss@h:8080/{x}/.").unwrap_or_default()', "Url",
         '"https://us%20er:p%40ss@h:8080/%7Bx%7D/"'),
        ("url", 'url_parse("https://h/a%20b?c=%7B").unwrap_or_default()', "Url", '"https://h/a%20b?c=%7B"'),
        ("url", 'url_parse("mailto:Ä b@c.d").unwrap_or_default()', "Url", '"mailto:%C3%84 b@c.d"'),
        ("url", 'url_parse("http://a b/")', "Result<Url, string>", 'ddlog_std::Err{.err = "invalid domain character"}'),
        ("url", 'url_parse("http://h:99999/")', "Result<Url, string>", 'ddlog_std::Err{.err = "invalid port number"}'),
        ("time", 'string2datetime("x").unwrap_or_default()', "DateTime",
         'time::DateTime{.date = "1970-01-01", .time = "00:00:00.000000000"}'),
        ("time", 'tz_datetime_parse_from_rfc3339("x").unwrap_or_default()', "TzDateTime",
         '"1970-01-01T00:00:00+00:00"'),
        ("time", 'datetime_from_unix_timestamp(0).offset_timezone(3661).to_rfc3339()', "string",
         '"1970-01-01T01:01:01+01:01"'),
        ("time", 'datetime_from_unix_timestamp(0).offset_timezone(3661).utc_datetime()', "DateTime",
         'time::DateTime{.date = "1970-01-01", .time = "00:00:00.000000000"}'),
        ("time", 'tz_datetime_parse("2003-07-01 10:00:00 +9959", "%F %T %z").is_err()', "bool", "true"),
        ("time", 'tz_datetime_parse_from_rfc2822("1 Jul 03 10:52 EST").unwrap_or_default()', "TzDateTime",
         '"2003-07-01T10:52:00-05:00"'),
        ("time", 'tz_datetime_parse_from_rfc2822("Wed, 1 Jul 2003 10:52:37 GMT").is_err()', "bool", "true"),
        ("time", 'tz_datetime_parse_from_rfc2822("1 Jul 2003 10:52:37 XYZ").is_err()', "bool", "true"),
        ("allocate", '["a" -> 1: u8].adjust_allocation(["b", "a"], 0, 2)', "Vec<(string, u8)>", '[("b", 2), ("a", 1)]'),
    ],
)  # fmt: skip
def test_functions_have_the_values_that_they_promise(imports: str, expression: str, type_: str, expected: str) -> None:
    assert shown(imports, expression, type_) == expected


@given(st.datetimes(), st.sampled_from((None, 0, 3600, -5400)))
def test_formats_of_time_are_those_of_pythons_strftime(when: datetime, east: int | None) -> None:
    moment = ParsedMoment(
        when.date(), int((when - datetime.combine(when, time())) / timedelta(microseconds=1)) * 1000, east
    )
    both = "%a %A %b %B %d %H %I %j %m %M %p %S %U %w %W %y %u %V"
    assert written(moment, both) == when.strftime(both)
    formats = ("%F %T.%f", "%G-%V-%u %r .%9f", "%Y/%j %l:%M:%S %P%.f", "%d%b%Y%H%M%S%6f")
    for format_ in formats:
        assert read(written(moment, format_), format_) == ParsedMoment(moment.day, moment.nanoseconds)
    if east is not None:
        assert read(written(moment, "%+"), "%+") == moment


def test_json_is_changed_at_places() -> None:
    program = """
    import json
    function changed(text: string, ptr: JsonPtr): Result<string, string> {
        var v: JsonValue = from_json_string(text)?;
        set_by_ptr(v, ptr, JsonBool{true})?;
        to_json_string(JsonWrapper{v})
    }
    output relation R(x: Result<string, string>)
    R(changed("{}", [JKeyPtr{i"a"}, JIdxPtr{1}])).
    R(changed("[1]", [])).
    R(changed("[1]", [JKeyPtr{i"a"}])).
    """
    assert printed(program, "") == [
        "R:",
        r'R{.x = ddlog_std::Ok{.res = "true"}}: +1',
        r'R{.x = ddlog_std::Ok{.res = "{\"a\":[null,true]}"}}: +1',
        r'R{.x = ddlog_std::Err{.err = "Not a JSON map"}}: +1',
    ]


def test_inspect_prints_and_logs_where_dumps_go_in_recursions_too() -> None:
    program = """
    import print
    import log4j
    input relation E(a: u8, b: u8)
    relation P(a: u8, b: u8)
    E(1, 2).
    P(a, b) :- E(a, b), Inspect print("edge ${a} ${b} ${ddlog_weight}").
    P(a, c) :- P(a, b), E(b, c), Inspect info(0, "path ${a} ${c} ${ddlog_timestamp as bigint}").
    """
    commands = "log_level 400; start; insert E(2, 3); commit; log_level 300; start; insert E(3, 4); commit;"
    assert printed(program, commands) == ["edge 1 2 1", "edge 2 3 1", "LOG (400): path 1 3 1", "edge 3 4 1"]


def test_addresses_are_columns_and_records_of_numbers() -> None:
    program = """
import net::ipv4
input relation Host(name: string, ip: Ipv4Addr)
output relation Same(a: string, b: string, ip: Ipv4Addr, text: string)
Same(a, b, ip, "${ip}") :- Host(a, ip), Host(b, ip), a < b.
"""
    commands = 'start; insert Host("x", 0x0a000001), insert Host("y", 167772161); commit dump_changes;'
    assert printed(program, commands) == ["Same:", 'Same{.a = "x", .b = "y", .ip = 167772161, .text = "10.0.0.1"}: +1']


THINGS = """
import json
typedef Shape = Dot | Box{side: u8}
typedef Thing = Thing{name: string, shape: Shape, tags: Set<string>, more: Option<u8>, of: Map<string, double>}
input relation In(x: Thing)
output relation Text(t: Result<string, string>)
Text(to_json_string(x)) :- In(x).
input relation Raw(s: string)
output relation Parsed(r: Result<Thing, string>)
Parsed(from_json_string(s)) :- Raw(s).
output relation Second(n: Option<JsonValue>, back: string)
Second(get_by_ptr(v, [JKeyPtr{i"a"}, JIdxPtr{1}]), to_json_string(v).unwrap_or("?")) :-
    Raw(s), Ok{var v: JsonValue} = from_json_string(s).
"""


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def test_values_are_read_and_written_as_json() -> None:
    given = '{"name": "a", "shape": {"Box": {"side": 3}}, "tags": ["y", "x"], "of": {"k": 2}, "else": 1}'
    assert printed(THINGS, f"start; insert In(@json{quoted(given)}); commit dump_changes;") == [
        "Text:",
        "Text{.t = ddlog_std::Ok{.res = "
        + quoted('{"name":"a","shape":{"Box":{"side":3}},"tags":["x","y"],"more":null,"of":{"k":2.0}}')
        + "}}: +1",
    ]
    raw = ('{"name": "b", "shape": "Dot", "tags": [], "more": 4, "of": {}}', '{"a": [1, 2.5, null]}')
    found = printed(THINGS, f"start; insert Raw({quoted(raw[0])}), insert Raw({quoted(raw[1])}); commit dump_changes;")
    thing = 'Thing{.name = "b", .shape = Dot{}, .tags = [], .more = ddlog_std::Some{.x = 4}, .of = []}'
    assert found[1:3] == [
        f"Parsed{{.r = ddlog_std::Ok{{.res = {thing}}}}}: +1",
        'Parsed{.r = ddlog_std::Err{.err = "the field name is missing"}}: +1',
    ]
    assert "json::JsonNumber{.n = json::JsonFloat{.d = 2.5}}" in found[-1]
    assert quoted('{"a":[1,2.5,null]}') in found[-1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "the field name is missing"),
        ("[", "Expecting value"),
        ('{"name": 1}', "1 is no value of the type string"),
        ('{"name": "a", "shape": "Cone"}', "there are Dot, Box"),
        ('{"name": "a", "shape": {"Box": {"side": 300}}}', "300 does not fit into bit<8>"),
    ],
)
def test_what_is_no_json_of_the_type_is_told(text: str, told: str) -> None:
    (message,) = printed(THINGS, f"start; insert In(@json{quoted(text)}); commit;")
    assert "<commands>:1:8: @json: " in message
    assert told in message


GRAPH = """
import graph as g
input relation Edge(f: u32, t: u32)
function from(e: Edge): u32 { e.f }
function to(e: Edge): u32 { e.t }
output relation Cycles[(u32, u32)]
apply g::SCC(Edge, from, to) -> (Cycles)
output relation Least[(u32, u32)]
apply graph::ConnectedComponents(Edge, from, to) -> (Least)
output relation Both[(u32, u32)]
apply g::UnsafeBidirectionalEdges(Edge, from, to) -> (Both)
"""


def test_transformers_of_graphs_are_rules() -> None:
    edges = ", ".join(f"insert Edge{pair}" for pair in ((2, 1), (1, 2), (2, 3), (4, 3), (5, 5)))
    commands = f"start; {edges}; commit dump_changes; start; delete Edge(2, 1); commit dump_changes;"
    assert printed(GRAPH, commands) == [
        *("Both:", "(1, 2): +1", "(2, 1): +1", "(5, 5): +1"),
        *("Cycles:", "(1, 1): +1", "(2, 1): +1", "(5, 5): +1"),
        *("Least:", "(1, 1): +1", "(2, 1): +1", "(3, 1): +1", "(4, 4): +1", "(5, 5): +1"),
        *("Both:", "(1, 2): -1", "(2, 1): -1"),
        *("Cycles:", "(1, 1): -1", "(2, 1): -1"),
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("apply g::SCC(Edge, from) -> (Cycles)", "`SCC` takes a relation and two functions"),
        ("apply g::SCC(Edge, from, to) -> (Edge)", "`Edge` is no relation of this module that has pairs of nodes"),
        ("apply g::SCC(Edge, from, of) -> (Cycles)", "there is no function or variable `of`"),
    ],
)
def test_a_transformer_with_other_arguments_is_told(rule: str, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        check(f"{GRAPH}{rule}\n")
    assert message in str(error.value)
    assert ":12:1:" in str(error.value)
