# ActiveRecord over mysql2: its questions at connect, tickets, and a model of which it asks for the fields.
require "active_record"

$stdout.sync = true
ActiveRecord::Base.establish_connection(
  adapter: "mysql2", host: ARGV[0], port: ENV.fetch("MYSQL_PORT").to_i, username: "app", password: "x", database: "ids"
)

class Visit < ActiveRecord::Base; end

db = ActiveRecord::Base.connection
20.times { puts "id tickets #{db.insert("REPLACE INTO tickets (stub) VALUES ('a')")}" }
20.times { puts "id visits #{Visit.create!(stub: "a").id}" }
raise "no key" unless Visit.primary_key == "id" && Visit.column_names == %w[id stub]
raise "a table that is none" if db.data_source_exists?("nobody")
raise "it is gone" unless db.active?
begin
  db.execute("SHOW FULL FIELDS FROM nobody")
  raise "it has fields"
rescue ActiveRecord::StatementInvalid => error
  raise unless error.message.include?("nobody")
end
