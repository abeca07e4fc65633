"""The service for agents: tools of the Model Context Protocol, by its official library.

An agent asks for tables, their rows, changes and explanations; it changes tables where it may, and defines nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from deltic import __version__
from deltic.errors import DelticError
from deltic.server.describing import described_catalog
from deltic.server.json_rows import columns_of, listed, pattern_of, plain, weighted
from deltic.server.service import Answer, Service
from deltic.server.users import NotAllowedError, Role, User

P = ParamSpec("P")
T = TypeVar("T")

_INSTRUCTIONS = (
    "Tables, and views over them that stay fresh. Begin with `relations`; `query` takes Spark's SQL. `why` explains a "
    "row by the rows of tables that it rests on: use it before you guess at a cause."
)
_ROWS = 100
"""Rows of an answer unless an agent asks for more."""
_READS, _WRITES = ToolAnnotations(read_only_hint=True), ToolAnnotations(destructive_hint=True)


class AgentTools:
    """The tools of an agent; `catch_up` is called before each, to follow a state that others write."""

    def __init__(self, service: Service, writes: bool, catch_up: Callable[[], object]) -> None:
        self._service, self._catch_up = service, catch_up
        self._user = User("an agent", Role.WRITER if writes else Role.READER)

    def relations(self) -> dict[str, Any]:
        """Return all tables and views: columns with types, keys, what views read, and what defines them."""
        self._catch_up()
        seen = self._service.pipeline.snapshot()
        relations = described_catalog(self._service.pipeline)["relations"]
        return {"epoch": seen.epoch, "relations": [{**each, "rows": len(seen[each["name"]])} for each in relations]}

    def query(self, sql: str, args: list[Any] | None = None, limit: int = _ROWS) -> dict[str, Any]:
        """Return the rows of a SELECT, SHOW, DESCRIBE or EXPLAIN; `args` are the values of `?` in it."""
        self._catch_up()
        try:
            result = self._service.execute(sql, args or None, user=User("an agent", Role.READER), most=limit)
        except NotAllowedError:
            other = "the tool change takes" if self._user.role is Role.WRITER else "deltic mcp --write has a tool for"
            message = f"query takes SELECT, SHOW, DESCRIBE and EXPLAIN; {other} INSERT, UPDATE, DELETE and MERGE"
            raise NotAllowedError(message) from None
        assert isinstance(result, Answer)
        rows = result.rows.to_arrow()
        fields = {"columns": columns_of(rows), "rows": listed(rows), "epoch": result.epoch}
        return {**fields, "truncated": result.truncated}

    def changes(self, view: str, since: int) -> dict[str, Any]:
        """Return how each epoch after `since` changed a view: rows with weights, 1 for new ones, -1 for others."""
        self._catch_up()
        with self._service.subscribe(view, since, "an agent") as follower:
            changes = [{"epoch": change.epoch, **weighted(change.to_arrow())} for change in follower]
            return {
                "view": view,
                "columns": list(self._service.pipeline.views[view].names),
                "changes": changes,
                "epoch": follower.position,
            }

    def why(self, relation: str, row: dict[str, Any], depth: int | None = None) -> dict[str, Any]:
        """Return why a row is there, by values of some of its columns: the rules that make it, down to table rows."""
        pattern = self._pattern(relation, row)
        with self._service.asking():
            explanation = self._service.pipeline.why(relation, pattern, depth=depth, budget=10_000)
        return {"text": str(explanation), "steps": plain(explanation.to_dict()["steps"])}

    def why_not(self, relation: str, row: dict[str, Any]) -> dict[str, Any]:
        """Return why a view has no row with these values: for each rule what holds, what fails, and what is nearest."""
        pattern = self._pattern(relation, row)
        with self._service.asking():
            result = self._service.pipeline.why_not(relation, pattern)
        return {"text": str(result), "ways": plain(result.to_dict()["ways"])}

    def plan(self, view: str) -> str:
        """Return how a view is kept fresh, and what that costs."""
        self._catch_up()
        return str(self._service.pipeline.explain(view))

    def change(self, sql: str, args: list[Any] | None = None, key: str = "") -> dict[str, Any]:
        """Run INSERT, UPDATE, DELETE or MERGE as one transaction; with the same `key` it is applied once."""
        result = self._service.execute(sql, args or None, user=self._user, key=key, digest=repr((sql, args)))
        return {"epoch": result.epoch, "affected": list(getattr(result, "affected", ()))}

    def _pattern(self, relation: str, row: dict[str, Any]) -> dict[str, Any]:
        self._catch_up()
        return pattern_of(relation, self._service.pipeline[relation].schema, row)


def _saying_why(tool: Callable[P, T]) -> Callable[P, T]:
    """Wrap a tool so that the agent sees its errors, which the library would hide."""

    @wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return tool(*args, **kwargs)
        except DelticError as error:
            raise ToolError(str(error)) from error

    return call


def mcp_server(service: Service, writes: bool, catch_up: Callable[[], object]) -> MCPServer:
    """Return the server of a service's tools; without `writes` it has only those that read."""
    tools = AgentTools(service, writes, catch_up)
    server: MCPServer = MCPServer("deltic", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for read in (tools.relations, tools.query, tools.changes, tools.why, tools.why_not, tools.plan):
        server.tool(annotations=_READS)(_saying_why(read))
    if writes:
        server.tool(annotations=_WRITES)(_saying_why(tools.change))
    return server
