"""memcached's clients in Python. Arguments: the client, host, port."""

import sys

from steps import retry, say, wait_for_restart


class Pymemcache:
    def __init__(self, host, port):
        from pymemcache.client.base import Client
        from pymemcache.exceptions import MemcacheError

        self.client = Client((host, port), connect_timeout=5, timeout=5)
        self.errors = (MemcacheError, OSError)
        self.get, self.get_many = self.client.get, self.client.get_many
        self.stats = self.client.stats


class PythonMemcached:
    """It tells no error from "no value": both are None."""

    def __init__(self, host, port):
        import memcache

        self.client = memcache.Client([f"{host}:{port}"], dead_retry=0, socket_timeout=1)
        self.errors = (LookupError,)
        self.stats = lambda: self.client.get_stats()[0][1]

    def get(self, key):
        return self.some(self.client.get(key))

    def get_many(self, keys):
        found = self.client.get_multi(keys)
        return found if len(found) == len(keys) else self.some(None)

    @staticmethod
    def some(value):
        if value is None:
            raise LookupError("nothing")
        return value


class Pylibmc:
    def __init__(self, host, port, binary=False):
        import pylibmc

        self.client = pylibmc.Client([f"{host}:{port}"], binary=binary, behaviors={"retry_timeout": 1})
        self.errors = (pylibmc.Error, LookupError)
        self.stats = lambda: dict(self.client.get_stats()[0][1])

    def get(self, key):
        value = self.client.get(key)
        if value is None:
            raise LookupError("nothing")
        return value

    def get_many(self, keys):
        # An error leaves out values, and says nothing.
        found = self.client.get_multi(keys)
        if len(found) < len(keys):
            raise LookupError("not all")
        return found


class Bmemcached:
    def __init__(self, host, port):
        import bmemcached

        self.client = bmemcached.Client(f"{host}:{port}", socket_timeout=5)
        self.errors = (bmemcached.exceptions.MemcachedException, LookupError)
        self.get_many = self.client.get_multi
        self.stats = lambda: next(iter(self.client.stats().values()))

    def get(self, key):
        value = self.client.get(key)
        if value is None:
            raise LookupError("nothing")
        return value


CLIENTS = {
    "pymemcache": Pymemcache,
    "python-memcached": PythonMemcached,
    "pylibmc-text": Pylibmc,
    "pylibmc-binary": lambda host, port: Pylibmc(host, port, binary=True),
    "bmemcached": Bmemcached,
}


def refused(client, what, call):
    """An error, and never an answer that the application would take for an ID."""
    try:
        value = call()
    except client.errors:
        return
    raise AssertionError(f"{what} is not refused but answered {value!r}")


def main(which, host, port):
    def connect():
        return CLIENTS[which](host, int(port))

    client = connect()
    for _ in range(50):
        say("orders", client.get("orders"))
    for name, length in (("sessions", 34), ("receipts", 11)):
        text = client.get(name)
        assert len(text) == length, text
        say(name, text)
    several = client.get_many(["orders", "visits", "tickets"])
    assert len(several) == 3
    for name, number in several.items():
        say(name, number)
    assert client.stats()
    refused(client, "a name that does not exist", lambda: client.get("nope"))
    # libmemcached leaves a server alone for a while after an error: a new client asks at once.
    client = connect() if which.startswith("pylibmc") else client
    refused(client, "a get of several", lambda: client.get_many(["visits", "nope", "tickets"]))
    client = connect() if which.startswith("pylibmc") else client
    # Whatever the error left behind, the next answers belong to their questions.
    for _ in range(3):
        say("visits", retry(lambda: client.get("visits"), client.errors))
    wait_for_restart()
    for _ in range(50):
        say("orders", retry(lambda: client.get("orders"), client.errors))


main(*sys.argv[1:])
