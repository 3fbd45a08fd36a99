use proptest::prelude::*;

use super::*;

fn all(query: &str) -> Vec<String> {
    statements(query.as_bytes()).map(|parsed| shown(&parsed)).collect()
}

fn shown(parsed: &Parsed<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let table = |table: &Table<'_>| {
        let database = table.database.map(|database| text(database) + "/").unwrap_or_default();
        database + &text(table.name)
    };
    let mut line = match &parsed.statement {
        Statement::Insert { table: name, rows, replace } => {
            format!("{} {} {rows}", if *replace { "replace" } else { "insert" }, table(name))
        }
        Statement::Select { items, limit } => {
            let item = |item: &Item<'_>| {
                let value = match item.value {
                    Expression::Variable(name) => format!("@@{}", text(name)),
                    Expression::Function(name) => format!("{}()", text(name)),
                    Expression::Integer(number) => number.to_string(),
                    Expression::Text(literal) => format!("'{}'", text(literal)),
                    Expression::Null => "NULL".to_owned(),
                    Expression::Parameter => "?".to_owned(),
                };
                let test = match item.is_null {
                    None => "",
                    Some(true) => " is null",
                    Some(false) => " is not null",
                };
                format!("{value}{test} as {}", text(item.name))
            };
            let items: Vec<_> = items.iter().map(item).collect();
            format!(
                "select {}{}",
                items.join(", "),
                limit.map(|limit| format!(" limit {limit}")).unwrap_or_default()
            )
        }
        Statement::Set { autocommit: None } => "set".to_owned(),
        Statement::Set { autocommit: Some(value) } => format!("set autocommit {value}"),
        Statement::Use(name) => format!("use {}", text(name)),
        Statement::ShowVariables(Which::Like(pattern)) => format!("variables like {}", text(pattern)),
        Statement::ShowVariables(Which::Named(names)) => {
            format!("variables {}", names.iter().map(|name| text(name)).collect::<Vec<_>>().join(" "))
        }
        Statement::ShowFields { table: name, full } => {
            format!("{}fields {}", if *full { "full " } else { "" }, table(name))
        }
        Statement::Tables { named } => format!("tables {}", text(named.unwrap_or(b"all"))),
        Statement::PrimaryKey(name) => format!("primary key of {}", text(name)),
        Statement::Raise { table: name, next } => format!("raise {} {next}", table(name)),
        Statement::Other(_) => "other".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    if parsed.parameters > 0 {
        line += &format!(" with {}", parsed.parameters);
    }
    line
}

