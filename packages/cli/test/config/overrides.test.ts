import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { createWorkspace, runIdk } from "../support/cli.ts";

const { folder, ok, path, recipient, write } = await createWorkspace();
await ok(["keygen", "-o", "other.key"]);
const other = (await ok(["recipient", "-i", "other.key"])).stdout.trim();
write("report", "the report");

const home = path("home");
mkdirSync(path("home/.config/idk"), { recursive: true });
const file = write(
  "home/.config/idk/config.toml",
  `default = "own"\nidentity = "${path("me.key")}"\nrecipients = ["${recipient}"]\n` +
    `[store.own]\nurl = "${path("own")}"\n[store.second]\nurl = "${path("second")}"\n`,
);
const elsewhere = write(
  "elsewhere.toml",
  `identity = "${path("me.key")}"\nrecipients = ["${other}"]\n[store.taken]\nurl = "${path("taken")}"\n`,
);

const idk = async (args: readonly string[], env: Record<string, string> = {}) => {
  const result = await runIdk(args, { cwd: folder, env: { HOME: home, ...env } });
  expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
  return result;
};
const storedFor = (where: string, readers: string, why: string) =>
  `idk: storing in ${where} for ${readers}: ${why} ${file}\n`;

describe("put names the store and the recipients if a variable overrides the file:", () => {
  test.each<[name: string, env: Record<string, string>, note: string]>([
    ["none", {}, ""],
    ["the same store", { IDK_STORE: "own", IDK_RECIPIENTS: recipient }, ""],
    ["its URL", { IDK_STORE: path("own") }, ""],
    ["a folder", { IDK_STORE: "./x" }, storedFor("./x", recipient, "IDK_STORE overrides")],
    [
      "another of its stores",
      { IDK_STORE: "second" },
      storedFor("second", recipient, "IDK_STORE overrides"),
    ],
    ["recipients", { IDK_RECIPIENTS: other }, storedFor("own", other, "IDK_RECIPIENTS overrides")],
    [
      "both",
      { IDK_STORE: "./x", IDK_RECIPIENTS: `${recipient},${other}` },
      storedFor("./x", `${recipient}, ${other}`, "IDK_STORE and IDK_RECIPIENTS override"),
    ],
    ["another file", { IDK_CONFIG: elsewhere }, storedFor("taken", other, "IDK_CONFIG overrides")],
  ])("%s", async (_, env, note) => {
    expect((await idk(["put", "report"], env)).stderr).toBe(note);
    expect((await idk(["put", "report", "--quiet"], env)).stderr).toBe("");
    const several = await idk(["put", "report", "report"], env);
    expect(several.stderr).toStartWith(`${note}stored `);
  });

  test.each(["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])("an endpoint in %s", async (variable) => {
    const buckets = write(
      "buckets.toml",
      `recipients = ["${recipient}"]\n[store.amazon]\nurl = "s3://bucket?region=x"\n` +
        `[store.own]\nurl = "s3://bucket?region=x&endpoint=http://127.0.0.1:1"\n`,
    );
    const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", IDK_RETRY_SECONDS: "0" };
    const env = { HOME: home, [variable]: "http://x:y@127.0.0.1:1", ...keys };
    const put = async (store: string) =>
      runIdk(["put", "report", "--config", buckets, "--store", store], { cwd: folder, env });
    expect((await put("amazon")).stderr).toStartWith(
      `idk: storing in amazon at http://…@127.0.0.1:1 for ${recipient}: ${variable} overrides ${buckets}\n`,
    );
    // The URL in the file has its own.
    expect((await put("own")).stderr).not.toContain("storing in");
  });

  test("flags are the user's own choice", async () => {
    const given = ["--store", "./y", "-r", other];
    const env = { IDK_STORE: "./x", IDK_RECIPIENTS: recipient };
    expect((await idk(["put", "report", ...given], env)).stderr).toBe("");
  });

  test("in --json as a field of each result", async () => {
    const env = { IDK_STORE: "./x", IDK_RECIPIENTS: other };
    const override = {
      variables: ["IDK_STORE", "IDK_RECIPIENTS"],
      config: file,
      store: "./x",
      recipients: [other],
    };
    for (const files of [["report"], ["report", "report"]]) {
      const { stdout, stderr } = await idk(["put", ...files, "--json"], env);
      expect(stderr).not.toContain("idk: storing");
      for (const line of stdout.trim().split("\n"))
        expect(JSON.parse(line)).toMatchObject({ override });
    }
    expect((await idk(["put", "report", "--json"])).stdout).not.toContain("override");
  });

  test("of many recipients, the first and the number", async () => {
    const many = [];
    for (let index = 0; index < 6; index++) {
      many.push((await ok(["keygen", "-o", `many-${index}.key`])).stdout.trim());
    }
    const { stderr } = await idk(["put", "report"], { IDK_RECIPIENTS: many.join(",") });
    const readers = `${many.slice(0, 4).join(", ")}, 2 others`;
    expect(stderr).toBe(storedFor("own", readers, "IDK_RECIPIENTS overrides"));
  });
});

test("share and rewrap name them, too", async () => {
  const address = (await idk(["put", "report", "--store", "./x"])).stdout.trim();
  const env = { IDK_STORE: "./x", IDK_IDENTITY: path("me.key") };
  const share = ["share", address, "-r", other];
  const readers = `${recipient}, ${other}`;
  expect((await idk(share, env)).stderr).toStartWith(
    storedFor("./x", readers, "IDK_STORE overrides"),
  );
  const rewrap = ["rewrap", address];
  expect((await idk(rewrap, { ...env, IDK_RECIPIENTS: other })).stderr).toStartWith(
    storedFor("./x", other, "IDK_STORE and IDK_RECIPIENTS override"),
  );
  const { stdout } = await idk([...share, "--json"], env);
  expect(JSON.parse(stdout)).toMatchObject({ override: { variables: ["IDK_STORE"] } });
  // Settings complete without the file: an invalid one does not matter.
  write("home/.config/idk/config.toml", "invalid");
  expect((await idk(share, env)).stderr).not.toContain("storing in");
});
