"""Scripts that ask random questions in two ways and print where the answers differ. Too long for each change; which of them when: CONTRIBUTING.md."""
