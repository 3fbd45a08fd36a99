//! Compiles the .proto files, in Rust alone: whoever builds floe needs no protoc.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["floe/v1/ids.proto", "katsubushi/generator.proto"], ["proto"])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo says where to write")?);
    // What reflection tells clients.
    std::fs::write(out.join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_client(false).build_transport(false).compile_fds(files)?;
    Ok(())
}
