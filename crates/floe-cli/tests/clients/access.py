"""Every wire with TLS and a token: what is right mints, what is wrong is refused with the wire's own error."""

import json
import os
import ssl
import sys
import urllib.request

import grpc
import mysql.connector
import pymemcache
import pymysql
import redis
import redis.backoff
import redis.retry
from floe.v1 import ids_pb2 as v1
from floe.v1 import ids_pb2_grpc
from thrift.Thrift import TApplicationException
from thrift.transport import TSSLSocket
from thrift_clients import Thrift

from steps import expect, say

# The certificate is for this name.
host, port, mysql_port = "localhost", int(sys.argv[2]), int(os.environ["MYSQL_PORT"])
token, ca = os.environ["TOKEN"], os.environ["CA"]
own = {"certfile": os.environ["CERTIFICATE"], "keyfile": os.environ["KEY"]}
wrong = "floe_" + "0" * 64


def refused(what, call, errors, *words):
    try:
        answer = call()
    except errors as error:
        expect(what, error, *words)
        assert wrong not in str(error) and token not in str(error)
    else:
        raise AssertionError(f"{what}: {answer!r}")


def tls(**own):
    context = ssl.create_default_context(cafile=ca)
    if own:
        context.load_cert_chain(**own)
    return context


def over_redis(password):
    # It takes a wrong token for a connection that failed, and would wait and ask again.
    once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
    return redis.Redis(host=host, port=port, password=password, ssl=True, ssl_ca_certs=ca, retry=once)


say("visits", over_redis(token).incr("visits"))
refused("redis", lambda: over_redis(wrong).incr("visits"), redis.exceptions.AuthenticationError, "does not know this token")
refused("redis", lambda: over_redis(None).incr("visits"), redis.exceptions.AuthenticationError, "asks for a token")
refused("redis", lambda: over_redis(token).incr("invoice"), redis.exceptions.NoPermissionError, "invoice")


def over_pymysql(password):
    return pymysql.connect(host=host, port=mysql_port, user="app", password=password, ssl={"ca": ca})


def over_connector(password, **more):
    return mysql.connector.connect(
        host=host, port=mysql_port, user="app", password=password, ssl_ca=ca, ssl_verify_cert=True, use_pure=True, **more
    )


def ticket(connection, name):
    with connection.cursor() as cursor:
        cursor.execute(f"REPLACE INTO {name} (stub) VALUES ('a')")
        return cursor.lastrowid


for what, connect, error in (
    ("PyMySQL", over_pymysql, pymysql.err.MySQLError),
    ("Connector/Python", over_connector, mysql.connector.Error),
    ("native", lambda password: over_connector(password, auth_plugin="mysql_native_password"), mysql.connector.Error),
):
    connection = connect(token)
    say("tickets", ticket(connection, "tickets"))
    refused(what, lambda: ticket(connection, "invoice"), error, "1142", "invoice")
    with connection.cursor() as cursor:
        for name in ("invoice", "visits"):
            refused(what, lambda: cursor.execute(f"ALTER TABLE {name} AUTO_INCREMENT = 7"), error, "1142")
    refused(what, lambda: connect(wrong), error, "1045")
    refused(what, lambda: connect(""), error, "1045")
# Without TLS, on loopback, where that is served.
say("tickets", ticket(pymysql.connect(host=host, port=mysql_port, user="app", password=token), "tickets"))

with open(ca, "rb") as file:
    channel = grpc.secure_channel(f"{host}:{port}", grpc.ssl_channel_credentials(file.read()))
ids = ids_pb2_grpc.IdsStub(channel)


def over_grpc(name, secret):
    metadata = [("authorization", f"Bearer {secret}")] if secret else []
    return ids.Mint(v1.MintRequest(name=name), metadata=metadata)


say("visits", over_grpc("visits", token).ids[0])
refused("gRPC", lambda: over_grpc("visits", None), grpc.RpcError, "UNAUTHENTICATED")
refused("gRPC", lambda: over_grpc("visits", wrong), grpc.RpcError, "UNAUTHENTICATED")
refused("gRPC", lambda: over_grpc("invoice", token), grpc.RpcError, "PERMISSION_DENIED")
pages = ids.ListNames(v1.ListNamesRequest(), metadata=[("authorization", f"Bearer {token}")])
assert "invoice" not in [name.name for name in pages.names]


def over_tinyid(name, secret):
    url = f"https://{host}:{port}/tinyid/id/nextId?bizType={name}&batchSize=1&token={secret}"
    with urllib.request.urlopen(url, context=tls()) as answer:
        return json.load(answer)


say("tickets", over_tinyid("tickets", token)["data"][0])
for name, secret in (("tickets", wrong), ("tickets", ""), ("invoice", token)):
    answer = over_tinyid(name, secret)
    assert answer["data"] is None and answer["code"] == 5, answer


# No place for a token: a certificate has to do.
def over_memcached(**own):
    return pymemcache.Client((host, port), tls_context=tls(**own))


say("visits", over_memcached(**own).get("visits"))
errors = pymemcache.exceptions.MemcacheClientError
refused("memcached", lambda: over_memcached().get("visits"), errors, "unauthenticated", "certificate")
refused("memcached", lambda: over_memcached(**own).get("invoice"), errors, "forbidden")


class SecureThrift(Thrift):
    def __init__(self, **own):
        self.own = own
        super().__init__(host, port)

    def socket(self, host, port):
        return TSSLSocket.TSSLSocket(host, port, ca_certs=ca, cert_reqs=ssl.CERT_REQUIRED, **self.own)


say("snowflake", SecureThrift(**own).call("get_id", "app"))
refused("Thrift", lambda: SecureThrift().call("get_id", "app"), TApplicationException, "unauthenticated")
