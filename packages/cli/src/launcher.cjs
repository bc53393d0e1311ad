#!/usr/bin/env node
/*
 * Runs the command on the Bun that is installed with it, so that Node.js is enough to start it. Plain
 * JavaScript for any supported Node, copied to `dist` as it is.
 */
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

/** Bun's names of systems and processors, by Node's. */
const SYSTEMS = new Map([
  ["darwin", "darwin"],
  ["linux", "linux"],
  ["win32", "windows"],
]);
const PROCESSORS = new Map([
  ["arm64", "aarch64"],
  ["x64", "x64"],
]);

/** The installed executable of Bun; undefined if its package was omitted or this system has none. */
function installedBun() {
  const base = `@oven/bun-${SYSTEMS.get(process.platform)}-${PROCESSORS.get(process.arch)}`;
  const found = [base, ...(process.platform === "linux" ? [`${base}-musl`] : [])].flatMap(
    (name) => {
      try {
        return [dirname(require.resolve(`${name}/package.json`))];
      } catch {
        return [];
      }
    },
  );
  // Some package managers install the builds for both C libraries.
  const folder = found.length > 1 && usesMusl() ? found[1] : found[0];
  return folder && join(folder, "bin", process.platform === "win32" ? "bun.exe" : "bun");
}

function usesMusl() {
  const { report } = process;
  // Listing the network's interfaces can take seconds.
  report.excludeNetwork = true;
  return report.getReport().header.glibcVersionRuntime === undefined;
}

/** Files of the current folder change nothing: Bun would obey .env, bunfig.toml and tsconfig.json. */
function argumentsOf(args) {
  const empty = join(__dirname, "empty");
  const flags = ["--no-env-file", "--no-install", `--config=${empty}`];
  return [...flags, `--tsconfig-override=${empty}`, join(__dirname, "main.cjs"), ...args];
}

/** Runs Bun as a child process, with the same input, output, signals and exit code. */
function run(bun, args) {
  const child = spawn(bun, args, { stdio: "inherit" });
  // A terminal sends some to both processes. The command treats two at once as one.
  const passOn = (signal) => child.kill(signal);
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"];
  for (const signal of signals) process.on(signal, passOn);
  child.on("error", (error) => fail(bun, error));
  child.on("exit", (code, signal) => {
    // 128 + the signal, as a shell reports it.
    process.exit(code ?? 128 + constants.signals[signal]);
  });
}

function fail(bun, error) {
  const message =
    error.code === "ENOENT"
      ? `Bun is not installed for ${process.platform} ${process.arch}: install @idk/cli again with its optional dependencies, or install Bun (https://bun.com)`
      : `cannot start ${bun}: ${error.message}`;
  const asJson = process.argv.includes("--json");
  console.error(asJson ? JSON.stringify({ error: { code: "usage", message } }) : `idk: ${message}`);
  process.exit(2);
}

const installed = installedBun();
const args = argumentsOf(process.argv.slice(2));
if (installed !== undefined && process.execve !== undefined && process.platform !== "win32") {
  // Replaces Node: no process stays in between.
  process.execve(installed, [installed, ...args]);
} else {
  run(installed ?? "bun", args);
}
