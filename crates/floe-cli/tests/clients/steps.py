"""What every client does here: mint, say so, wait for the server's restart, and mint again."""

import sys
import time


def say(name, number):
    """One ID a line, with its name, for the test to check."""
    assert number, f"{name}: {number!r} is no ID"
    text = number.decode() if isinstance(number, bytes) else str(number)
    print("id", name, text, flush=True)


def expect(what, message, *words):
    """An error has to be one, and to say what it is about."""
    for word in words:
        assert word in str(message), f"{what}: {message!r} does not say {word!r}"


def wait_for_restart():
    """The test kills the server and starts it again on the same port."""
    print("kill", flush=True)
    assert sys.stdin.readline().strip() == "restarted"


def retry(call, errors):
    """What an application does about a server that went away. A mint that is retried only wastes an ID."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return call()
        except errors:
            assert time.monotonic() < deadline, "the client does not come back"
            time.sleep(0.05)
