<?php
// PHP's mysqli and PDO: tickets, several rows at once, prepared statements, errors, and a server that dies.
[$_, $driver, $host] = $argv;
$port = (int) getenv('MYSQL_PORT');

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

// Each connection gives: a statement's first ID, by a query and by a prepared statement; and its errors as a number.
$connect = [
    'mysqli' => function () use ($host, $port) {
        $db = new mysqli($host, 'app', 'x', '', $port);
        return [
            'query' => function ($sql) use ($db) {
                $db->query($sql);
                return $db->insert_id;
            },
            'prepared' => function ($sql) use ($db) {
                $call = $db->prepare($sql);
                $stub = 'a';
                $call->bind_param('s', $stub);
                $call->execute();
                return $call->insert_id;
            },
            'last' => fn () => $db->query('SELECT LAST_INSERT_ID()')->fetch_row()[0],
        ];
    },
    'pdo' => function () use ($host, $port) {
        $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => false];
        $db = new PDO("mysql:host=$host;port=$port", 'app', 'x', $options);
        return [
            'query' => function ($sql) use ($db) {
                $db->exec($sql);
                return $db->lastInsertId();
            },
            'prepared' => function ($sql) use ($db) {
                $db->prepare($sql)->execute(['a']);
                return $db->lastInsertId();
            },
            'last' => fn () => $db->query('SELECT LAST_INSERT_ID()')->fetch()[0],
        ];
    },
][$driver];

function code(Exception $error): int
{
    return $error instanceof PDOException ? (int) ($error->errorInfo[1] ?? 0) : $error->getCode();
}

function expect(bool $held, string $what): void
{
    if (!$held) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

function say(string $name, $id): void
{
    echo "id $name $id\n";
}

$db = $connect();
foreach (['tickets', 'visits', 'orders'] as $name) {
    for ($turn = 0; $turn < 20; $turn++) {
        $how = $turn % 2 ? 'prepared' : 'query';
        $id = $db[$how]("REPLACE INTO $name (stub) VALUES (" . ($turn % 2 ? '?' : "'a'") . ')');
        expect((string) $id === (string) $db['last'](), "$driver: $how said $id");
        say($name, $id);
    }
}
$first = $db['query']("INSERT INTO tickets (stub) VALUES ('a'), ('b'), ('c')");
for ($row = 0; $row < 3; $row++) {
    say('tickets', $first + $row);
}
for ($turn = 0; $turn < 9; $turn++) {
    $db['query']("REPLACE INTO few (stub) VALUES ('a')");
}
$errors = [
    1146 => "REPLACE INTO nobody (stub) VALUES ('a')",
    1064 => 'SELECT * FROM tickets',
    1366 => "INSERT INTO orders (stub) VALUES ('a'), ('b')",
    1467 => "REPLACE INTO few (stub) VALUES ('a')",
];
foreach ($errors as $code => $sql) {
    try {
        $db['query']($sql);
        expect(false, "$driver: $sql was not refused");
    } catch (Exception $error) {
        expect(code($error) === $code, "$driver: $sql: {$error->getMessage()}");
    }
}

echo "kill\n";
$until = time() + 20;
for ($turn = 0; $turn < 30; $turn++) {
    foreach (['tickets', 'visits', 'orders'] as $name) {
        while (true) {
            try {
                say($name, $db['query']("REPLACE INTO $name (stub) VALUES ('a')"));
                break;
            } catch (Exception) {
                expect(time() < $until, "$driver does not come back");
                usleep(50_000);
                try {
                    $db = $connect();
                } catch (Exception) {
                }
            }
        }
    }
}