#[test]
fn the_statements_that_floe_serves_are_told_apart() {
    for (query, expected) in [
        ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "replace Tickets64 1"),
        ("replace into `Tickets64`(`stub`) values(\"a\");", "replace Tickets64 1"),
        ("REPLACE Tickets64 SET stub = 'a'", "replace Tickets64 1"),
        ("REPLACE INTO db.t (stub) VALUES (?)", "replace db/t 1 with 1"),
        ("REPLACE INTO `d b`.`t-1` VALUE ('a')", "replace d b/t-1 1"),
        ("INSERT INTO t () VALUES ()", "insert t 1"),
        ("INSERT INTO t VALUES ()", "insert t 1"),
        ("INSERT INTO t VALUES (NULL, 'a'), (DEFAULT, 'b'), (0, 'c')", "insert t 3"),
        ("INSERT IGNORE INTO t (stub) VALUES ('a'),('b')", "insert t 2"),
        ("INSERT LOW_PRIORITY t (stub) VALUES ('a')", "insert t 1"),
        ("SELECT LAST_INSERT_ID()", "select LAST_INSERT_ID() as LAST_INSERT_ID()"),
        ("SELECT last_insert_id ( ) AS id", "select last_insert_id() as id"),
        ("SELECT LAST_INSERT_ID() id FROM dual LIMIT 1", "select LAST_INSERT_ID() as id limit 1"),
        ("select DATABASE(), USER() limit 1", "select DATABASE() as DATABASE(), USER() as USER() limit 1"),
        ("select @@version_comment limit 1", "select @@version_comment as @@version_comment limit 1"),
        (
            "/* driver 8 */SELECT  @@session.auto_increment_increment AS a, @@GLOBAL.tx_isolation b, @@`x` 'c'",
            "select @@auto_increment_increment as a, @@tx_isolation as b, @@x as c",
        ),
        ("SELECT @@session", "select @@session as @@session"),
        ("SELECT 1, 'a b' , NULL, ?", "select 1 as 1, 'a b' as a b, NULL as NULL, ? as ? with 1"),
        ("SELECT 18446744073709551615", "select 18446744073709551615 as 18446744073709551615"),
        ("SELECT 'x' -- the end", "select 'x' as x"),
        ("SELECT 1+1 AS result", "select 2 as result"),
        ("SELECT 1 + 2 + 3", "select 6 as 1 + 2 + 3"),
        (
            "SELECT @@sql_mode, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL",
            "select @@sql_mode as @@sql_mode, NULL is not null as CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL",
        ),
        (
            "SELECT DATABASE() IS NULL AS a, 'x' is null",
            "select DATABASE() is null as a, 'x' is null as 'x' is null",
        ),
        ("SHOW FULL FIELDS FROM `tickets`", "full fields tickets"),
        ("show columns in d.t", "fields d/t"),
        ("DESCRIBE t", "fields t"),
        (
            "SELECT table_name FROM (SELECT table_name, table_type FROM information_schema.tables  WHERE table_schema = database()) _subquery",
            "tables all",
        ),
        (
            "SELECT table_name FROM (SELECT table_name, table_type FROM information_schema.tables  WHERE table_schema = database()) _subquery WHERE _subquery.table_type = 'BASE TABLE' AND _subquery.table_name = 't'",
            "tables t",
        ),
        (
            "SELECT column_name\nFROM information_schema.statistics\nWHERE index_name = 'PRIMARY'\n  AND table_schema = database()\n  AND table_name = 'tickets'\nORDER BY seq_in_index",
            "primary key of tickets",
        ),
        ("SET NAMES utf8mb4", "set"),
        ("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'", "set"),
        ("SET autocommit=0", "set autocommit false"),
        ("SET @@session.autocommit := ON, sql_mode = CONCAT(@@sql_mode, ',STRICT')", "set autocommit true"),
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "set"),
        ("/*!40101 SET NAMES utf8 */;", "set"),
        ("/*M!100100 SET NAMES utf8*/", "set"),
        ("USE `shop`", "use shop"),
        ("begin", "begin"),
        ("BEGIN WORK", "begin"),
        ("START TRANSACTION", "begin"),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "begin"),
        ("COMMIT", "commit"),
        ("ROLLBACK WORK", "rollback"),
        ("SHOW VARIABLES", "showvariables(all)"),
        ("SHOW SESSION VARIABLES LIKE 'sql_mode'", "variables like sql_mode"),
        ("show variables where Variable_name = 'a' OR variable_name IN ('b','c')", "variables a b c"),
        ("SHOW VARIABLES WHERE `variable_name` LIKE 'd'", "variables d"),
        ("SHOW WARNINGS", "showwarnings"),
        ("SHOW WARNINGS LIMIT 5", "showwarnings"),
        ("ALTER TABLE Tickets64 AUTO_INCREMENT = 5000", "raise Tickets64 5000"),
        ("alter table d.t auto_increment 7", "raise d/t 7"),
        ("", "empty"),
        (" -- nothing", "empty"),
        (";", "empty"),
    ] {
        assert_eq!(all(query), [expected], "{query}");
    }
}

