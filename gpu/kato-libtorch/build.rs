//! Compiles what LibTorch has and `tch` does not reach, and links LibTorch's CUDA part by name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Where CUDA's headers are, if they lie in a folder of their own (they are searched for otherwise).
const CUDA_INCLUDE: &str = "KATO_CUDA_INCLUDE";

fn main() {
    for name in [CUDA_INCLUDE, "PATH", "VIRTUAL_ENV"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=native");
    println!("cargo:rustc-check-cfg=cfg(cuda_headers)");

    let torch = torch_folder();
    let headers = cuda_headers(&torch);
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // Headers of others are not ours to warn of.
        .flag("-isystem")
        .flag(torch.join("include"))
        .flag("-isystem")
        .flag(torch.join("include/torch/csrc/api/include"))
        .file("native/torch.cpp");
    match &headers {
        Some(folders) => {
            for folder in folders {
                build.flag("-isystem").flag(folder);
            }
            build.file("native/cuda.cpp");
            println!("cargo:rustc-cfg=cuda_headers");
        }
        None => println!(
            "cargo:warning=built without graph capture: `pip install nvidia-cuda-runtime nvidia-cuda-crt`, or set {CUDA_INCLUDE}"
        ),
    }
    build.compile("kato_native");
    link(&torch);
}

/// Asks the Python that comes first in PATH, as `torch-sys` does.
fn torch_folder() -> PathBuf {
    let python = match env::var_os("VIRTUAL_ENV") {
        Some(_) => "python",
        None => "python3",
    };
    let script = "import os, torch; print(os.path.dirname(torch.__file__))";
    let output = Command::new(python).args(["-c", script]).output();
    let output = output.expect("python3 starts");
    assert!(
        output.status.success(),
        "`{python}` has no PyTorch: put the Python that has it first in PATH"
    );
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

/// Finds folders that together hold the runtime's headers and those that only `nvcc` brings.
fn cuda_headers(torch: &Path) -> Option<Vec<PathBuf>> {
    let mut folders = Vec::new();
    if let Some(folder) = env::var_os(CUDA_INCLUDE) {
        folders.extend(env::split_paths(&folder));
    }
    // Wheels of NVIDIA's lie beside PyTorch, one folder a major version.
    let beside = torch.parent()?.join("nvidia");
    if let Ok(entries) = fs::read_dir(beside) {
        folders.extend(entries.flatten().map(|entry| entry.path().join("include")));
    }
    folders.push(PathBuf::from("/usr/local/cuda/include"));
    let has = |name: &str| folders.iter().any(|folder| folder.join(name).exists());
    (has("cuda_runtime_api.h") && has("crt/host_defines.h")).then_some(folders)
}

fn link(torch: &Path) {
    println!(
        "cargo:rustc-link-search=native={}",
        torch.join("lib").display()
    );
    // Nothing in Rust names a symbol of the CUDA part, and without it LibTorch sees no GPU.
    println!("cargo:rustc-link-arg=-Wl,--no-as-needed");
    let mut libraries = vec!["torch_cpu", "c10"];
    if torch.join("lib/libtorch_cuda.so").exists() {
        libraries.extend(["torch_cuda", "c10_cuda"]);
    }
    for library in libraries {
        println!("cargo:rustc-link-arg=-l{library}");
    }
    println!("cargo:rustc-link-arg=-Wl,--as-needed");
    // What the CUDA part needs of others is found where the program runs.
    println!("cargo:rustc-link-arg=-Wl,--allow-shlib-undefined");
}
