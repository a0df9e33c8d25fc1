//! Links libquern.a: from the folder QUERN_LIB_DIR or, without it, as pkg-config says.

use std::env;
use std::process::Command;

fn pkg_config() -> String {
    let found = Command::new("pkg-config").args(["--libs", "quern"]).output();
    match found {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).expect("pkg-config prints UTF-8"),
        _ => panic!("libquern.a was not found: set QUERN_LIB_DIR to its folder, or PKG_CONFIG_PATH to that of quern.pc"),
    }
}

fn main() {
    println!("cargo:rerun-if-env-changed=QUERN_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let flags = match env::var("QUERN_LIB_DIR") {
        Ok(folder) => {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rerun-if-changed={folder}/libquern.a");
            "-lquern -ldl -lm -lpthread".to_string()
        }
        Err(_) => pkg_config().replace("-pthread", "-lpthread"),
    };
    // -Wl, flags hide the archive's functions in an engine's shared object.  A Rust program exports none of them anyway.
    for flag in flags.split_whitespace().filter(|flag| !flag.starts_with("-Wl,")) {
        match flag.split_at(2) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={folder}"),
            ("-l", "quern" | ":libquern.a") => println!("cargo:rustc-link-lib=static=quern"),
            ("-l", library) => println!("cargo:rustc-link-lib={library}"),
            _ => panic!("pkg-config printed {flag}: expected -L and -l"),
        }
    }
}
