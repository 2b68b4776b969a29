"""Classes of the JVM by their full names."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass


def java_class(context: Any, name: str) -> Any:
    """The class (of a Scala object: ``name`` with a $). ``context``: SparkContext.

    Not ``_jvm.org.apache…``: for each part of that Py4J has the JVM look whether it is a class, in every jar, a millisecond for a name.
    """
    return JavaClass(name, context._gateway._gateway_client)


def class_beside(java: Any, name: str) -> Any:
    """The same, in the JVM of the object ``java``."""
    return JavaClass(name, java._gateway_client)
