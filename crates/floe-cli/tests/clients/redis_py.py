"""redis-py: INCR, INCRBY, pipelines with and without MULTI, floe's own MINT, errors, and a server that dies."""

import os
import sys

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

host, port = sys.argv[1], int(sys.argv[2])
client = redis.Redis(
    host=host,
    port=port,
    protocol=int(os.environ["RESP"]),
    decode_responses=True,
    retry=Retry(ConstantBackoff(0.05), 200),
    retry_on_error=[redis.exceptions.ConnectionError],
)


def give(name, *ids):
    for one in ids:
        print("id", name, one, flush=True)


def refused(word, call):
    try:
        call()
    except redis.exceptions.ResponseError as error:
        assert str(error).startswith(word), f"{error} does not begin with {word}"
    else:
        raise AssertionError(f"{word} was not refused")


assert client.ping()
for _ in range(20):
    give("visits", client.incr("visits"))
    give("tickets", client.incr("tickets"))
    give("orders", client.incr("orders"))
last = client.incrby("visits", 10)
give("visits", *range(last - 9, last + 1))
with client.pipeline() as pipe:  # MULTI and EXEC
    for _ in range(20):
        pipe.incr("visits")
    pipe.expire("visits", 86400)
    *ids, expires = pipe.execute()
    give("visits", *ids)
    assert expires
with client.pipeline(transaction=False) as pipe:
    for _ in range(20):
        pipe.incr("tickets")
        pipe.incr("orders")
    ids = pipe.execute()
    give("tickets", *ids[::2])
    give("orders", *ids[1::2])
give("orders", *client.execute_command("MINT", "orders", 50))
give("tickets", *client.execute_command("MINT", "tickets", 50))
assert isinstance(client.execute_command("MINT", "wide"), str), "80 bits are a text"
sessions = [client.execute_command("MINT", "sessions"), *client.execute_command("MINT", "sessions", 20)]
assert all(one.startswith("session_") and len(one) == 34 for one in sessions) and sessions == sorted(sessions)
give("sessions", *sessions)
give("receipts", *client.execute_command("MINT", "receipts", 20))
assert client.get("visits") == str(client.incr("visits") - 1)

assert client.setnx("first-setnx", 100) and client.incr("first-setnx") == 101
assert client.set("first-set", 0, nx=True, ex=86400) and client.incr("first-set") == 1
assert not client.setnx("first-set", 5) and client.set("first-set", 5, nx=True) is None
assert client.exists("first-set", "first-none") == 1
refused("SET is served only as", lambda: client.set("first-set", 5))
refused("DEL is refused", lambda: client.delete("first-set"))
refused("EVAL is refused", lambda: client.eval("return 1", 0))
refused("EVALSHA is refused", lambda: client.register_script("return 1")())
assert client.info("clients")["connected_clients"] >= 1 and client.info()["redis_version"] == "7.0.0"
# As Redis without a password: its user `default` takes any, and a password alone is a mistake where it is sent alone.
for protocol in (2, 3):
    assert redis.Redis(host=host, port=port, protocol=protocol, username="default", password="secret").ping()
try:
    redis.Redis(host=host, port=port, protocol=3, username="other", password="secret").ping()
except redis.exceptions.AuthenticationError as error:
    assert "invalid username-password pair" in str(error), error
else:
    raise AssertionError("a user was taken where there is none")
try:
    redis.Redis(host=host, port=port, protocol=2, password="secret").ping()
except redis.exceptions.AuthenticationError as error:
    assert "without any password configured" in str(error), error
else:
    raise AssertionError("a password was taken where there is none")

refused("NOKEY", lambda: client.incr("nobody"))
refused("WRONGTYPE", lambda: client.incrby("orders", 2))
refused("WRONGTYPE", lambda: client.incr("wide"))
refused("WRONGTYPE", lambda: client.incr("sessions"))
refused("a counter never", lambda: client.decr("visits"))
refused("INCRBY 0 would not mint", lambda: client.incrby("visits", 0))
refused("n = 100001 is outside", lambda: client.incrby("visits", 100001))
give("few", *(client.incr("few") for _ in range(9)))
refused("OVERFLOW", lambda: client.incr("few"))

print("kill", flush=True)
for _ in range(50):
    give("visits", client.incr("visits"))
    give("orders", client.incr("orders"))
