"""pandas, as its users write it: sorted frames, shifts within a key, merges by key and bin. One core."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pandas as pd
from serve import MEMORY, serve

ORDER = ["key", "ts"]


def main() -> None:
    """Ask for as long as there is input."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY << 30, MEMORY << 30))
    asked = {"vee": vee, "funnel": funnel, "sequence": sequence}
    serve(lambda request: lambda: asked[request["question"]](pd.read_parquet(request["parquet"]), request))


def vee(events: pd.DataFrame, _: dict[str, Any]) -> list[int]:
    """Low turning points between two others, the later of which has a row behind it."""
    rows = events.sort_values(ORDER, kind="stable")
    came = np.sign(rows.groupby("key").price.diff())
    rows = rows.assign(came=came, goes=came.groupby(rows.key).shift(-1))
    turns = rows[~((rows.came == rows.goes) | (rows.came.isna() & rows.goes.isna()))]
    by_key = turns.groupby("key")
    turns = turns.assign(first=by_key.price.shift(), last=by_key.price.shift(-1), after=by_key.goes.shift(-1))
    found = turns[(turns.came < 0) & (turns.goes > 0) & turns.after.notna()]
    return [len(found), (found["last"] - found["first"]).sum(), found.price.sum()]


def funnel(events: pd.DataFrame, request: dict[str, Any]) -> list[int]:
    """From the last type to the second: the time at which the funnel that goes on from here ends."""
    first, *rest = "ABCDEFGHIJ"[: request["length"]]
    rows = events[events.type.isin([first, *rest])].sort_values(ORDER, ascending=[True, False], kind="stable")
    at = rows.ts.astype("float64")
    for letter in reversed(rest):
        at = at.where(rows.type == letter).groupby(rows.key).cummin().groupby(rows.key).ffill()
    found = at[(rows.type == first) & (at < rows.ts + request["window"])]
    return [len(found), found.sum()]


def sequence(events: pd.DataFrame, request: dict[str, Any]) -> list[int]:
    """Merges of bins, as the self-joins do it."""
    first, *rest = "ABCDEFGHIJ"[: request["length"]]
    window, rise = request["window"], request["rise"]
    rows = events.assign(bin=events.ts - events.ts % window)
    found = rows[rows.type == first][["key", "bin", "ts", "price"]].rename(columns={"ts": "began"})
    found["ts"] = found.began
    for letter in rest:
        mine = rows[rows.type == letter][["key", "bin", "ts", "price"]]
        near = pd.concat([mine, mine.assign(bin=mine.bin - window)])
        pairs = found.merge(near, on=["key", "bin"], suffixes=("_before", ""))
        keep = (pairs.ts > pairs.ts_before) & (pairs.ts < pairs.began + window)
        if rise is not None:
            keep &= pairs.price > pairs.price_before + rise
        found = pairs.loc[keep, ["key", "bin", "began", "ts", "price"]]
    return [len(found), found.price.sum()]


if __name__ == "__main__":
    main()
