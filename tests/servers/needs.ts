import { describe, test } from "bun:test";

const SERVERS = {
  minio: { title: "MinIO", variable: "IDK_TEST_MINIO" },
  versitygw: { title: "versitygw", variable: "IDK_TEST_VERSITYGW" },
  toxiproxy: { title: "toxiproxy", variable: "IDK_TEST_TOXIPROXY" },
} as const;

export type ServerName = keyof typeof SERVERS;

/** The URL of a server that `script/test` has started, or undefined where it is not there. */
export function serverUrl(name: ServerName): URL | undefined {
  const text = process.env[SERVERS[name].variable];
  return text === undefined || text === "" ? undefined : new URL(text);
}

/**
 * `describe` for tests that need servers. Without them it leaves one skipped test that says which is
 * missing; in CI it throws, for there nobody reads the names of what was skipped.
 */
export function needs(...names: ServerName[]): (title: string, tests: () => void) => void {
  return needing(
    names.filter((name) => serverUrl(name) === undefined).map((name) => SERVERS[name].title),
  );
}

/** The same for anything else that may be missing. */
export function needing(missing: readonly string[]): (title: string, tests: () => void) => void {
  if (missing.length === 0) return describe;
  const words = `no ${missing.join(", no ")}`;
  if (process.env["CI"]) throw new Error(`These tests have to run in CI, but there is ${words}`);
  return (title) => describe(title, () => test.skip(`skipped: ${words}`, () => {}));
}
