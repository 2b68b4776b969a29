"""Superset's REST API: a session that is logged in, and what this run asks of it."""

from __future__ import annotations

import json
import secrets
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPCookieProcessor, Request, build_opener

SECONDS = 300


class RefusedError(Exception):
    """An answer with an error; the text is Superset's JSON."""

    def message(self) -> str:
        """The error for people to read."""
        answer = json.loads(str(self))
        return str(answer["errors"][0]["message"] if "errors" in answer else answer["message"])


class Api:
    """One user's session."""

    def __init__(self, address: str, user: str, password: str) -> None:
        self._address = address
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self._headers = {"Content-Type": "application/json", "Referer": address}
        login = {"username": user, "password": password, "provider": "db"}
        self._headers["Authorization"] = f"Bearer {self.post('security/login', login)['access_token']}"
        self._headers["X-CSRFToken"] = self.get("security/csrf_token/")["result"]

    def get(self, path: str) -> Any:
        """The answer to a GET."""
        return self._ask(Request(f"{self._address}/api/v1/{path}", headers=self._headers))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to a POST."""
        data = json.dumps(body).encode()
        return self._ask(Request(f"{self._address}/api/v1/{path}", data, self._headers, method="POST"))

    def delete(self, path: str) -> None:
        """A DELETE."""
        self._ask(Request(f"{self._address}/api/v1/{path}", headers=self._headers, method="DELETE"))

    def _ask(self, request: Request) -> Any:
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                return json.load(answer)
        except HTTPError as error:
            raise RefusedError(error.read().decode()) from error

    def database(self, name: str, uri: str) -> int:
        """A new connection; its number."""
        settings = {"database_name": name, "sqlalchemy_uri": uri, "expose_in_sqllab": True}
        return int(self.post("database/", settings)["id"])

    def tables(self, database: int, schema: str) -> dict[str, str]:
        """What the schema's list shows: name → ``table`` or ``view``."""
        shown = self.get(f"database/{database}/tables/?q={quote(f'(force:!t,schema_name:{schema})')}")["result"]
        return {row["value"]: row["type"] for row in shown}

    def dataset(self, database: int, schema: str, name: str, sql: str | None = None) -> int:
        """A dataset of a table or view, or of a query under a name of its own; its number."""
        body = {"database": database, "schema": schema, "table_name": name, **({"sql": sql} if sql else {})}
        return int(self.post("dataset/", body)["id"])

    def rule(self, name: str, dataset: int, condition: str) -> int:
        """Row level security: administrators see the dataset's rows with the condition only. Its number."""
        roles = [role["id"] for role in self.get("security/roles/")["result"] if role["name"] == "Admin"]
        body = {"name": name, "filter_type": "Regular", "tables": [dataset], "roles": roles, "clause": condition}
        return int(self.post("rowlevelsecurity/", body)["id"])

    def columns(self, dataset: int) -> dict[str, str]:
        """name → type, as Superset found them."""
        found = self.get(f"dataset/{dataset}")["result"]["columns"]
        return {column["column_name"]: column["type"] for column in found}

    def chart(self, name: str, dataset: int, form: dict[str, Any]) -> int:
        """A saved bar chart; its number."""
        params = {"datasource": f"{dataset}__table", "viz_type": "echarts_timeseries_bar", **form}
        body = {
            "slice_name": name,
            "viz_type": params["viz_type"],
            "datasource_id": dataset,
            "datasource_type": "table",
            "params": json.dumps(params),
        }
        return int(self.post("chart/", body)["id"])

    def chart_data(self, dataset: int, query: dict[str, Any]) -> dict[str, Any]:
        """``data``, rows as dictionaries, and ``query``, the SQL that Superset has sent."""
        body = {"datasource": {"id": dataset, "type": "table"}, "queries": [query], "force": True}
        return dict(self.post("chart/data", body)["result"][0])

    def sql_lab(self, database: int, schema: str, sql: str) -> list[dict[str, Any]]:
        """The rows of a statement in SQL Lab."""
        body = {"database_id": database, "schema": schema, "sql": sql, "runAsync": False, "queryLimit": 1000}
        return list(self.post("sqllab/execute/", {**body, "client_id": secrets.token_hex(5)})["data"])
