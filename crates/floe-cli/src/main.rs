mod explain; mod failure; mod table;
fn main() {}
