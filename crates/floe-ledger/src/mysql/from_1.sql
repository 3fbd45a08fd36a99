CREATE TABLE IF NOT EXISTS floe_made (
    realm VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    `key` VARCHAR(160) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    made_by BINARY(16) NOT NULL,
    PRIMARY KEY (realm, `key`)
) ENGINE = InnoDB;
INSERT INTO floe_made (realm, `key`, made_by)
    SELECT realm, `key`, x'00000000000000000000000000000000' FROM floe_mark WHERE `key` NOT LIKE 'n/%'
    ON DUPLICATE KEY UPDATE made_by = floe_made.made_by;
UPDATE floe_version SET version = 2 WHERE version = 1;
