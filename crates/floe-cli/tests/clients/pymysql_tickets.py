"""PyMySQL: tickets one at a time and as a multi-statement, errors, and a server that dies."""

import os
import sys
import time

import pymysql
from pymysql.constants import CLIENT

host, port = sys.argv[1], int(os.environ["MYSQL_PORT"])


def connect():
    return pymysql.connect(host=host, port=port, user="app", password="x", client_flag=CLIENT.MULTI_STATEMENTS)


def give(name, number):
    print("id", name, number, flush=True)


def ticket(db, name):
    with db.cursor() as cursor:
        cursor.execute(f"REPLACE INTO {name} (stub) VALUES ('a')")
        return cursor.lastrowid


def refused(code, sql):
    try:
        with db.cursor() as cursor:
            cursor.execute(sql)
    except pymysql.err.MySQLError as error:
        assert error.args[0] == code, error
    else:
        raise AssertionError(f"{sql} was not refused")


db = connect()
for _ in range(20):
    for name in ("tickets", "visits", "orders"):
        give(name, ticket(db, name))
with db.cursor() as cursor:
    for _ in range(10):
        cursor.execute("REPLACE INTO tickets (stub) VALUES ('a'); SELECT LAST_INSERT_ID()")
        assert cursor.nextset()
        give("tickets", cursor.fetchone()[0])
refused(1146, "REPLACE INTO nobody (stub) VALUES ('a')")
refused(1064, "SELECT * FROM tickets")
refused(1366, "INSERT INTO orders (stub) VALUES ('a'), ('b')")
for _ in range(9):
    ticket(db, "few")
refused(1467, "REPLACE INTO few (stub) VALUES ('a')")

print("kill", flush=True)
for _ in range(30):
    for name in ("tickets", "visits", "orders"):
        while True:
            try:
                give(name, ticket(db, name))
                break
            except pymysql.err.MySQLError:
                # A mint that is asked for again only wastes an ID.
                time.sleep(0.05)
                try:
                    db = connect()
                except pymysql.err.MySQLError:
                    pass
