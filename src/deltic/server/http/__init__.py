"""The service by HTTP: rows in, questions and changes out, and what the console needs.

`endpoints.py` is the table of all endpoints, from which routes, OpenAPI and the docs are made; `app.py` puts them
together.
"""
