"""Thrift's clients in Python, with Twitter's interface. Arguments: the client, host, port."""

import os
import sys

from steps import expect, retry, say, wait_for_restart


class Thrift:
    """PyPI's thrift; the calls are written out as its compiler writes them."""

    def __init__(self, host, port, framed=True, strict=True):
        from thrift import Thrift
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.transport import TTransport

        self.thrift = Thrift
        socket = self.socket(host, port)
        socket.setTimeout(5000)
        wrap = TTransport.TFramedTransport if framed else TTransport.TBufferedTransport
        self.transport = wrap(socket)
        self.protocol = TBinaryProtocol(self.transport, strictRead=strict, strictWrite=strict)
        self.errors = (TTransport.TTransportException, OSError)
        self.refusal = Thrift.TApplicationException
        self.sequence = 0
        self.transport.open()

    def socket(self, host, port):
        from thrift.transport import TSocket

        return TSocket.TSocket(host, port)

    def reconnect(self):
        self.transport.close()
        self.transport.open()

    def call(self, method, useragent=None):
        types, protocol = self.thrift, self.protocol
        self.sequence += 1
        protocol.writeMessageBegin(method, types.TMessageType.CALL, self.sequence)
        protocol.writeStructBegin(method + "_args")
        if useragent is not None:
            protocol.writeFieldBegin("useragent", types.TType.STRING, 1)
            protocol.writeString(useragent)
            protocol.writeFieldEnd()
        protocol.writeFieldStop()
        protocol.writeStructEnd()
        protocol.writeMessageEnd()
        self.transport.flush()
        name, kind, sequence = protocol.readMessageBegin()
        assert (name, sequence) == (method, self.sequence)
        if kind == types.TMessageType.EXCEPTION:
            error = types.TApplicationException()
            error.read(protocol)
            protocol.readMessageEnd()
            raise error
        protocol.readStructBegin()
        result = None
        while True:
            _, field_type, field = protocol.readFieldBegin()
            if field_type == types.TType.STOP:
                break
            assert (field_type, field) == (types.TType.I64, 0)
            result = protocol.readI64()
            protocol.readFieldEnd()
        protocol.readStructEnd()
        protocol.readMessageEnd()
        return result


class Thriftpy:
    def __init__(self, host, port):
        import thriftpy2
        from thriftpy2.protocol import TBinaryProtocolFactory
        from thriftpy2.rpc import make_client
        from thriftpy2.thrift import TApplicationException
        from thriftpy2.transport import TFramedTransportFactory, TTransportException

        idl = os.path.join(os.path.dirname(os.path.abspath(__file__)), "snowflake.thrift")
        service = thriftpy2.load(idl, module_name="snowflake_thrift").Snowflake
        self.make = lambda: make_client(
            service, host, port, proto_factory=TBinaryProtocolFactory(), trans_factory=TFramedTransportFactory()
        )
        self.errors = (TTransportException, OSError)
        self.refusal = TApplicationException
        self.client = self.make()

    def reconnect(self):
        self.client.close()
        self.client = self.make()

    def call(self, method, useragent=None):
        arguments = [] if useragent is None else [useragent]
        return getattr(self.client, method)(*arguments)


CLIENTS = {
    "thrift-framed-strict": Thrift,
    "thrift-framed": lambda host, port: Thrift(host, port, strict=False),
    "thrift-unframed-strict": lambda host, port: Thrift(host, port, framed=False),
    "thrift-unframed": lambda host, port: Thrift(host, port, framed=False, strict=False),
    "thriftpy2": Thriftpy,
}


def main(which, host, port):
    client = CLIENTS[which](host, int(port))
    for _ in range(50):
        say("snowflake", client.call("get_id", "floe-tests"))
    last = client.call("get_id", "floe-tests")
    say("snowflake", last)
    assert client.call("get_worker_id") == last >> 12 & 31
    assert client.call("get_datacenter_id") == last >> 17 & 31
    assert abs(client.call("get_timestamp") - (last >> 22) - 1288834974657) < 20_000
    try:
        say("snowflake", client.call("get_id", "not an agent"))
    except client.refusal as error:
        expect("user agent", error.message, "bad-request: the user agent")
    else:
        raise AssertionError("a user agent that is none is taken")
    say("snowflake", client.call("get_id", "floe-tests"))
    wait_for_restart()

    def again():
        try:
            return client.call("get_id", "floe-tests")
        except client.errors:
            client.reconnect()
            raise

    for _ in range(50):
        say("snowflake", retry(again, client.errors))


if __name__ == "__main__":
    main(*sys.argv[1:])
