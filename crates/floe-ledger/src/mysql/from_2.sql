SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
CREATE TABLE IF NOT EXISTS floe_made (
    realm VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    `key` VARCHAR(160) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    made_by BINARY(16) NOT NULL,
    PRIMARY KEY (realm, `key`)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS floe_newer (writes BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
SET SESSION foreign_key_checks = 0;
ALTER TABLE floe_mark ADD CONSTRAINT `a newer floe keeps the marks now: run the newer floe`
    FOREIGN KEY (writes) REFERENCES floe_newer (writes);
ALTER TABLE floe_definition ADD CONSTRAINT `a newer floe keeps the names now: run the newer floe`
    FOREIGN KEY (writes) REFERENCES floe_newer (writes);
SET SESSION foreign_key_checks = 1;
START TRANSACTION;
SELECT version FROM floe_version FOR UPDATE;
INSERT INTO floe_record (`key`, record)
SELECT CONCAT('realm/', r.realm), CONCAT('floe 1\nrealm ', r.id, '\n')
FROM floe_realm AS r JOIN floe_version AS v ON v.version < 3;
INSERT INTO floe_record (`key`, record)
SELECT CONCAT('made/', o.realm, '/', o.`key`), CONCAT(
    'floe 1\nrealm ', COALESCE(r.id, MD5(CONCAT('lost ', o.realm))), '\n',
    'made ', MD5(CONCAT_WS(' ', 'made', o.realm, o.`key`, r.id)), '\n')
FROM (
    SELECT realm, `key` FROM floe_mark
    UNION SELECT realm, CONCAT('n/', name) FROM floe_definition
    UNION SELECT realm, `key` FROM floe_made
) AS o
JOIN floe_version AS v ON v.version < 3
LEFT JOIN floe_realm AS r ON r.realm = o.realm;
INSERT INTO floe_record (`key`, record)
SELECT CONCAT('mark/', o.realm, '/', o.`key`), CONCAT(
    'floe 1\nrealm ', COALESCE(r.id, MD5(CONCAT('lost ', o.realm))), '\n',
    'written ', MD5(CONCAT_WS(' ', 'written', o.realm, o.`key`, r.id)), '\n',
    'made ', MD5(CONCAT_WS(' ', 'made', o.realm, o.`key`, r.id)), '\n',
    COALESCE(CONCAT('mark ', m.mark, ' start ', LEAST(m.start, m.mark), ' previous ', LEAST(m.previous, m.start, m.mark), '\n'), ''),
    COALESCE(CONCAT('token ', LOWER(HEX(m.token)), '\n'), ''),
    COALESCE(CONCAT('definition ', REPLACE(REPLACE(REPLACE(d.definition, '\\', '\\\\'), '\n', '\\n'), '\r', '\\r'), '\n'), ''),
    COALESCE(CONCAT('note ', REPLACE(REPLACE(REPLACE(m.note, '\\', '\\\\'), '\n', '\\n'), '\r', '\\r'), '\n'), ''),
    'end\n')
FROM (
    SELECT realm, `key` FROM floe_mark
    UNION SELECT realm, CONCAT('n/', name) FROM floe_definition
) AS o
JOIN floe_version AS v ON v.version < 3
LEFT JOIN floe_realm AS r ON r.realm = o.realm
LEFT JOIN floe_mark AS m ON m.realm = o.realm AND m.`key` = o.`key`
LEFT JOIN floe_definition AS d ON d.realm = o.realm AND o.`key` LIKE 'n/%' AND d.name = SUBSTRING(o.`key`, 3)
WHERE m.mark IS NOT NULL OR d.definition NOT REGEXP '^(segment|counter|dated)( |$)';
UPDATE floe_version SET version = 3 WHERE version < 3;
COMMIT;
