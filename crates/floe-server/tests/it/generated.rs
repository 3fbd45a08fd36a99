//! What is made of the .proto files is kept in `src/fronts/grpc/generated`, so that a build of floe compiles none.
//! `GENERATED=overwrite` writes the files anew, to be read before they are committed.

use std::path::Path;

use prost::Message;

const PROTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
const GENERATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fronts/grpc/generated");

/// The code, and the descriptors that reflection serves.
const FILES: &[&str] = &["descriptors.bin", "floe.v1.rs", "katsubushi.rs"];

/// Compiles the .proto files into `out`, in Rust alone: nobody needs protoc.
fn generate(out: &Path) {
    let files = protox::compile(["floe/v1/ids.proto", "katsubushi/generator.proto"], [PROTOS]).unwrap();
    std::fs::write(out.join("descriptors.bin"), files.encode_to_vec()).unwrap();
    // The messages alone: `unary` and `streaming` in src/fronts/grpc.rs serve them.
    let rust = tonic_prost_build::configure().build_client(false).build_server(false).out_dir(out);
    rust.compile_fds(files).unwrap();
}

#[test]
fn the_code_of_grpc_is_what_the_proto_files_say() {
    let made = tempfile::tempdir().unwrap();
    generate(made.path());
    let mut names: Vec<_> =
        std::fs::read_dir(made.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(
        names, FILES,
        "a .proto file came or went: change FILES, and what src/fronts/grpc.rs includes"
    );
    if std::env::var_os("GENERATED").is_some_and(|value| value == "overwrite") {
        generate(Path::new(GENERATED));
    }
    for name in FILES {
        let expected = std::fs::read(made.path().join(name)).unwrap();
        let found = std::fs::read(Path::new(GENERATED).join(name)).unwrap();
        assert!(
            found == expected,
            "src/fronts/grpc/generated/{name} is not what the .proto files say: run\n    \
             GENERATED=overwrite cargo test -p floe-server --all-features --test it generated\nand read the change"
        );
    }
}
