"""Functions of the libraries: values that are not those that DDlog's declarations promise."""

from __future__ import annotations

import pytest

from deltic.datalog.ddlog.check import check
from deltic.datalog.ddlog.lowering.program import Lowered
from tests.datalog.ddlog.test_sessions import printed


def shown(imports: str, expression: str, type_: str) -> str:
    """The value of an expression of a type, as it is printed."""
    text = "".join(f"import {each}\n" for each in imports.split())
    checked = check(f"{text}relation Result[{type_}]\nResult[{expression}].\n")
    value = checked.compile_expression(checked.rules[-1].heads[0].record, [])()
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
        ("allocate", '["a" -> 1: u8].adjust_allocation(["b", "a"], 0, 2)', "Vec<(string, u8)>", '[("b", 2), ("a", 1)]'),
    ],
)  # fmt: skip
def test_functions_have_the_values_that_they_promise(imports: str, expression: str, type_: str, expected: str) -> None:
    assert shown(imports, expression, type_) == expected


def test_addresses_are_columns_and_records_of_numbers() -> None:
    program = """
import net::ipv4
input relation Host(name: string, ip: Ipv4Addr)
output relation Same(a: string, b: string, ip: Ipv4Addr, text: string)
Same(a, b, ip, "${ip}") :- Host(a, ip), Host(b, ip), a < b.
"""
    commands = 'start; insert Host("x", 0x0a000001), insert Host("y", 167772161); commit dump_changes;'
    assert printed(program, commands) == ["Same:", 'Same{.a = "x", .b = "y", .ip = 167772161, .text = "10.0.0.1"}: +1']
