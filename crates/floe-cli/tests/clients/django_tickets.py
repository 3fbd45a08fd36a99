"""Django's MySQL backend over PyMySQL: its questions at connect, tickets, a transaction, and a model."""

import os
import sys

import pymysql

# Django asks for mysqlclient of this version at least, for which PyMySQL stands in.
pymysql.version_info = (2, 2, 8, "final", 0)
pymysql.install_as_MySQLdb()

import django
from django.conf import settings

host, port = sys.argv[1], int(os.environ["MYSQL_PORT"])
database = {
    "ENGINE": "django.db.backends.mysql",
    "HOST": host,
    "PORT": port,
    "USER": "app",
    "PASSWORD": "x",
    "NAME": "ids",
}
settings.configure(DATABASES={"default": database}, USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField")
django.setup()

from django.db import connection, models, transaction


class Visit(models.Model):
    stub = models.CharField(max_length=1)

    class Meta:
        app_label = "shop"
        db_table = "visits"
        managed = False


for _ in range(20):
    with connection.cursor() as cursor:
        cursor.execute("REPLACE INTO tickets (stub) VALUES (%s)", ["a"])
        minted = cursor.lastrowid
        print("id", "tickets", minted, flush=True)
        cursor.execute("SELECT LAST_INSERT_ID()")
        assert cursor.fetchone()[0] == minted
    with transaction.atomic():
        print("id", "visits", Visit.objects.create(stub="a").pk, flush=True)
assert connection.is_usable() and not connection.features.has_zoneinfo_database
