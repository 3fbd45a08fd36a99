"""mysql-connector-python with compress=True, which it does whatever the server's greeting says."""

import os
import sys

import mysql.connector

try:
    mysql.connector.connect(
        host=sys.argv[1], port=int(os.environ["MYSQL_PORT"]), user="app", password="x", compress=True, use_pure=True
    )
except mysql.connector.Error as error:
    assert error.errno == 1235 and "compression is not served" in error.msg, error
else:
    raise AssertionError("it is connected")
