"""mysql-connector-python: prepared statements, and a server that dies."""

import os
import sys
import time

import mysql.connector

host, port = sys.argv[1], int(os.environ["MYSQL_PORT"])


def connect():
    return mysql.connector.connect(host=host, port=port, user="app", password="x", ssl_disabled=True, use_pure=True)


def ticket(db, name):
    cursor = db.cursor(prepared=True)
    cursor.execute(f"REPLACE INTO {name} (stub) VALUES (?)", ("a",))
    number = cursor.lastrowid
    cursor.close()
    return number


db = connect()
for turn in range(40):
    if turn == 20:
        print("kill", flush=True)
    for name in ("tickets", "visits", "orders"):
        while True:
            try:
                print("id", name, ticket(db, name), flush=True)
                break
            except mysql.connector.Error:
                assert turn >= 20, "nothing had happened to the server"
                time.sleep(0.05)
                try:
                    db = connect()
                except mysql.connector.Error:
                    pass
