"""The service by HTTP: changes of tables, queries, subscriptions, and the console's data.

`endpoints.py` is the table of all endpoints, from which routes, OpenAPI and the docs are made; `app.py` assembles the
application.
"""