#[test]
fn anything_else_is_other() {
    for query in [
        "SELEC 1",
        "SELECT",
        "SELECT *",
        "SELECT 1 FROM t",
        "SELECT 1,",
        "SELECT -1",
        "SELECT 1.5",
        "SELECT 1e5",
        "SELECT 18446744073709551616",
        "SELECT a",
        "SELECT @x",
        "SELECT VERSION(",
        "SELECT SLEEP(5)",
        "SELECT 1+",
        "SELECT 1+a",
        "SELECT 18446744073709551615+1",
        "SELECT CONVERT_TZ('a', 'b')",
        "SELECT CONVERT_TZ(now(), 'UTC', 'UTC')",
        "SELECT 1 IS",
        "SELECT 1 IS NOT",
        "SELECT table_name FROM information_schema.columns",
        "SELECT column_name FROM information_schema.statistics",
        "SHOW FULL VARIABLES",
        "SHOW FULL FIELDS",
        "SHOW FIELDS FROM t LIKE 'a'",
        "DESCRIBE t id",
        "SELECT 1 AS",
        "SELECT 'it\\'s'",
        "SELECT 'it''s'",
        "SELECT 'a\\b'",
        "SELECT 'a\\' AS 'b'",
        "SELECT 'open",
        "SELECT 1 /* open",
        "/*!40101 SELECT 1",
        "SELECT 1 LIMIT -1",
        "INSERT INTO t (id) VALUES (5)",
        "INSERT INTO t (stub) VALUES ('a','b')",
        "INSERT INTO t (stub, b) VALUES ('a')",
        "INSERT INTO t (stub) VALUES",
        "INSERT INTO t (stub) VALUES ('a'),",
        "INSERT INTO t (stub) VALUES (a)",
        "INSERT INTO t (stub) VALUES ('a') RETURNING id",
        "INSERT INTO t (stub) VALUES ('a') ON DUPLICATE KEY UPDATE stub = 'a'",
        "INSERT INTO `` VALUES ()",
        "INSERT INTO a.b.c VALUES ()",
        "REPLACE INTO t SET id = 5",
        "SET",
        "SET PASSWORD = 'x'",
        "SET GLOBAL max_connections = 1",
        "SET @@global.max_connections = 1",
        "SET insert_id = 5",
        "SET SESSION auto_increment_increment = 5",
        "SET autocommit = maybe",
        "USE",
        "START SLAVE",
        "COMMIT AND CHAIN",
        "ROLLBACK TO x",
        "SHOW TABLES",
        "SHOW VARIABLES WHERE Value = 'a'",
        "SHOW VARIABLES WHERE Variable_name LIKE 'a%'",
        "ALTER TABLE t AUTO_INCREMENT = -1",
        "ALTER TABLE t AUTO_INCREMENT = 5, ENGINE = InnoDB",
        "ALTER TABLE t DROP COLUMN stub",
        "DROP TABLE t",
        "(SELECT 1)",
        "'a'",
    ] {
        assert_eq!(all(query), ["other"], "{query}");
    }
}

/// What is set here decides which IDs come next, who may log in, or what others see. An OK would be a lie.
#[test]
fn no_setting_that_is_not_kept_is_accepted() {
    for name in
        ["auto_increment_increment", "auto_increment_offset", "insert_id", "last_insert_id", "identity"]
    {
        for query in [
            format!("SET {name} = 5"),
            format!("SET SESSION {name} = 5"),
            format!("SET @@{name} = 5"),
            format!("SET @@session.`{name}` := 5"),
            format!("SET sql_mode = '', `{}` = 5", name.to_uppercase()),
        ] {
            assert_eq!(all(&query), ["other"], "{query}");
        }
    }
    for query in [
        "SET PERSIST max_connections = 1",
        "SET @@persist.max_connections = 1",
        "SET PERSIST_ONLY max_connections = 1",
        "SET @@persist_only.max_connections = 1",
        "SET sql_mode = '', GLOBAL max_connections = 1",
        "SET ROLE admin",
        "SET DEFAULT ROLE admin TO u",
        "SET RESOURCE GROUP g",
    ] {
        assert_eq!(all(query), ["other"], "{query}");
    }
}

#[test]
fn autocommit_is_switched_as_the_client_says() {
    for (value, expected) in [
        ("1", "true"),
        ("ON", "true"),
        ("'on'", "true"),
        ("TRUE", "true"),
        ("0", "false"),
        ("OFF", "false"),
        ("'off'", "false"),
        ("false", "false"),
    ] {
        assert_eq!(
            all(&format!("SET autocommit = {value}")),
            [format!("set autocommit {expected}")],
            "{value}"
        );
    }
    for value in ["2", "01", "?", "NULL"] {
        assert_eq!(all(&format!("SET autocommit = {value}")), ["other"], "{value}");
    }
}

#[test]
fn a_row_asks_for_the_next_id_only_with_a_zero() {
    for zero in ["0", "00"] {
        assert_eq!(all(&format!("INSERT INTO t VALUES ({zero})")), ["insert t 1"]);
    }
    for certain in ["50", "05", "100", "0.5", "-0", "'a' + 1", "18446744073709551616"] {
        assert_eq!(all(&format!("INSERT INTO t VALUES ({certain})")), ["other"], "{certain}");
    }
}

