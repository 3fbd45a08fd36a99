LOCK TABLE floe.mark IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE IF NOT EXISTS floe.made (
    realm text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (realm, key)
);
INSERT INTO floe.made (realm, key) SELECT realm, key FROM floe.mark WHERE key NOT LIKE 'n/%' ON CONFLICT DO NOTHING;
UPDATE floe.version SET version = 2 WHERE version = 1;
