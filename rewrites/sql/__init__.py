"""SQL text: the user's with the edits made so far (``source``), ours as sqlglot trees (``builder``), values on their way (``transport``)."""
