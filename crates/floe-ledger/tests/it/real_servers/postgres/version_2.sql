CREATE SCHEMA floe;
CREATE UNLOGGED TABLE floe.ahead (
    realm text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    previous bigint NOT NULL,
    used bigint NOT NULL,
    mark bigint NOT NULL,
    CONSTRAINT ahead_check CHECK ((mark >= used)),
    CONSTRAINT ahead_previous_check CHECK ((previous >= 0)),
    CONSTRAINT ahead_used_check CHECK ((used >= 0))
)
WITH (fillfactor='50');
CREATE TABLE floe.definition (
    realm text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    definition text NOT NULL
);
CREATE TABLE floe.made (
    realm text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE floe.mark (
    realm text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    previous bigint NOT NULL,
    start bigint NOT NULL,
    mark bigint NOT NULL,
    token bytea,
    note text,
    CONSTRAINT mark_mark_check CHECK ((mark >= 0)),
    CONSTRAINT mark_previous_check CHECK ((previous >= 0)),
    CONSTRAINT mark_start_check CHECK ((start >= 0)),
    CONSTRAINT mark_token_check CHECK ((octet_length(token) = 16))
)
WITH (fillfactor='50');
CREATE TABLE floe.realm (
    realm text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL
);
CREATE TABLE floe.version (
    version integer NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT version_one_check CHECK (one)
);
INSERT INTO floe.ahead VALUES ('test', 'n/visits', 0, 5, 165);
INSERT INTO floe.ahead VALUES ('test', 'n/days', 0, 22847851625185282, 22847851625185346);
INSERT INTO floe.ahead VALUES ('test', 'n/codes', 0, 1, 33);
INSERT INTO floe.definition VALUES ('test', 'orders', 'segment increment=1 offset=1');
INSERT INTO floe.definition VALUES ('test', 'visits', 'counter');
INSERT INTO floe.definition VALUES ('test', 'days', 'dated zone=UTC digits=6 overflow=refuse prefix=');
INSERT INTO floe.definition VALUES ('test', 'flakes', 'snowflake time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z');
INSERT INTO floe.definition VALUES ('test', 'codes', 'counter form base62');
INSERT INTO floe.definition VALUES ('other', 'orders', 'segment increment=1 offset=1');
INSERT INTO floe.definition VALUES ('test', 'eaten', 'segment increment=1 offset=1');
INSERT INTO floe.definition VALUES ('lost', 'orders', 'segment increment=1 offset=1');
INSERT INTO floe.made VALUES ('test', 's/10/693');
INSERT INTO floe.made VALUES ('test', 's/10/1000');
INSERT INTO floe.mark VALUES ('test', 'n/visits', 0, 0, 165, '\x4f6f0fc10795b1af82d9c47dbc5fe018', NULL);
INSERT INTO floe.mark VALUES ('test', 'n/days', 0, 22847851625185280, 22847851625185346, '\x5ecf643e38ccfa8bf8c55632e3f5248e', NULL);
INSERT INTO floe.mark VALUES ('test', 's/10/693', 0, 1795462660753, 1795462660755, NULL, 'host=db-1 boot=74f9d894 pid=11984 started=231129 version=0.1.0 instance= since=2026-11-23T19:37:40.753Z');
INSERT INTO floe.mark VALUES ('test', 'n/codes', 0, 0, 33, '\xc8b436e0ce4a20cc5d661138ad79d747', NULL);
INSERT INTO floe.mark VALUES ('other', 'n/orders', 0, 0, 1, NULL, NULL);
INSERT INTO floe.mark VALUES ('lost', 'n/orders', 0, 0, 1, NULL, NULL);
INSERT INTO floe.mark VALUES ('test', 'n/orders', 0, 0, 3, NULL, 'a\b
c');
INSERT INTO floe.realm VALUES ('test', '7a1512e18cf6f760a63cdaef68c62477');
INSERT INTO floe.realm VALUES ('other', 'fe7ba566b020e5d04f67e165cdd3d6ff');
INSERT INTO floe.version VALUES (2, true);
ALTER TABLE ONLY floe.ahead
    ADD CONSTRAINT ahead_pkey PRIMARY KEY (realm, key);
ALTER TABLE ONLY floe.definition
    ADD CONSTRAINT definition_pkey PRIMARY KEY (realm, name);
ALTER TABLE ONLY floe.made
    ADD CONSTRAINT made_pkey PRIMARY KEY (realm, key);
ALTER TABLE ONLY floe.mark
    ADD CONSTRAINT mark_pkey PRIMARY KEY (realm, key);
ALTER TABLE ONLY floe.realm
    ADD CONSTRAINT realm_pkey PRIMARY KEY (realm);
ALTER TABLE ONLY floe.version
    ADD CONSTRAINT version_pkey PRIMARY KEY (one);
