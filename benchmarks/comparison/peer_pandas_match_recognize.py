"""pandas-match-recognize: SQL's clause over a frame. One core."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas_match_recognize import match_recognize
from serve import Answer, serve


def main() -> None:
    """Ask for as long as there is input."""

    def prepare(request: dict[str, Any]) -> Answer:
        def answer() -> list[int]:
            found = match_recognize(request["text"], pd.read_parquet(request["parquet"]))
            return [len(found), (found.last_price - found.first_price).sum(), found.lowest.sum()]

        return answer

    serve(prepare)


if __name__ == "__main__":
    main()
