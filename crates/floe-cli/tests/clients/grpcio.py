"""grpcio: single mints, batches, streams, katsubushi's calls, health, reflection, errors, and a server that dies."""

import json
import sys

import grpc
from floe.v1 import ids_pb2 as v1
from floe.v1 import ids_pb2_grpc
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from katsubushi import generator_pb2 as k
from katsubushi import generator_pb2_grpc

retry = {
    "methodConfig": [
        {
            "name": [{}],
            "waitForReady": True,
            "timeout": "20s",
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
options = [
    ("grpc.service_config", json.dumps(retry)),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
channel = grpc.insecure_channel(f"{sys.argv[1]}:{sys.argv[2]}", options)
ids = ids_pb2_grpc.IdsStub(channel)
generator = generator_pb2_grpc.GeneratorStub(channel)


def give(name, values):
    for one in values:
        print("id", name, one, flush=True)


def refused(code, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()} is not {code}: {error.details()}"
        assert len(error.details()) > 30, error.details()
    else:
        raise AssertionError(f"{code} did not come")


def mint(name, count):
    answer = ids.Mint(v1.MintRequest(name=name, count=count))
    give(name, [*answer.ids, *answer.texts])
    return answer


def round():
    for _ in range(10):
        for name in ("visits", "tickets", "orders"):
            mint(name, 3)
        give("katsubushi", [generator.Fetch(k.FetchRequest()).id])
    assert len(mint("wide", 30).texts) == 30, "82 bits are texts"
    assert all(one.startswith("session_") for one in mint("sessions", 30).texts)
    assert all(len(one) == 11 for one in mint("receipts", 30).texts)
    refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: mint("receipts", 8193))
    give("katsubushi", generator.FetchMulti(k.FetchMultiRequest(n=30)).ids)


round()
assert len(ids.Mint(v1.MintRequest(name="invoice")).ids) == 1, "one where no count is given"
messages = list(ids.MintStream(v1.MintStreamRequest(name="tickets", count=20_000)))
assert messages[0].definition.kind == "segment" and not messages[1].HasField("definition")
give("tickets", [one for message in messages for one in message.ids])
# Whoever has enough hangs up.
endless = ids.MintStream(v1.MintStreamRequest(name="tickets", count=1 << 32))
give("tickets", next(endless).ids)
endless.cancel()

stub = health_pb2_grpc.HealthStub(channel)
assert stub.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
refused(grpc.StatusCode.NOT_FOUND, lambda: stub.Check(health_pb2.HealthCheckRequest(service="no.Such")))
described = ProtoReflectionDescriptorDatabase(channel)
assert {"floe.v1.Ids", "katsubushi.Generator", "grpc.health.v1.Health"} <= set(described.get_services())
service = descriptor_pool.DescriptorPool(described).FindServiceByName("floe.v1.Ids")
assert [method.name for method in service.methods] == ["Mint", "MintStream", "Inspect", "ListNames"]

one = ids.Mint(v1.MintRequest(name="orders", count=1)).ids[0]
reading = ids.Inspect(v1.InspectRequest(id=str(one), name="orders")).readings[0]
assert reading.kind == "snowflake" and reading.time_ms > 1_700_000_000_000 and len(reading.fields) == 4
listed = ids.ListNames(v1.ListNamesRequest(limit=2))
assert len(listed.names) == 2 and listed.next == listed.names[1].name
assert ids.ListNames(v1.ListNamesRequest(after=listed.next)).names[0].name > listed.next

refused(grpc.StatusCode.NOT_FOUND, lambda: mint("nobody", 1))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: mint("orders", 0))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: mint("orders", 100_001))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: mint("orders", (1 << 64) - 1))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: ids.Inspect(v1.InspectRequest(id="x", name="orders")))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: ids.ListNames(v1.ListNamesRequest(limit=0)))
refused(grpc.StatusCode.OUT_OF_RANGE, lambda: mint("few", 10))
refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: generator.FetchMulti(k.FetchMultiRequest(n=100_001)))
for count in (0, (1 << 32) + 1):
    refused(
        grpc.StatusCode.INVALID_ARGUMENT,
        lambda: next(ids.MintStream(v1.MintStreamRequest(name="orders", count=count))),
    )

print("kill", flush=True)
for _ in range(20):
    round()
