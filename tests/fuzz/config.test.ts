import { parseStoreUrl } from "../../packages/storage/src/url/index.ts";
import { StorageError } from "../../packages/storage/src/index.ts";
import type { Config } from "../../packages/cli/src/config/config.ts";
import { readConfig } from "../../packages/cli/src/config/read-config.ts";
import { TomlError } from "../../packages/cli/src/config/toml.ts";
import { isAbsolute } from "node:path";
import { BORDERS, type Draw, HOSTILE, mutatedText } from "./draw.ts";
import { fuzz, outcomes } from "./fuzz.ts";

/*
 * Whatever the configuration file and the URL of a store contain, they are read as they are written
 * or rejected, and a message repeats no value: any of them may be a secret in the wrong place.
 */

/** Stands for a secret, wherever it is: that of the AWS documentation, without its slashes. */
const SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";

const ended = outcomes("config", { config: 0.02, TomlError: 0.1, url: 0.1, usage: 0.05 });

const KEYS = [
  ..."default identity identity-command recipients compress chunk-size padding dedup-secret".split(
    " ",
  ),
  ..."workers url store store.work __proto__ constructor toString".split(" "),
];

const WORDS = [
  ...KEYS,
  ..."= [ ] [[ ]] { } , # . \" ' \"\"\" ''' \\u0000 \\U0010FFFF \\e 0x 1e400 -0 nan inf true 1979-05-27".split(
    " ",
  ),
  "\n[store.work]\n",
  "\n[store.__proto__]\nurl = 'a'\n",
  "\nstore = 1\n",
  "a".repeat(500),
  "[".repeat(400),
  "{a=".repeat(200),
  ...HOSTILE,
];

const SCHEMES = [
  "s3://",
  "minio://",
  "b2://",
  "file://",
  "file:///",
  "http://",
  "",
  "S3://",
  "s3:/",
  `${SECRET}:`,
];
const PARAMETERS = [
  ..."region endpoint sse sse-c-key kms-key tls durability path-style checksums connect-timeout".split(
    " ",
  ),
  ..."access-key secret prefix __proto__ constructor".split(" "),
];

fuzz("config", async (draw) => {
  const changes = draw.upTo(2);
  const ofConfig = draw.oneIn(2);
  try {
    if (ofConfig) {
      let text = configText(draw);
      for (let left = changes; left > 0; left--) text = mutatedText(draw, text, WORDS);
      expectSound(readConfig(text, "/etc/idk/config.toml", { HOME: "/home/me" }));
      ended("config");
    } else {
      let text = storeUrl(draw);
      for (let left = changes; left > 0; left--) text = mutatedText(draw, text, WORDS);
      const location = parseStoreUrl(text, environment(draw));
      if (location.kind === "filesystem") {
        if (location.folder === "" || location.folder.includes("\0")) throw new Error("no folder");
      } else if (location.bucket === "" || CONTROL.test(location.bucket))
        throw new Error("no bucket");
      ended("url");
    }
  } catch (error) {
    const rejected =
      error instanceof TomlError || (error instanceof StorageError && error.code === "usage");
    if (!rejected) throw error;
    // A change may turn a value into a key, and keys are named.
    const named = ofConfig && changes > 0;
    if (!named && error.message.toLowerCase().includes(SECRET.toLowerCase()))
      throw new Error("the message repeats a value", { cause: error });
    ended(error instanceof TomlError ? "TomlError" : "usage");
  }
  if (Object.keys({}).length > 0 || "url" in {}) throw new Error("a prototype has changed");
});

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/u;

function configText(draw: Draw): string {
  const lines: string[] = draw.oneIn(8) ? ['default = "work"'] : [];
  for (let settings = draw.upTo(3); settings > 0; settings--) lines.push(setting(draw));
  for (const name of draw.shuffled(["work", "home", "__proto__", "constructor", "ä.b-c"])) {
    if (draw.oneIn(2)) continue;
    lines.push(`[store.${draw.oneIn(3) || name.includes(".") ? `"${name}"` : name}]`);
    if (!draw.oneIn(20)) lines.push(`url = ${text(storeUrl(draw))}`);
    for (let settings = draw.upTo(2); settings > 0; settings--) lines.push(setting(draw));
  }
  return lines.join(draw.oneIn(9) ? "\r\n" : "\n");
}

