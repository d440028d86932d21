/** Tiny repositories of compiled languages. */

import type { Layout } from "./detect-layouts.ts";

export const COMPILED: readonly Layout[] = [
  {
    name: "go without dependencies",
    files: { "go.mod": "module x\n\ngo 1.23\n", "a_test.go": "" },
    test: "go test ./...",
    runner: "go",
    setup: null,
    needs: ["go ≥ 1.23 (go.mod)"],
    because: /go\.mod and a_test\.go/,
  },
  {
    name: "go with dependencies",
    files: {
      "go.mod": "module x\n\ngo 1.21\n\nrequire (\n\ta.b/c v1.0.0\n)\n",
      "go.sum": "",
      "sub/a_test.go": "",
    },
    test: "go test ./...",
    setup: /^go mod download$/,
  },
  {
    name: "go with vendored dependencies",
    files: { "go.mod": "module x\nrequire a.b/c v1\n", "vendor/modules.txt": "", "a_test.go": "" },
    test: "go test ./...",
    setup: null,
  },
  {
    name: "go workspace",
    files: {
      "go.work": "go 1.22\nuse (\n\t./a\n\t./b\n)\n",
      "a/go.mod": "module a\n",
      "a/a_test.go": "",
      "b/go.mod": "module b\n",
    },
    test: "go test ./a/... ./b/...",
    runner: "go",
    needs: ["go ≥ 1.22 (go.work)"],
  },
  { name: "go without tests", files: { "go.mod": "module x\n", "main.go": "" }, test: null },
  {
    name: "rust",
    files: { "Cargo.toml": '[package]\nname = "x"\nrust-version = "1.80"\n', "src/lib.rs": "" },
    test: "cargo test --no-fail-fast",
    runner: "cargo",
    setup: null,
    needs: ["rust ≥ 1.80 (Cargo.toml)"],
  },
  {
    name: "rust with a lock file",
    files: {
      "Cargo.toml": '[package]\nname = "x"\n\n[dependencies]\nserde = "1"\n',
      "Cargo.lock": "",
      "rust-toolchain.toml": '[toolchain]\nchannel = "1.82"\n',
    },
    test: "cargo test --no-fail-fast",
    setup: /cargo fetch --locked/,
    needs: ["rust 1.82 (rust-toolchain.toml)"],
  },
  {
    name: "rust workspace",
    files: {
      "Cargo.toml": '[workspace]\nmembers = ["a"]\n',
      "a/Cargo.toml": '[package]\nname = "a"\n[dev-dependencies]\ntempfile = "3"\n',
    },
    test: "cargo test --workspace --no-fail-fast",
    setup: /cargo fetch$/,
  },
  {
    name: "maven",
    files: {
      "pom.xml":
        "<project><properties><maven.compiler.release>21</maven.compiler.release></properties></project>",
      "src/test/java/a/BTest.java": "",
    },
    test: "mvn -B -o -fae test",
    runner: "maven",
    setup: /test-compile/,
    needs: ["java ≥ 21 (pom.xml)"],
  },
  {
    name: "maven wrapper",
    files: { "pom.xml": "<project/>", mvnw: "", "src/test/java/a/BTest.java": "" },
    test: "./mvnw -B -o -fae test",
    runner: "maven",
  },
  {
    name: "gradle wrapper in Kotlin",
    files: {
      "settings.gradle.kts": "",
      "build.gradle.kts": "kotlin { jvmToolchain(17) }",
      gradlew: "",
      "src/test/kotlin/a/BTest.kt": "",
    },
    test: "./gradlew --no-daemon --offline --continue test",
    runner: "gradle",
    needs: ["java 17 (build.gradle.kts)"],
  },
  {
    name: "gradle without a wrapper",
    files: { "build.gradle": "sourceCompatibility = '11'", "src/test/java/a/BTest.java": "" },
    test: "gradle --no-daemon --offline --continue test",
    runner: "gradle",
    needs: ["java ≥ 11 (build.gradle)"],
  },
  {
    name: "a module of a gradle build, by its changed files",
    near: ["services/pay/src/main/java/P.java"],
    files: {
      "settings.gradle": "",
      gradlew: "",
      "services/pay/build.gradle": "",
      "services/pay/src/test/java/PTest.java": "",
      "services/ship/build.gradle": "",
      "services/ship/src/test/java/STest.java": "",
    },
    test: "./gradlew --no-daemon --offline --continue :services:pay:test",
    runner: "gradle",
  },
  {
    name: "cmake",
    files: {
      "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nenable_testing()\nadd_subdirectory(test)\n",
      "test/CMakeLists.txt": "add_test(NAME a COMMAND a)",
    },
    test: "cmake -S . -B /tmp/agent-fix-build -DBUILD_TESTING=ON && cmake --build /tmp/agent-fix-build --parallel && ctest --test-dir /tmp/agent-fix-build --output-on-failure",
    runner: "ctest",
    needs: ["cmake ≥ 3.20 (CMakeLists.txt)"],
  },
  { name: "cmake without tests", files: { "CMakeLists.txt": "project(x)" }, test: null },
  {
    name: "meson",
    files: { "meson.build": "project('x', 'c', meson_version: '>=1.0')\ntest('a', exe)\n" },
    test: "meson setup /tmp/agent-fix-build && meson test -C /tmp/agent-fix-build --print-errorlogs",
    runner: "meson",
    needs: ["meson ≥ 1.0 (meson.build)"],
  },
  {
    name: "configure and make check",
    files: { "configure.ac": "", "Makefile.am": "TESTS = a.sh\n" },
    test: "{ [ -x ./configure ] || autoreconf -i; } && ./configure && make check",
    runner: "make",
  },
  {
    name: "dotnet",
    files: {
      "Shop.sln": "",
      "Shop.Tests/Shop.Tests.csproj":
        '<Project><TargetFramework>net8.0</TargetFramework><PackageReference Include="Microsoft.NET.Test.Sdk"/></Project>',
    },
    test: "dotnet test --no-restore",
    runner: "dotnet",
    setup: /dotnet restore/,
    needs: ["dotnet ≥ 8.0 (Shop.Tests/Shop.Tests.csproj)"],
  },
  {
    name: "dotnet without a solution",
    files: { "t/T.csproj": '<PackageReference Include="xunit"/>' },
    test: "dotnet test 't/T.csproj' --no-restore",
    runner: "dotnet",
  },
];
