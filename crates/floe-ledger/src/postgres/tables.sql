CREATE TABLE IF NOT EXISTS floe.version (
    version integer NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
CREATE TABLE IF NOT EXISTS floe.record (
    key text COLLATE "C" PRIMARY KEY,
    record text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE IF NOT EXISTS floe.counting (
    key text COLLATE "C" PRIMARY KEY,
    previous bigint NOT NULL,
    used bigint NOT NULL,
    until bigint NOT NULL CHECK (until >= used)
) WITH (fillfactor = 50);
INSERT INTO floe.version (version) VALUES (3) ON CONFLICT DO NOTHING;