#[test]
fn names_and_comments_end_where_mysql_ends_them() {
    for (query, expected) in [
        ("REPLACE INTO größe$1 VALUES ()", "replace größe$1 1"),
        (r"REPLACE INTO `a\b` VALUES ()", r"replace a\b 1"),
        ("REPLACE INTO t VALUES () --\t; DROP TABLE t", "replace t 1"),
        ("REPLACE INTO t VALUES () --", "replace t 1"),
        ("REPLACE INTO t VALUES () --x", "other"),
        ("SELECT 5--1", "other"),
        ("/*!40101 COMMIT /*! a plain comment */ */", "commit"),
        ("INSERT HIGH_PRIORITY INTO t VALUES ()", "insert t 1"),
        ("REPLACE DELAYED INTO t VALUES ()", "replace t 1"),
    ] {
        assert_eq!(all(query), [expected], "{query}");
    }
}

#[test]
fn statements_are_divided_where_no_quote_or_comment_hides_it() {
    assert_eq!(
        all("REPLACE INTO t (stub) VALUES (';'); /* ; */ SELECT ';' AS `;`; # ;\nDROP TABLE t; COMMIT;"),
        ["replace t 1", "select ';' as ;", "other", "commit"]
    );
    assert_eq!(all("COMMIT;;COMMIT"), ["commit", "empty", "commit"]);
    assert_eq!(all("COMMIT; SELECT 'open; COMMIT"), ["commit", "other"]);
    assert_eq!(all("COMMIT; -- the end\n ;"), ["commit", "empty"]);
}

#[test]
fn lists_have_limits() {
    let select = |count| format!("SELECT {}", vec!["1"; count].join(","));
    assert_ne!(all(&select(MOST)), ["other"]);
    assert_eq!(all(&select(MOST + 1)), ["other"]);
    let show = |count| format!("SHOW VARIABLES WHERE Variable_name IN ({})", vec!["'a'"; count].join(","));
    assert_ne!(all(&show(MOST)), ["other"]);
    assert_eq!(all(&show(MOST + 1)), ["other"]);
    assert_eq!(all(&format!("INSERT INTO t VALUES {}", vec!["('a')"; 9000].join(","))), ["insert t 9000"]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_their_end(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "SELECT", "INSERT", "INTO", "t", "(", ")", "VALUES", "'a'", ",", ";", "@@", "x", ".", "=", "5", "?",
                " ", "\n", "`q`", "'", "\"", "`", "\\", "/*", "*/", "/*!", "#", "--", "SET", "autocommit", "é",
                "+", "IS", "NOT", "NULL", "CONVERT_TZ", "SHOW", "FULL", "FIELDS", "FROM", "table_name", "_subquery",
            ]),
            0..40,
        ),
        blank in prop::bool::ANY,
    ) {
        let query = pieces.join(if blank { " " } else { "" });
        let read = all(&query);
        prop_assert!(read.len() <= query.matches(';').count() + 1);
        // A reader that stops between two statements continues with the same ones.
        let mut begun = statements(query.as_bytes());
        while begun.next().is_some() {
            let rest: Vec<_> = begun.clone().collect();
            prop_assert_eq!(begun.has_more(), !rest.is_empty());
            prop_assert_eq!(statements_from(query.as_bytes(), begun.place()).collect::<Vec<_>>(), rest);
        }
        prop_assert_eq!(all(&format!("/* a ; comment */ {query}")), read);
    }
}

#[test]
fn what_is_not_known_is_told_from_the_word_on_at_which_it_begins() {
    for (query, near) in [
        ("REPLACE INTO Tickets64 (stub) VALUES (1)", "1)"),
        ("REPLACE INTO t (stub) VALUES ('a') ON DUPLICATE KEY UPDATE a = 1", "ON DUPLICATE KEY UPDATE a = 1"),
        ("CREATE TABLE t (id INT)", "CREATE TABLE t (id INT)"),
        ("SELECT  * FROM t", "* FROM t"),
        ("SELECT 1 FROM t", "t"),
        ("'a'", "'a'"),
        ("/* ; */ CREATE TABLE t", "CREATE TABLE t"),
        ("SELECT -- a\n /* b */ * FROM t", "* FROM t"),
    ] {
        let parsed = statements(query.as_bytes()).next().unwrap();
        let Statement::Other(found) = parsed.statement else { panic!("{parsed:?}") };
        assert_eq!(str::from_utf8(found).unwrap(), near, "{query}");
    }
}
