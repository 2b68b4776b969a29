"""Values of partial matches: columns of bound events, closures and their aggregates, and the predicates over them."""
