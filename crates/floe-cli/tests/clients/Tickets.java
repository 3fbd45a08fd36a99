// MariaDB Connector/J: generated keys, batches, prepared statements, errors, and a server that dies.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;

public class Tickets {
    static final long PATIENCE = 20_000_000_000L;

    static Connection connect(String host) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:mariadb://" + host + ":" + System.getenv("MYSQL_PORT") + "/tickets?user=app&password=x&connectTimeout=1000");
    }

    /** All the keys of an INSERT; of a REPLACE, which says 2 rows for one, the first alone is one. */
    static void say(String name, Statement call, int rows) throws SQLException {
        try (ResultSet keys = call.getGeneratedKeys()) {
            for (int row = 0; row < rows && keys.next(); row++) {
                System.out.println("id " + name + " " + keys.getLong(1));
            }
        }
    }

    static void mint(Connection db, String name) throws SQLException {
        try (Statement call = db.createStatement()) {
            call.executeUpdate("REPLACE INTO " + name + " (stub) VALUES ('a')", Statement.RETURN_GENERATED_KEYS);
            say(name, call, 1);
        }
    }

    static void refused(Connection db, int code, String sql) throws SQLException {
        try (Statement call = db.createStatement()) {
            call.execute(sql);
        } catch (SQLException error) {
            if (error.getErrorCode() != code) {
                throw error;
            }
            return;
        }
        throw new AssertionError(sql + " was not refused");
    }

    public static void main(String[] arguments) throws Exception {
        String[] names = {"tickets", "visits", "orders"};
        Connection db = connect(arguments[0]);
        for (int turn = 0; turn < 20; turn++) {
            for (String name : names) {
                mint(db, name);
                try (var call = db.prepareStatement(
                        "REPLACE INTO " + name + " (stub) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                    call.setString(1, "a");
                    call.executeUpdate();
                    say(name, call, 1);
                }
            }
        }
        try (var call = db.prepareStatement("INSERT INTO tickets (stub) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int row = 0; row < 10; row++) {
                call.setString(1, "a");
                call.addBatch();
            }
            call.executeBatch();
            say("tickets", call, 10);
        }
        for (int turn = 0; turn < 9; turn++) {
            mint(db, "few");
        }
        for (var error : Map.of(
                1146, "REPLACE INTO nobody (stub) VALUES ('a')",
                1064, "SELECT * FROM tickets",
                1366, "INSERT INTO orders (stub) VALUES ('a'), ('b')",
                1467, "REPLACE INTO few (stub) VALUES ('a')").entrySet()) {
            refused(db, error.getKey(), error.getValue());
        }
        System.out.println("kill");
        long until = System.nanoTime() + PATIENCE;
        for (int turn = 0; turn < 30; turn++) {
            for (String name : names) {
                while (true) {
                    try {
                        mint(db, name);
                        break;
                    } catch (SQLException gone) {
                        if (System.nanoTime() > until) {
                            throw gone;
                        }
                        Thread.sleep(50);
                        try {
                            db = connect(arguments[0]);
                        } catch (SQLException stillGone) {
                            // Again, in a moment.
                        }
                    }
                }
            }
        }
    }
}
