CREATE TABLE IF NOT EXISTS floe.version (
    version integer NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
CREATE TABLE IF NOT EXISTS floe.realm (
    realm text COLLATE "C" PRIMARY KEY,
    id text NOT NULL
);
CREATE TABLE IF NOT EXISTS floe.mark (
    realm text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    previous bigint NOT NULL CHECK (previous >= 0),
    start bigint NOT NULL CHECK (start >= 0),
    mark bigint NOT NULL CHECK (mark >= 0),
    token bytea CHECK (octet_length(token) = 16),
    note text,
    PRIMARY KEY (realm, key)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS floe.made (
    realm text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (realm, key)
);
CREATE TABLE IF NOT EXISTS floe.definition (
    realm text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (realm, name)
);
CREATE UNLOGGED TABLE IF NOT EXISTS floe.ahead (
    realm text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    previous bigint NOT NULL CHECK (previous >= 0),
    used bigint NOT NULL CHECK (used >= 0),
    mark bigint NOT NULL CHECK (mark >= used),
    PRIMARY KEY (realm, key)
) WITH (fillfactor = 50);
INSERT INTO floe.version (version) VALUES (2) ON CONFLICT DO NOTHING;
