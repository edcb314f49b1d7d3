//! Compiles the decoder with $CC and puts it into an archive with $AR.
use std::env;
use std::path::Path;
use std::process::Command;

/// Runs a command, of which $NAME or `default` is the beginning.
fn run(name: &str, default: &str, arguments: &[&str]) {
    println!("cargo:rerun-if-env-changed={name}");
    let program = env::var(name).unwrap_or_else(|_| default.to_string());
    let mut words = program.split_whitespace();
    let status = Command::new(words.next().unwrap_or(default))
        .args(words)
        .args(arguments)
        .status();
    match status {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("{program} {arguments:?}: {status}"),
        Err(error) => panic!("{name}: {program}: {error}"),
    }
}

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let object = Path::new(&out).join("ipt.o");
    let archive = Path::new(&out).join("libipt.a");
    let (object, archive) = (object.to_str(), archive.to_str());
    let (object, archive) = (object.expect("UTF-8"), archive.expect("UTF-8"));
    let flags = env::var("CFLAGS").unwrap_or_else(|_| "-O2".to_string());
    let mut command = vec!["-std=c99", "-fPIC", "-c", "c/ipt.c", "-o", object];
    command.extend(flags.split_whitespace());
    if env::var_os("CARGO_FEATURE_ZYDIS").is_some() {
        command.push("-DIPT_WITH_ZYDIS");
        println!("cargo:rustc-link-lib=Zydis");
    }
    run("CC", "cc", &command);
    let _ = std::fs::remove_file(archive);
    run("AR", "ar", &["rcs", archive, object]);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=ipt");
    println!("cargo:rerun-if-env-changed=CFLAGS");
    println!("cargo:rerun-if-changed=c");
}