/** A key with a value that mostly suits it. */
function setting(draw: Draw): string {
  const values: Readonly<Record<string, readonly string[]>> = {
    identity: ['"me.key"', '["a", "b"]', '"keychain:me"', '"~/me.key"'],
    "identity-command": ['"pass show idk"', '["pass", "show"]'],
    recipients: ['"team.txt"', `["idk1${"q".repeat(58)}"]`],
    compress: ['"zstd"', '"none"', '"gzip"'],
    "chunk-size": ['"4M"', "4194304", `"${draw.pick(BORDERS)}K"`],
    padding: ["true", "false"],
    "dedup-secret": ['"secret.key"'],
    workers: ["0", "64", `${draw.pick(BORDERS)}`],
  };
  const key = draw.oneIn(6) ? draw.pick(KEYS) : draw.pick(Object.keys(values));
  const suited = Object.hasOwn(values, key) ? values[key]! : [];
  const others = [
    text(SECRET),
    "[]",
    "{}",
    `{ url = ${text(SECRET)} }`,
    "[[1]]",
    "1979-05-27",
    "-1",
  ];
  return `${key} = ${draw.oneIn(9) || suited.length === 0 ? draw.pick(others) : draw.pick(suited)}`;
}

function text(value: string): string {
  return JSON.stringify(value);
}

function storeUrl(draw: Draw): string {
  const scheme = draw.pick(SCHEMES);
  const credentials = draw.oneIn(8) ? `user:${SECRET}@` : "";
  const host = draw.pick(["bucket", "localhost:9000", "[::1]:9000", "h", "a%2fb", ""]);
  const path = draw.pick(["", "/", "/b", "/b/p/q", "//", "/../..", "/%2e%2e/x", "/a b"]);
  const names = draw.shuffled(PARAMETERS).slice(0, 2);
  const query = Array.from({ length: draw.upTo(3) }, () => {
    const values = ["0", "1", "", "eu-central-1", "https://h:1", "AES256", "full", "%zz"];
    return `${draw.pick(names)}=${draw.oneIn(3) ? SECRET : draw.pick(values)}`;
  });
  return `${scheme}${credentials}${host}${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

function environment(draw: Draw): Record<string, string> {
  const names = "AWS_REGION AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL MINIO_ACCESS_KEY MINIO_SECRET_KEY";
  const env: Record<string, string> = {};
  for (const name of [...names.split(" "), "B2_APPLICATION_KEY_ID", "B2_APPLICATION_KEY"]) {
    if (draw.oneIn(2)) env[name] = draw.pick([SECRET, "https://h", "eu-1", "\n", ""]);
  }
  return env;
}

/** Everything in an accepted configuration has its type, and paths are absolute. */
function expectSound({ default: chosen, global, stores }: Config): void {
  if (chosen !== undefined && !stores.has(chosen.value)) throw new Error("no such default");
  for (const entry of [global, ...stores.values()]) {
    for (const [key, { line }] of Object.entries(entry)) {
      if (!(Number.isSafeInteger(line) && line >= 1)) throw new Error(`${key} at line ${line}`);
    }
    for (const source of entry.identity?.value ?? []) {
      if (source.kind === "file" && !isAbsolute(source.path)) throw new Error("a relative path");
    }
    if (entry.dedupSecret && !isAbsolute(entry.dedupSecret.value))
      throw new Error("a relative path");
    if (entry.padding && typeof entry.padding.value !== "boolean") throw new Error("padding");
  }
  for (const { url } of stores.values()) {
    if (typeof url.value !== "string" || url.value === "") throw new Error("no URL");
  }
}
