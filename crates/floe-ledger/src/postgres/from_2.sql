LOCK TABLE floe.mark, floe.definition, floe.realm, floe.ahead IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE IF NOT EXISTS floe.made (
    realm text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (realm, key)
);
CREATE TEMPORARY TABLE floe_old ON COMMIT DROP AS
SELECT o.realm, o.key, i.id, md5(concat_ws(' ', 'made', i.id, o.realm, o.key)) AS made, m.previous, m.start, m.mark, m.token,
    replace(replace(replace(d.definition, E'\\', E'\\\\'), E'\n', E'\\n'), E'\r', E'\\r') AS definition,
    replace(replace(replace(m.note, E'\\', E'\\\\'), E'\n', E'\\n'), E'\r', E'\\r') AS note
FROM (
    SELECT realm, key FROM floe.mark
    UNION SELECT realm, 'n/' || name FROM floe.definition
    UNION SELECT realm, key FROM floe.made
) AS o
JOIN (
    SELECT realm, coalesce(r.id, md5('lost ' || realm)) AS id
    FROM floe.realm AS r RIGHT JOIN (
        SELECT realm FROM floe.mark UNION SELECT realm FROM floe.definition UNION SELECT realm FROM floe.made
    ) AS all_of_them USING (realm)
) AS i ON i.realm = o.realm
LEFT JOIN floe.mark AS m ON m.realm = o.realm AND m.key = o.key
LEFT JOIN floe.definition AS d ON d.realm = o.realm AND 'n/' || d.name = o.key;
INSERT INTO floe.record (key, record)
SELECT 'realm/' || realm, E'floe 1\nrealm ' || id || E'\n' FROM floe.realm;
INSERT INTO floe.record (key, record)
SELECT 'made/' || realm || '/' || key, E'floe 1\nrealm ' || id || E'\nmade ' || made || E'\n' FROM floe_old;
INSERT INTO floe.record (key, record)
SELECT 'mark/' || realm || '/' || key, concat(
    E'floe 1\nrealm ', id, E'\nwritten ', md5(concat_ws(' ', 'written', id, realm, key)), E'\nmade ', made, E'\n',
    E'mark ' || mark || ' start ' || least(start, mark) || ' previous ' || least(previous, start, mark) || E'\n',
    E'token ' || encode(token, 'hex') || E'\n', E'definition ' || definition || E'\n', E'note ' || note || E'\n', E'end\n')
FROM floe_old
WHERE mark IS NOT NULL OR (definition IS NOT NULL AND definition !~ '^(segment|counter|dated)( |$)');
INSERT INTO floe.counting (key, previous, used, until)
SELECT 'mark/' || realm || '/' || key || '@' || o.id, a.previous, a.used, a.mark
FROM floe.ahead AS a JOIN floe_old AS o USING (realm, key) WHERE a.mark = o.mark;
ALTER TABLE floe.mark ADD CONSTRAINT "a newer floe keeps this ledger now: run the newer floe" CHECK (false) NOT VALID;
ALTER TABLE floe.made ADD CONSTRAINT "a newer floe keeps this ledger now: run the newer floe" CHECK (false) NOT VALID;
ALTER TABLE floe.realm ADD CONSTRAINT "a newer floe keeps this ledger now: run the newer floe" CHECK (false) NOT VALID;
ALTER TABLE floe.definition ADD CONSTRAINT "a newer floe keeps this ledger now: run the newer floe" CHECK (false) NOT VALID;
ALTER TABLE floe.ahead ADD CONSTRAINT "a newer floe keeps this ledger now: run the newer floe" CHECK (false) NOT VALID;
UPDATE floe.version SET version = 3 WHERE version < 3;
