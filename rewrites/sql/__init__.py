"""SQL text: the user's with the edits made so far (``source``), ours as sqlglot trees (``builder``), encodings of values for transport
(``transport``)."""
